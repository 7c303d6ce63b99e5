"""OpenMetadata shows the files of a stream as the folder that contains them, in any order of arrival."""

import itertools

from tests.factories import Json, dataset, parent, run_event, schema, spark_type
from tests.sync.openmetadata_harness import OpenMetadataHarness


def batch(second: float, run: int, source: str) -> Json:
    return run_event(
        "COMPLETE", second, run=run, job=f"app1.{run}", job_facets={"jobType": spark_type()},
        inputs=[dataset(source, "file", schema=schema("k"))], outputs=[dataset("/out/t", "file", schema=schema("k"))],
        run_facets={"parent": parent(1, "app1")},
    )  # fmt: skip


EVENTS = [batch(1, 2, "/in/k/part-1.json"), batch(2, 3, "/in/k/part-2.json"), batch(3, 4, "/in/k")]


def lineage(synced: OpenMetadataHarness) -> set[tuple[str, str]]:
    """Return the edges between all tables."""
    edges = {(source.rpartition(".")[2], target.rpartition(".")[2]) for source, target in synced.edges()}
    assert {name.rpartition(".")[2] for name in synced.entities("table")} == {name for edge in edges for name in edge}
    return edges


def test_files_are_shown_as_their_folder() -> None:
    for order in itertools.permutations(EVENTS):
        with OpenMetadataHarness() as synced:
            for event in order:
                synced.apply(event).converge()
            assert lineage(synced) == {("k", "t")}
            synced.apply(batch(4, 5, "/in/k/part-3.json")).converge()
            assert lineage(synced) == {("k", "t")}
            assert synced.calls_of_next_round() == {}
