"""Updates by the bridge keep everything that people and other connectors wrote."""

from typing import Any

import pytest

from bridge.sync.openmetadata.context import OpenMetadataOptions
from bridge.sync.sync_item import Outcome
from tests import factories as make
from tests.factories import columns, dataset, facet, field, parent, run_event, schema, spark_type, transformation
from tests.sync.openmetadata_harness import LAYOUT, OpenMetadataHarness
from tests.sync.other_writers import Person

Json = dict[str, Any]

W = "warehouse.d.s."
T, A = W + "t", W + "a"
PII = {"tagFQN": "PII.Sensitive", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
GOLD = {
    "tagLabel": {
        "tagFQN": "Certification.Gold",
        "source": "Classification",
        "labelType": "Manual",
        "state": "Confirmed",
    }
}


def write_run(
    second: float = 0, *names: str, run: int = 1, sql: str = "INSERT", description: str | None = None
) -> Json:
    """A run that reads a and writes t with the given columns (default k and v); k and v are copied from a."""
    names = names or ("k", "v")
    lineage = columns({name: [field("a", name, transformation())] for name in names if name in "kv"})
    facets = {"documentation": facet(description=description)} if description else {}
    return run_event(
        second=second,
        run=run,
        inputs=[dataset("a", schema=schema("k", "v"))],
        outputs=[dataset("t", schema=schema(*names), columnLineage=lineage, **facets)],
        job_facets={"sql": facet(query=sql)},
    )


#: Upstream change -> its event, and the columns of t afterwards.
UPSTREAM = {
    "a new column": (write_run(5, "k", "v", "w", run=2), {"k", "v", "w"}),
    "a removed column": (write_run(5, "k", run=2), {"k"}),
    "a new description": (write_run(5, run=2, description="ours"), {"k", "v"}),
    "a new type": (
        run_event(
            second=5,
            run=2,
            outputs=[
                dataset("t", schema=facet(fields=[{"name": "k", "type": "long"}, {"name": "v", "type": "string"}]))
            ],
        ),
        {"k", "v"},
    ),
}
#: Edited field -> patch by a person, and the expected fields afterwards.
EDITS = {
    "description": ({"/description": "by hand"}, {"description": "by hand"}),
    "display name": ({"/displayName": "The Table"}, {"displayName": "The Table"}),
    "retention": ({"/retentionPeriod": "P30D"}, {"retentionPeriod": "P30D"}),
    "source": ({"/sourceUrl": "https://wiki/t"}, {"sourceUrl": "https://wiki/t"}),
    "custom property": ({"/extension": {"cost": "12"}}, {"extension": {"cost": "12"}}),
}


@pytest.fixture
def synced() -> Any:
    with OpenMetadataHarness() as harness:
        governance = harness.standin.governance
        governance.add_tag("PII", "Sensitive")
        governance.add_tag("Certification", "Gold")
        governance.add_property("table", "cost")
        harness.apply(write_run()).converge()
        yield harness


def table(synced: OpenMetadataHarness, name: str = T) -> Json:
    return synced.entities("table")[name]


def by_name(parts: list[Json]) -> dict[str, Json]:
    return {part["name"]: part for part in parts}


@pytest.mark.parametrize("upstream", UPSTREAM)
@pytest.mark.parametrize("edit", EDITS)
def test_keeps_table_fields_edited_by_people(
    synced: OpenMetadataHarness, person: Person, edit: str, upstream: str
) -> None:
    changes, expected = EDITS[edit]
    event, names = UPSTREAM[upstream]
    person.patch("table", T, changes)
    synced.apply(event).converge()
    assert {key: table(synced).get(key) for key in expected} == expected
    assert set(by_name(table(synced)["columns"])) == names
    assert synced.calls_of_next_round() == {}


@pytest.mark.parametrize("upstream", UPSTREAM)
def test_keeps_owners_domains_tags_and_certification_of_tables(
    synced: OpenMetadataHarness, person: Person, upstream: str
) -> None:
    governance = synced.standin.governance
    ann, sales = governance.add("user", "ann"), governance.add("domain", "Sales")
    person.patch("table", T, {"/owners": [{"id": ann.id, "type": "user"}]})
    person.patch("table", T, {"/domains": [{"id": sales.id, "type": "domain"}]})
    person.patch("table", T, {"/tags": [PII]})
    person.patch("table", T, {"/certification": GOLD})
    event, names = UPSTREAM[upstream]
    synced.apply(event).converge()
    updated = table(synced)
    assert [owner["name"] for owner in updated["owners"]] == ["ann"]
    assert [domain["name"] for domain in updated["domains"]] == ["Sales"]
    assert [tag["tagFQN"] for tag in updated["tags"]] == ["PII.Sensitive"]
    assert updated["certification"]["tagLabel"]["tagFQN"] == "Certification.Gold"
    assert set(by_name(updated["columns"])) == names
    assert synced.calls_of_next_round() == {}


@pytest.mark.parametrize("upstream", UPSTREAM)
def test_keeps_column_metadata_edited_by_people(synced: OpenMetadataHarness, person: Person, upstream: str) -> None:
    person.patch("table", T, {"/columns/0/description": "the key", "/columns/0/tags": [PII]})
    person.patch("table", T, {"/columns/1/displayName": "Value"})
    event, names = UPSTREAM[upstream]
    synced.apply(event).converge()
    columns_by_name = by_name(table(synced)["columns"])
    assert set(columns_by_name) == names
    assert columns_by_name["k"]["description"] == "the key"
    assert [tag["tagFQN"] for tag in columns_by_name["k"]["tags"]] == ["PII.Sensitive"]
    assert "v" not in columns_by_name or columns_by_name["v"]["displayName"] == "Value"


def test_restored_column_has_no_old_description(synced: OpenMetadataHarness, person: Person) -> None:
    person.patch("table", T, {"/columns/1/description": "the value"})
    synced.apply(write_run(5, "k", run=2)).converge()
    synced.apply(write_run(9, "k", "v", run=3)).converge()
    assert "description" not in by_name(table(synced)["columns"])["v"]


def test_keeps_data_model_of_other_tool(synced: OpenMetadataHarness, person: Person) -> None:
    model = {"modelType": "DBT", "sql": "SELECT 1", "columns": [{"name": "k", "dataType": "STRING"}]}
    person.patch("table", T, {"/dataModel": model})
    synced.apply(write_run(5, "k", "v", "w", run=2)).converge()
    assert table(synced)["dataModel"]["sql"] == "SELECT 1"
    assert len(table(synced)["columns"]) == 3


def application_events(second: float, *targets: str) -> list[Json]:
    """An application with one action per target."""
    job_type = {"jobType": spark_type("APPLICATION")}
    return [
        run_event(second=second, run=50, job="app", job_facets=job_type),
        *(
            run_event(
                second=second, run=60 + number, job=f"app.step{number}", outputs=[dataset(target)],
                run_facets={"parent": parent(50, "app")}, job_facets={"jobType": spark_type()},
            )
            for number, target in enumerate(targets)
        ),
    ]  # fmt: skip


def test_keeps_pipeline_and_task_metadata_edited_by_people(synced: OpenMetadataHarness, person: Person) -> None:
    synced.apply(*application_events(1, "one")).converge()
    governance = synced.standin.governance
    ann = governance.add("user", "ann")
    owners = [{"id": ann.id, "type": "user"}]
    person.patch("pipeline", "runs.app", {"/sourceUrl": "https://airflow/app", "/description": "by hand"})
    person.patch("pipeline", "runs.app", {"/tasks/0/owners": owners, "/tasks/0/tags": [PII], "/owners": owners})
    synced.apply(*application_events(5, "one", "two")).converge()
    pipeline = synced.entities("pipeline")["runs.app"]
    tasks = by_name(pipeline["tasks"])
    assert set(tasks) == {"write one", "write two"}
    assert pipeline["sourceUrl"] == "https://airflow/app"
    assert pipeline["description"] == "by hand"
    assert [owner["name"] for owner in pipeline["owners"]] == ["ann"]
    assert [owner["id"] for owner in tasks["write one"]["owners"]] == [ann.id]
    assert [tag["tagFQN"] for tag in tasks["write one"]["tags"]] == ["PII.Sensitive"]
    assert synced.calls_of_next_round() == {}


# --- our values, and edits of them


def test_updates_own_description(synced: OpenMetadataHarness) -> None:
    for second, description in ((5, "first"), (9, "second")):
        synced.apply(write_run(second, run=second, description=description)).converge()
        assert table(synced)["description"] == description


def test_keeps_and_reports_description_edited_by_person(synced: OpenMetadataHarness, person: Person) -> None:
    synced.apply(write_run(5, run=2, description="ours")).converge()
    person.patch("table", T, {"/description": "theirs"})
    synced.apply(write_run(9, run=3, description="ours, again")).converge()
    assert table(synced)["description"] == "theirs"
    assert "its description was edited in OpenMetadata and is kept" in synced.reasons_by_item(Outcome.PUSHED).values()


@pytest.mark.parametrize(
    "description",
    ["a = b", "array<string>", "'it' \"is\" `so`", "{{ jinja }}", "smile \U0001f600", "a & b < c > d + e @ f", " x "],
)
def test_description_with_special_characters_is_not_resent(description: str) -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(write_run(description=description)).converge()
        synced.connect()
        synced.queue.retry([("dataset", item.key) for item in synced.items_by(Outcome.PUSHED)])
        before = table(synced)["version"]
        synced.converge()
        assert table(synced)["version"] == before
        synced.apply(write_run(5, run=2, description=f"{description}!")).converge()
        assert table(synced)["description"].rstrip().endswith("!")
        assert synced.calls_of_next_round() == {}


def test_never_patches_display_name(synced: OpenMetadataHarness, person: Person) -> None:
    """The bot lacks the right; one denied property would make the server reject the whole patch."""
    synced.apply(run_event(second=4, run=9, outputs=[dataset("odd::name", schema=schema("k"))])).converge()
    synced.apply(write_run(5, run=2, description="ours")).converge()
    synced.apply(write_run(9, run=3, description="other")).converge()
    patches = [request.json() for request in synced.standin.requests if request.method == "PATCH"]
    assert patches
    assert {operation["path"] for patch in patches for operation in patch} == {"/description"}
    assert synced.items_by(Outcome.DEAD) == []


# --- entities of other connectors


@pytest.mark.parametrize("upstream", UPSTREAM)
def test_table_of_other_connector_is_not_changed(upstream: str) -> None:
    with OpenMetadataHarness() as synced:
        Person(synced.standin).put_table("t", "K", "extra", description="theirs")
        before = synced.entities("table")[T]
        synced.apply(write_run()).converge()
        synced.apply(UPSTREAM[upstream][0]).converge()
        assert table(synced) == before
        assert (A, T) in synced.edges()
        assert synced.calls_of_next_round() == {}


def test_table_of_other_connector_is_not_deleted() -> None:
    with OpenMetadataHarness() as synced:
        person = Person(synced.standin)
        person.put_table("t", "k")
        synced.apply(write_run()).converge()
        alias = dataset("t", symlinks=make.symlinks("better"))
        synced.apply(make.dataset_event(9, alias)).converge()
        assert T in synced.entities("table")
        assert [
            request for request in synced.standin.requests if request.method == "DELETE" and "/tables" in request.path
        ] == []


def test_column_lineage_matches_columns_of_other_connector_in_any_case() -> None:
    with OpenMetadataHarness() as synced:
        Person(synced.standin).put_table("t", "K", "V")
        synced.apply(write_run()).converge()
        lines = synced.edges()[A, T]["columnsLineage"]
        assert [line["toColumn"] for line in lines] == [T + ".K", T + ".V"]


# --- edges


def test_resends_complete_edge_after_column_removal(synced: OpenMetadataHarness) -> None:
    """The server drops the SQL of an edge when one of its columns is removed."""
    synced.apply(write_run(5, "k", run=2)).converge()
    edge = synced.edges()[A, T]
    assert edge["sqlQuery"] == "INSERT"
    assert [line["toColumn"] for line in edge["columnsLineage"]] == [T + ".k"]
    assert edge["pipeline"]["fullyQualifiedName"] == "runs.job"


def put_foreign_edge(person: Person) -> None:
    """Write an edge between the same two tables as another producer."""
    lines = [{"fromColumns": [A + ".v"], "toColumn": T + ".k", "function": "theirs"}]
    person.put_pipeline("copy")
    person.put_edge(A, T, pipeline="airflow.copy", sqlQuery="MERGE", columnsLineage=lines)


def column_lines(synced: OpenMetadataHarness) -> dict[str, list[str]]:
    """Source columns by target column, over all functions."""
    sources: dict[str, set[str]] = {}
    for line in synced.edges()[A, T].get("columnsLineage", ()):
        sources.setdefault(line["toColumn"], set()).update(line["fromColumns"])
    return {target: sorted(names) for target, names in sources.items()}


@pytest.mark.parametrize("first_writer", ["other", "bridge"])
def test_edge_of_two_producers_merges_columns(first_writer: str) -> None:
    with OpenMetadataHarness() as synced:
        person = Person(synced.standin)
        person.put_table("a", "k", "v")
        person.put_table("t", "k", "v")
        if first_writer == "other":
            put_foreign_edge(person)
        synced.apply(write_run()).converge()
        if first_writer == "bridge":
            put_foreign_edge(person)
        synced.apply(write_run(5, run=2, sql="INSERT AGAIN")).converge()
        edge = synced.edges()[A, T]
        assert edge["pipeline"]["fullyQualifiedName"] == "airflow.copy"
        assert edge["sqlQuery"] == "MERGE"
        assert column_lines(synced) == {T + ".k": [A + ".k", A + ".v"], T + ".v": [A + ".v"]}
        assert synced.calls_of_next_round() == {}


@pytest.mark.parametrize("first_writer", ["other", "bridge"])
def test_keeps_foreign_lineage_when_ours_is_removed(first_writer: str) -> None:
    with OpenMetadataHarness() as synced:
        person = Person(synced.standin)
        person.put_table("a", "k", "v")
        person.put_table("t", "k", "v")
        if first_writer == "other":
            put_foreign_edge(person)
        declared = dataset("t", schema=schema("k", "v"))
        synced.apply(make.job_event(1, inputs=[dataset("a")], outputs=[declared])).converge()
        if first_writer == "bridge":
            put_foreign_edge(person)
        synced.apply(make.job_event(5, inputs=[dataset("b")], outputs=[declared])).converge()
        edge = synced.edges()[A, T]
        assert edge["pipeline"]["fullyQualifiedName"] == "airflow.copy"
        assert edge["sqlQuery"] == "MERGE"
        assert column_lines(synced) == {T + ".k": [A + ".v"]}
        assert (W + "b", T) in synced.edges()


def test_deletes_edge_when_our_lineage_is_removed(synced: OpenMetadataHarness) -> None:
    declared = dataset("u")
    synced.apply(make.job_event(1, job="j", inputs=[dataset("a")], outputs=[declared])).converge()
    assert (A, W + "u") in synced.edges()
    synced.apply(make.job_event(5, job="j", inputs=[dataset("t")], outputs=[declared])).converge()
    assert (A, W + "u") not in synced.edges()


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ({"sqlQuery": "edited"}, {"sqlQuery": "edited"}),
        ({"description": "why"}, {"description": "why"}),
        ({"description": "why", "sqlQuery": "edited"}, {"description": "why", "sqlQuery": "edited"}),
    ],
)
def test_keeps_edges_edited_by_people(
    synced: OpenMetadataHarness, person: Person, edit: Json, expected: Json
) -> None:
    details = {key: synced.edges()[A, T][key] for key in ("sqlQuery", "columnsLineage", "source")}
    person.put_edge(A, T, **details | edit, pipeline="runs.job")
    synced.apply(write_run(5, "k", "v", "w", run=2, sql="OTHER")).converge()
    edge = synced.edges()[A, T]
    assert {key: edge.get(key) for key in expected} == expected
    assert column_lines(synced) == {T + ".k": [A + ".k"], T + ".v": [A + ".v"]}
    assert synced.calls_of_next_round() == {}


def test_datasets_link_to_their_pages_unless_a_person_set_a_link() -> None:
    options = OpenMetadataOptions(LAYOUT, public_url="https://lineage.example.com")
    with OpenMetadataHarness(options) as synced:
        person = Person(synced.standin)
        synced.apply(run_event(outputs=[dataset("a b", schema=schema("k")), dataset("t", schema=schema("k"))]))
        synced.converge()
        assert synced.entities("table")["warehouse.d.s.a b"]["sourceUrl"] == (
            "https://lineage.example.com/dataset?namespace=db&name=a+b"
        )
        person.patch("table", "warehouse.d.s.t", {"/sourceUrl": "https://wiki/t"})
        synced.connect(synced.rules._replace(public_url="https://new.example.com"))
        synced.reconciler.enable()
        synced.apply(run_event(run=2, outputs=[dataset("t", schema=schema("k", "v"))])).converge()
        assert synced.entities("table")["warehouse.d.s.t"]["sourceUrl"] == "https://wiki/t"
        assert synced.entities("table")["warehouse.d.s.a b"]["sourceUrl"].startswith(
            "https://new.example.com/dataset?"
        )
