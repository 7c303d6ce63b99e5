"""OpenMetadata shows the column lineage of the newest successful application run, in any order of arrival."""

import itertools

import pytest

from tests.factories import Json, action, app, columns, dataset, field, parent, schema
from tests.sync.openmetadata_harness import OpenMetadataHarness

T, PREFIX = "warehouse.d.s.t", "warehouse.d.s."


def write(kind: str, second: float, run: int, source: str, *, application_run: int = 1, step: str = "insert") -> Json:
    output = dataset("t", schema=schema("k"), columnLineage=columns({"k": [field(source, "k")]}))
    event = action(kind, second, run=run, outputs=[output], parent_facet=parent(application_run, "app1"))
    event["job"]["name"] = f"app1.{step}"
    return event | {"inputs": [dataset(source, schema=schema("k"))]}


CASES = {
    "two inserts": ([write("COMPLETE", 2, 2, "a"), write("COMPLETE", 3, 3, "b"), app("COMPLETE", 4)], "ab"),
    "renamed action": (
        [
            write("COMPLETE", 2, 2, "a"),
            app("COMPLETE", 3),
            write("COMPLETE", 5, 4, "b", application_run=9, step="append"),
        ],
        "b",
    ),
    "failed newer action": (
        [write("COMPLETE", 2, 2, "a"), app("COMPLETE", 3), write("FAIL", 5, 4, "b", application_run=9)],
        "a",
    ),
}


def sources_of_columns(synced: OpenMetadataHarness) -> str:
    lines = [line for (_, target), edge in synced.edges().items() if target == T for line in edge["columnsLineage"]]
    names = {column for line in lines for column in line["fromColumns"]}
    return "".join(sorted(name.removeprefix(PREFIX).removesuffix(".k") for name in names))


@pytest.mark.parametrize(("events", "sources"), CASES.values(), ids=CASES)
def test_columns_follow_the_newest_successful_run(events: list[Json], sources: str) -> None:
    for order in itertools.permutations(events):
        with OpenMetadataHarness() as synced:
            for event in order:
                synced.apply(event).converge()
            assert sources_of_columns(synced) == sources
