"""Tables that move in OpenMetadata, because the layout changed or their dataset was renamed."""

from typing import Any

from bridge.sync.openmetadata.context import OpenMetadataOptions
from mappers.openmetadata.locations import ServiceLayout
from tests.factories import (
    columns,
    dataset,
    dataset_event,
    facet,
    field,
    lifecycle,
    run_event,
    schema,
    symlinks,
    transformation,
)
from tests.sync.openmetadata_harness import HOME, OpenMetadataHarness
from tests.sync.other_writers import Person

Json = dict[str, Any]
FLAT = OpenMetadataOptions(ServiceLayout(folders_as_schemas=False))
NESTED = OpenMetadataOptions(ServiceLayout())
OLD, NEW = f"{HOME}.file.default./data/out/t", f"{HOME}.file./data/out.t"
PII = {"tagFQN": "PII.Sensitive", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}


def write_run(second: float = 0, run: int = 1) -> Json:
    """A run that reads /data/in/a and writes and checks /data/out/t."""
    source = dataset("/data/in/a", "file", schema=schema("k"))
    checks = facet(assertions=[{"assertion": "rows", "success": True}])
    lines = {"k": {"inputFields": [{"namespace": "file", "name": "/data/in/a", "field": "k"}]}}
    target = dataset(
        "/data/out/t", "file", schema=schema("k"), columnLineage=facet(fields=lines), dataQualityAssertions=checks
    )
    return run_event(second=second, run=run, inputs=[source], outputs=[target])


def edit(person: Person, name: str) -> None:
    team = person.request("PUT", "teams", {"name": "data", "teamType": "Group"})
    changes = {
        "/description": "by a person",
        "/displayName": "Trades",
        "/tags": [PII],
        "/owners": [{"id": team["id"], "type": "team"}],
        "/columns/0/description": "the key",
    }
    person.patch("table", name, changes)


def edits(synced: OpenMetadataHarness, name: str) -> dict[str, Any]:
    table = synced.entities("table")[name]
    return {
        "description": table["description"],
        "displayName": table["displayName"],
        "tags": [tag["tagFQN"] for tag in table["tags"]],
        "owners": [owner["name"] for owner in table["owners"]],
        "column": table["columns"][0]["description"],
    }


EDITS = {
    "description": "by a person",
    "displayName": "Trades",
    "tags": ["PII.Sensitive"],
    "owners": ["data"],
    "column": "the key",
}


def relocate(synced: OpenMetadataHarness) -> None:
    synced.connect(NESTED._replace(relocate=True))
    synced.reconciler.enable()
    moves = list(synced.target.relocations())
    synced.reconciler.push_now("dataset", [move.key for move in moves])
    synced.converge()


def test_tables_of_the_flat_layout_stay_where_they_are() -> None:
    with OpenMetadataHarness(FLAT) as synced:
        synced.apply(write_run()).converge()
        assert OLD in synced.entities("table")
        synced.connect(NESTED)
        synced.reconciler.enable()
        synced.apply(write_run(5, run=2)).converge()
        assert set(synced.entities("table")) == {OLD, f"{HOME}.file.default./data/in/a"}
        new_output = run_event(second=9, run=3, outputs=[dataset("/data/out/u", "file", schema=schema("k"))])
        synced.apply(new_output).converge()
        assert f"{HOME}.file./data/out.u" in synced.entities("table")
        assert synced.calls_of_next_round() == {}


def test_relocation_moves_tables_with_everything_that_refers_to_them() -> None:
    with OpenMetadataHarness(FLAT) as synced:
        synced.apply(write_run()).converge()
        edit(Person(synced.standin), OLD)
        relocate(synced)
        assert set(synced.entities("table")) == {NEW, f"{HOME}.file./data/in.a"}
        assert edits(synced, NEW) == EDITS
        [(ends, details)] = [(ends, edge) for ends, edge in synced.edges().items() if ends[1] == NEW]
        assert ends == (f"{HOME}.file./data/in.a", NEW)
        assert [line["toColumn"] for line in details["columnsLineage"]] == [f"{NEW}.k"]
        state = synced.standin.state()
        assert set(state["results"]) == {f"{NEW}.rows"}
        assert list(synced.target.relocations()) == []
        assert synced.calls_of_next_round() == {}


def test_relocation_is_listed_without_requests() -> None:
    with OpenMetadataHarness(FLAT) as synced:
        synced.apply(write_run()).converge()
        synced.connect(NESTED)
        before = len(synced.standin.requests)
        moves = {(move.from_name, move.to_name) for move in synced.target.relocations()}
        assert moves == {(OLD, NEW), (f"{HOME}.file.default./data/in/a", f"{HOME}.file./data/in.a")}
        assert len(synced.standin.requests) == before


def test_relocation_moves_edges_that_people_drew() -> None:
    with OpenMetadataHarness(FLAT) as synced:
        synced.apply(write_run()).converge()
        person = Person(synced.standin)
        person.put_table("theirs", "k")
        theirs = "warehouse.d.s.theirs"
        lines = [{"fromColumns": [f"{theirs}.k"], "toColumn": f"{OLD}.k"}]
        person.put_edge(theirs, OLD, source="Manual", description="by hand", columnsLineage=lines)
        person.put_edge(OLD, theirs, source="Manual")
        relocate(synced)
        edge = synced.edges()[theirs, NEW]
        assert (edge["description"], edge["source"]) == ("by hand", "Manual")
        assert [(line["fromColumns"], line["toColumn"]) for line in edge["columnsLineage"]] == [
            ([f"{theirs}.k"], f"{NEW}.k")
        ]
        assert (NEW, theirs) in synced.edges()


def test_relocated_table_keeps_no_generated_text_of_the_old_one() -> None:
    with OpenMetadataHarness(FLAT) as synced:
        synced.apply(write_run()).converge()
        relocate(synced)
        table = synced.entities("table")[NEW]
        assert table["description"] == "Written by job from a"
        assert "displayName" not in table


def test_renamed_dataset_keeps_what_people_edited() -> None:
    with OpenMetadataHarness() as synced:
        lines = columns({"k": [field("a", "k", transformation())]})
        written = dataset("t", schema=schema("k"), columnLineage=lines)
        synced.apply(run_event(inputs=[dataset("a", schema=schema("k"))], outputs=[written])).converge()
        edit(Person(synced.standin), "warehouse.d.s.t")
        renamed = dataset("u", schema=schema("k"), lifecycleStateChange=lifecycle("RENAME", "t"))
        synced.apply(run_event(second=5, run=2, outputs=[renamed])).converge()
        assert set(synced.entities("table")) == {"warehouse.d.s.a", "warehouse.d.s.u"}
        assert edits(synced, "warehouse.d.s.u") == EDITS


def test_edits_move_to_the_preferred_name_of_a_dataset() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(run_event(outputs=[dataset("old", schema=schema("k"))])).converge()
        edit(Person(synced.standin), "warehouse.d.s.old")
        synced.apply(dataset_event(5, dataset("old", symlinks=symlinks("new")))).converge()
        assert set(synced.entities("table")) == {"warehouse.d.s.new"}
        assert edits(synced, "warehouse.d.s.new") == EDITS
