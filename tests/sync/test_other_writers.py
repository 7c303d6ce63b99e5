"""What people and other connectors wrote stays, whatever we change; what we have to say arrives beside it."""

from typing import Any

import pytest

from bridge.sync.sync_item import Outcome
from tests import factories as make
from tests.factories import columns, dataset, facet, field, parent, run_event, schema, spark_type, transformation
from tests.sync.openmetadata_harness import Synced
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


def made(second: float = 0, *names: str, run: int = 1, sql: str = "INSERT", said: str | None = None) -> Json:
    """A run that makes t, with these columns, of a; every column that a has comes from it."""
    names = names or ("k", "v")
    lineage = columns({name: [field("a", name, transformation())] for name in names if name in "kv"})
    about = {"documentation": facet(description=said)} if said else {}
    return run_event(
        second=second,
        run=run,
        inputs=[dataset("a", schema=schema("k", "v"))],
        outputs=[dataset("t", schema=schema(*names), columnLineage=lineage, **about)],
        job_facets={"sql": facet(query=sql)},
    )


#: What happens upstream, and the columns of t then.
UPSTREAM = {
    "a new column": (made(5, "k", "v", "w", run=2), {"k", "v", "w"}),
    "a column less": (made(5, "k", run=2), {"k"}),
    "a new description": (made(5, run=2, said="ours"), {"k", "v"}),
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
#: What a person writes into a table, and what is to be seen of it afterwards.
WRITTEN = {
    "description": ({"/description": "by hand"}, {"description": "by hand"}),
    "display name": ({"/displayName": "The Table"}, {"displayName": "The Table"}),
    "retention": ({"/retentionPeriod": "P30D"}, {"retentionPeriod": "P30D"}),
    "source": ({"/sourceUrl": "https://wiki/t"}, {"sourceUrl": "https://wiki/t"}),
    "custom property": ({"/extension": {"cost": "12"}}, {"extension": {"cost": "12"}}),
}


@pytest.fixture
def synced() -> Any:
    with Synced() as opened:
        governance = opened.standin.governance
        governance.add_tag("PII", "Sensitive")
        governance.add_tag("Certification", "Gold")
        governance.add_property("table", "cost")
        opened.apply(made()).converge()
        yield opened


def table(synced: Synced, name: str = T) -> Json:
    return synced.entities("table")[name]


def named(parts: list[Json]) -> dict[str, Json]:
    return {part["name"]: part for part in parts}


@pytest.mark.parametrize("upstream", UPSTREAM)
@pytest.mark.parametrize("written", WRITTEN)
def test_what_a_person_wrote_into_a_table_of_ours_stays(
    synced: Synced, person: Person, written: str, upstream: str
) -> None:
    changes, seen = WRITTEN[written]
    event, names = UPSTREAM[upstream]
    person.patch("table", T, changes)
    synced.apply(event).converge()
    assert {key: table(synced).get(key) for key in seen} == seen
    assert set(named(table(synced)["columns"])) == names
    assert synced.quiet() == {}


@pytest.mark.parametrize("upstream", UPSTREAM)
def test_who_and_what_a_table_of_ours_belongs_to_stays(synced: Synced, person: Person, upstream: str) -> None:
    governance = synced.standin.governance
    ann, sales = governance.add("user", "ann"), governance.add("domain", "Sales")
    person.patch("table", T, {"/owners": [{"id": ann.id, "type": "user"}]})
    person.patch("table", T, {"/domains": [{"id": sales.id, "type": "domain"}]})
    person.patch("table", T, {"/tags": [PII]})
    person.patch("table", T, {"/certification": GOLD})
    event, names = UPSTREAM[upstream]
    synced.apply(event).converge()
    kept = table(synced)
    assert [owner["name"] for owner in kept["owners"]] == ["ann"]
    assert [domain["name"] for domain in kept["domains"]] == ["Sales"]
    assert [tag["tagFQN"] for tag in kept["tags"]] == ["PII.Sensitive"]
    assert kept["certification"]["tagLabel"]["tagFQN"] == "Certification.Gold"
    assert set(named(kept["columns"])) == names
    assert synced.quiet() == {}


@pytest.mark.parametrize("upstream", UPSTREAM)
def test_what_a_person_wrote_into_columns_of_ours_stays(synced: Synced, person: Person, upstream: str) -> None:
    person.patch("table", T, {"/columns/0/description": "the key", "/columns/0/tags": [PII]})
    person.patch("table", T, {"/columns/1/displayName": "Value"})
    event, names = UPSTREAM[upstream]
    synced.apply(event).converge()
    found = named(table(synced)["columns"])
    assert set(found) == names
    assert found["k"]["description"] == "the key"
    assert [tag["tagFQN"] for tag in found["k"]["tags"]] == ["PII.Sensitive"]
    assert "v" not in found or found["v"]["displayName"] == "Value"


def test_a_column_that_comes_back_says_nothing_of_the_one_that_went(synced: Synced, person: Person) -> None:
    person.patch("table", T, {"/columns/1/description": "the value"})
    synced.apply(made(5, "k", run=2)).converge()
    synced.apply(made(9, "k", "v", run=3)).converge()
    assert "description" not in named(table(synced)["columns"])["v"]


def test_a_model_that_another_tool_wrote_stays(synced: Synced, person: Person) -> None:
    model = {"modelType": "DBT", "sql": "SELECT 1", "columns": [{"name": "k", "dataType": "STRING"}]}
    person.patch("table", T, {"/dataModel": model})
    synced.apply(made(5, "k", "v", "w", run=2)).converge()
    assert table(synced)["dataModel"]["sql"] == "SELECT 1"
    assert len(table(synced)["columns"]) == 3


def steps(second: float, *targets: str) -> list[Json]:
    """An application whose actions write these."""
    typed = {"jobType": spark_type("APPLICATION")}
    return [
        run_event(second=second, run=50, job="app", job_facets=typed),
        *(
            run_event(
                second=second, run=60 + number, job=f"app.step{number}", outputs=[dataset(target)],
                run_facets={"parent": parent(50, "app")}, job_facets={"jobType": spark_type()},
            )
            for number, target in enumerate(targets)
        ),
    ]  # fmt: skip


def test_what_a_person_wrote_into_a_pipeline_of_ours_stays(synced: Synced, person: Person) -> None:
    synced.apply(*steps(1, "one")).converge()
    governance = synced.standin.governance
    ann = governance.add("user", "ann")
    owners = [{"id": ann.id, "type": "user"}]
    person.patch("pipeline", "runs.app", {"/sourceUrl": "https://airflow/app", "/description": "by hand"})
    person.patch("pipeline", "runs.app", {"/tasks/0/owners": owners, "/tasks/0/tags": [PII], "/owners": owners})
    synced.apply(*steps(5, "one", "two")).converge()
    found = synced.entities("pipeline")["runs.app"]
    tasks = named(found["tasks"])
    assert set(tasks) == {"write one", "write two"}
    assert found["sourceUrl"] == "https://airflow/app"
    assert found["description"] == "by hand"
    assert [owner["name"] for owner in found["owners"]] == ["ann"]
    assert [owner["id"] for owner in tasks["write one"]["owners"]] == [ann.id]
    assert [tag["tagFQN"] for tag in tasks["write one"]["tags"]] == ["PII.Sensitive"]
    assert synced.quiet() == {}


# --- what we wrote, and what another wrote over it


def test_our_own_description_follows_the_store(synced: Synced) -> None:
    for second, said in ((5, "first"), (9, "second")):
        synced.apply(made(second, run=second, said=said)).converge()
        assert table(synced)["description"] == said


def test_a_description_that_a_person_changed_is_told_and_stays(synced: Synced, person: Person) -> None:
    synced.apply(made(5, run=2, said="ours")).converge()
    person.patch("table", T, {"/description": "theirs"})
    synced.apply(made(9, run=3, said="ours, again")).converge()
    assert table(synced)["description"] == "theirs"
    assert "its description was edited in OpenMetadata and stays" in synced.standing(Outcome.PUSHED).values()


@pytest.mark.parametrize(
    "said",
    ["a = b", "array<string>", "'it' \"is\" `so`", "{{ jinja }}", "smile \U0001f600", "a & b < c > d + e @ f", " x "],
)
def test_a_description_is_the_same_when_it_comes_back(said: str) -> None:
    with Synced() as synced:
        synced.apply(made(said=said)).converge()
        synced.connect()
        synced.queue.retry([("dataset", item.key) for item in synced.items_by(Outcome.PUSHED)])
        before = table(synced)["version"]
        synced.converge()
        assert table(synced)["version"] == before
        synced.apply(made(5, run=2, said=f"{said}!")).converge()
        assert table(synced)["description"].rstrip().endswith("!")
        assert synced.quiet() == {}


def test_a_name_to_show_is_never_patched(synced: Synced, person: Person) -> None:
    """The bot may not; and one denied property would refuse all the others of the same call."""
    synced.apply(run_event(second=4, run=9, outputs=[dataset("odd::name", schema=schema("k"))])).converge()
    synced.apply(made(5, run=2, said="ours")).converge()
    synced.apply(made(9, run=3, said="other")).converge()
    patches = [seen.json() for seen in synced.standin.requests if seen.method == "PATCH"]
    assert patches
    assert {operation["path"] for patch in patches for operation in patch} == {"/description"}
    assert synced.items_by(Outcome.DEAD) == []


# --- entities that are not ours


@pytest.mark.parametrize("upstream", UPSTREAM)
def test_a_table_of_another_connector_is_used_as_it_is(upstream: str) -> None:
    with Synced() as synced:
        Person(synced.standin).put_table("t", "K", "extra", description="theirs")
        before = synced.entities("table")[T]
        synced.apply(made()).converge()
        synced.apply(UPSTREAM[upstream][0]).converge()
        assert table(synced) == before
        assert (A, T) in synced.edges()
        assert synced.quiet() == {}


def test_a_table_of_another_connector_is_never_deleted() -> None:
    with Synced() as synced:
        person = Person(synced.standin)
        person.put_table("t", "k")
        synced.apply(made()).converge()
        fused = dataset("t", symlinks=make.symlinks("better"))
        synced.apply(make.dataset_event(9, fused)).converge()
        assert T in synced.entities("table")
        assert [seen for seen in synced.standin.requests if seen.method == "DELETE" and "/tables" in seen.path] == []


def test_columns_of_another_connector_are_found_in_any_case() -> None:
    with Synced() as synced:
        Person(synced.standin).put_table("t", "K", "V")
        synced.apply(made()).converge()
        lines = synced.edges()[A, T]["columnsLineage"]
        assert [line["toColumn"] for line in lines] == [T + ".K", T + ".V"]


# --- edges


def test_edges_say_all_again_after_a_column_went(synced: Synced) -> None:
    """The server takes the SQL from an edge when it loses a column of it."""
    synced.apply(made(5, "k", run=2)).converge()
    edge = synced.edges()[A, T]
    assert edge["sqlQuery"] == "INSERT"
    assert [line["toColumn"] for line in edge["columnsLineage"]] == [T + ".k"]
    assert edge["pipeline"]["fullyQualifiedName"] == "runs.job"


def theirs(person: Person) -> None:
    """Another producer's edge between the same two tables."""
    lines = [{"fromColumns": [A + ".v"], "toColumn": T + ".k", "function": "theirs"}]
    person.put_pipeline("copy")
    person.put_edge(A, T, pipeline="airflow.copy", sqlQuery="MERGE", columnsLineage=lines)


def lines_of(synced: Synced) -> dict[str, list[str]]:
    return {line["toColumn"]: line["fromColumns"] for line in synced.edges()[A, T].get("columnsLineage", ())}


@pytest.mark.parametrize("who_first", ["theirs", "ours"])
def test_an_edge_of_two_producers_says_what_both_say(who_first: str) -> None:
    with Synced() as synced:
        person = Person(synced.standin)
        person.put_table("a", "k", "v")
        person.put_table("t", "k", "v")
        if who_first == "theirs":
            theirs(person)
        synced.apply(made()).converge()
        if who_first == "ours":
            theirs(person)
        synced.apply(made(5, run=2, sql="INSERT AGAIN")).converge()
        edge = synced.edges()[A, T]
        assert edge["pipeline"]["fullyQualifiedName"] == "airflow.copy"
        assert edge["sqlQuery"] == "MERGE"
        assert lines_of(synced) == {T + ".k": [A + ".k", A + ".v"], T + ".v": [A + ".v"]}
        assert synced.quiet() == {}


@pytest.mark.parametrize("who_first", ["theirs", "ours"])
def test_when_our_lineage_goes_theirs_stays(who_first: str) -> None:
    with Synced() as synced:
        person = Person(synced.standin)
        person.put_table("a", "k", "v")
        person.put_table("t", "k", "v")
        if who_first == "theirs":
            theirs(person)
        declared = dataset("t", schema=schema("k", "v"))
        synced.apply(make.job_event(1, inputs=[dataset("a")], outputs=[declared])).converge()
        if who_first == "ours":
            theirs(person)
        synced.apply(make.job_event(5, inputs=[dataset("b")], outputs=[declared])).converge()
        edge = synced.edges()[A, T]
        assert edge["pipeline"]["fullyQualifiedName"] == "airflow.copy"
        assert edge["sqlQuery"] == "MERGE"
        assert lines_of(synced) == {T + ".k": [A + ".v"]}
        assert (W + "b", T) in synced.edges()


def test_an_edge_that_nobody_else_wrote_goes_with_our_lineage(synced: Synced) -> None:
    declared = dataset("u")
    synced.apply(make.job_event(1, job="j", inputs=[dataset("a")], outputs=[declared])).converge()
    assert (A, W + "u") in synced.edges()
    synced.apply(make.job_event(5, job="j", inputs=[dataset("t")], outputs=[declared])).converge()
    assert (A, W + "u") not in synced.edges()


@pytest.mark.parametrize(
    ("edit", "kept"),
    [
        ({"sqlQuery": "edited"}, {"sqlQuery": "edited"}),
        ({"description": "why"}, {"description": "why"}),
        ({"description": "why", "sqlQuery": "edited"}, {"description": "why", "sqlQuery": "edited"}),
    ],
)
def test_an_edge_that_a_person_edited_after_us_stays_edited(
    synced: Synced, person: Person, edit: Json, kept: Json
) -> None:
    said = {key: synced.edges()[A, T][key] for key in ("sqlQuery", "columnsLineage", "source")}
    person.put_edge(A, T, **said | edit, pipeline="runs.job")
    synced.apply(made(5, "k", "v", "w", run=2, sql="OTHER")).converge()
    edge = synced.edges()[A, T]
    assert {key: edge.get(key) for key in kept} == kept
    assert lines_of(synced) == {T + ".k": [A + ".k"], T + ".v": [A + ".v"]}
    assert synced.quiet() == {}
