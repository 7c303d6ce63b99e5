"""Retirement of edges that recent runs no longer report.

Property: after any sequence of runs, the items that are queued cover all lineage that changed.
"""

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.sync.canonical.lineage import read_consumption, read_lineage
from bridge.sync.item_store import SyncItemStore
from bridge.sync.mark_consumer import MarkConsumer
from bridge.sync.openmetadata.affected_items import OpenMetadataAffectedItems
from bridge.sync.openmetadata.context import OpenMetadataOptions
from bridge.sync.sync_item import Outcome
from mappers.logical_job import FoldingRule
from tests.factories import Json, dataset, parent, run_event, spark_type
from tests.stores import Store
from tests.sync.openmetadata_harness import LAYOUT, OpenMetadataHarness

RULE = FoldingRule(retire_after=2)
_EVERYTHING = 10_000


class LineageTracker:
    """Reads the lineage of queued items, and keeps the latest result per item."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._items = SyncItemStore(store.db, "default", "target", lambda: 1)
        affected_items = OpenMetadataAffectedItems(store.db, "default", "target", self._items, RULE)
        self._mark_consumer = MarkConsumer(store.db, "default", "target", self._items, affected_items)
        self.results: dict[bytes, object] = {}

    def process_queue(self) -> None:
        while self._mark_consumer.consume():
            pass
        for kind in ("dataset", "job", "run", "lineage"):
            claimed = self._items.claim_due(kind, _EVERYTHING)
            if kind == "lineage":
                self.results |= self.read({item.key for item in claimed})
            with self._store.db.transaction():
                self._items.record_results([item.complete(Outcome.PUSHED) for item in claimed])

    def read(self, keys: set[bytes]) -> dict[bytes, object]:
        jobs = {key for (key,) in self._store.rows("SELECT job_id FROM ol_job")} & keys
        arguments = (self._store.db, "default", RULE)
        return {**read_lineage(*arguments, keys - jobs), **read_consumption(*arguments, jobs)}


@st.composite
def runs(draw: st.DrawFn) -> list[Json]:
    """Runs of two jobs, or of Spark applications below them, that read and write some of three datasets."""
    job = draw(st.sampled_from(["j", "k"]))
    number = draw(st.integers(1, 8)) + (10 if job == "k" else 0)  # the jobs share no run
    kind = draw(st.sampled_from(["START", "COMPLETE", "COMPLETE", "COMPLETE", "FAIL"]))
    names = st.lists(st.sampled_from("abc"), max_size=2, unique=True)
    inputs, outputs = ([dataset(name) for name in draw(names)] for _ in range(2))
    second = draw(st.integers(0, 20))
    if draw(st.booleans()):
        return [run_event(kind, second, run=number, job=job, inputs=inputs, outputs=outputs)]
    action_type = {"jobType": spark_type()}
    parent_facet = {"parent": parent(number, job)}
    return [
        run_event(
            kind, second, run=100 + number, job=f"{job} app", run_facets=parent_facet,
            job_facets={"jobType": spark_type("APPLICATION")},
        ),
        run_event(
            kind, second + 0.5, run=200 + number, job=f"{job} app.write", inputs=inputs, outputs=outputs,
            run_facets={"parent": parent(100 + number, f"{job} app")}, job_facets=action_type,
        ),
    ]  # fmt: skip


@settings(max_examples=int(os.environ.get("EXPIRY_EXAMPLES", "150")), deadline=None)
@given(st.lists(st.lists(runs(), min_size=1, max_size=3), min_size=1, max_size=12))
def test_queued_items_cover_all_changed_lineage(groups: list[list[list[Json]]]) -> None:
    with Store(targets=["target"]) as store:
        tracker = LineageTracker(store)
        for group in groups:
            store.apply(*(event for run in group for event in run))
            tracker.process_queue()
        assert tracker.results == tracker.read(set(tracker.results))
        datasets = {key for (key,) in store.rows("SELECT class_id FROM ol_dataset")}
        assert {key for key, edges in tracker.read(datasets).items() if edges} <= tracker.results.keys()


def test_retired_edge_is_deleted_and_restored() -> None:
    def complete_run(run: int, *input_names: str) -> Json:
        inputs = [dataset(name) for name in input_names]
        return run_event("COMPLETE", run, run=run, inputs=inputs, outputs=[dataset("t")])

    with OpenMetadataHarness(OpenMetadataOptions(LAYOUT, folding=RULE)) as synced:
        synced.apply(complete_run(1, "a", "b")).converge()
        pairs = {name: (f"warehouse.d.s.{name}", "warehouse.d.s.t") for name in "ab"}
        assert set(synced.edges()) == set(pairs.values())
        synced.apply(complete_run(2, "b")).converge()
        assert set(synced.edges()) == set(pairs.values())
        synced.apply(complete_run(3, "b")).converge()
        assert set(synced.edges()) == {pairs["b"]}
        assert "warehouse.d.s.a" in synced.entities("table"), "tables without readers stay"
        assert synced.calls_of_next_round() == {}
        synced.apply(complete_run(4, "a", "b")).converge()
        assert set(synced.edges()) == set(pairs.values())


def test_runs_of_started_applications_count_beside_own_runs() -> None:
    """A job that reports some of its runs, while others are known from their Spark applications only."""

    def application(number: int) -> list[Json]:
        return [
            run_event("COMPLETE", 2, run=100 + number, job="k app", run_facets={"parent": parent(number, "k")},
                      job_facets={"jobType": spark_type("APPLICATION")}),
            run_event("COMPLETE", 2.5, run=200 + number, job="k app.write", outputs=[dataset("a")],
                      run_facets={"parent": parent(100 + number, "k app")}, job_facets={"jobType": spark_type()}),
        ]  # fmt: skip

    with Store(targets=["target"]) as store:
        store.apply(run_event("START", 1, run=14, job="k", outputs=[dataset("a"), dataset("c")]))
        store.apply(run_event("COMPLETE", 2, run=12, job="k"), *application(11), *application(13))
        tracker = LineageTracker(store)
        tracker.process_queue()
        names = dict(store.rows("SELECT class_id, name FROM ol_dataset"))
        assert {names[key] for key, edges in tracker.read(set(names)).items() if edges} == {"a"}
