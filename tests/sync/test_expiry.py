"""However runs come in, the lineage that is looked at because of them is all that changed: a law, tried at random."""

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.sync.canonical.lineage import read_consumption, read_lineage
from bridge.sync.item_store import SyncItemStore
from bridge.sync.mark_consumer import MarkConsumer
from bridge.sync.openmetadata.affected_items import OpenMetadataAffectedItems
from bridge.sync.openmetadata.options import OpenMetadataOptions
from bridge.sync.sync_item import Outcome
from mappers.logical_job import FoldingRule
from tests.factories import Json, dataset, parent, run_event, spark_type
from tests.stores import Store
from tests.sync.openmetadata_harness import LAYOUT, Synced

RULE = FoldingRule(retire_after=2)
_EVERYTHING = 10_000


class Watcher:
    """Looks at the lineage that is marked, and remembers what it was like."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._items = SyncItemStore(store.db, "default", "somewhere", lambda: 1)
        meaning = OpenMetadataAffectedItems(store.db, "default", "somewhere", self._items, RULE)
        self._spreader = MarkConsumer(store.db, "default", "somewhere", self._items, meaning)
        self.seen: dict[bytes, object] = {}

    def look(self) -> None:
        while self._spreader.consume():
            pass
        for kind in ("dataset", "job", "run", "lineage"):
            claimed = self._items.claim_due(kind, _EVERYTHING)
            if kind == "lineage":
                self.seen |= self.read({item.key for item in claimed})
            with self._store.db.transaction():
                self._items.record_results([item.complete(Outcome.PUSHED) for item in claimed])

    def read(self, keys: set[bytes]) -> dict[bytes, object]:
        jobs = {key for (key,) in self._store.rows("SELECT job_id FROM ol_job")} & keys
        of = (self._store.db, "default", RULE)
        return {**read_lineage(*of, keys - jobs), **read_consumption(*of, jobs)}


@st.composite
def runs(draw: st.DrawFn) -> list[Json]:
    """Runs of two jobs, or of applications beneath them, that read and wrote some of three datasets."""
    job = draw(st.sampled_from(["j", "k"]))
    number = draw(st.integers(1, 8)) + (10 if job == "k" else 0)  # no run is one of both
    kind = draw(st.sampled_from(["START", "COMPLETE", "COMPLETE", "COMPLETE", "FAIL"]))
    names = st.lists(st.sampled_from("abc"), max_size=2, unique=True)
    inputs, outputs = ([dataset(name) for name in draw(names)] for _ in range(2))
    second = draw(st.integers(0, 20))
    if draw(st.booleans()):
        return [run_event(kind, second, run=number, job=job, inputs=inputs, outputs=outputs)]
    action = {"jobType": spark_type()}
    above = {"parent": parent(number, job)}
    return [
        run_event(
            kind, second, run=100 + number, job=f"{job} app", run_facets=above,
            job_facets={"jobType": spark_type("APPLICATION")},
        ),
        run_event(
            kind, second + 0.5, run=200 + number, job=f"{job} app.write", inputs=inputs, outputs=outputs,
            run_facets={"parent": parent(100 + number, f"{job} app")}, job_facets=action,
        ),
    ]  # fmt: skip


@settings(max_examples=int(os.environ.get("EXPIRY_EXAMPLES", "150")), deadline=None)
@given(st.lists(st.lists(runs(), min_size=1, max_size=3), min_size=1, max_size=12))
def test_what_was_not_looked_at_again_is_as_it_was(groups: list[list[list[Json]]]) -> None:
    with Store(targets=["somewhere"]) as store:
        watcher = Watcher(store)
        for group in groups:
            store.apply(*(event for run in group for event in run))
            watcher.look()
        assert watcher.seen == watcher.read(set(watcher.seen))
        known = {key for (key,) in store.rows("SELECT class_id FROM ol_dataset")}
        assert {key for key, edges in watcher.read(known).items() if edges} <= watcher.seen.keys()


def test_an_edge_that_is_gone_goes_from_openmetadata_and_comes_back() -> None:
    def ran(run: int, *read: str) -> Json:
        inputs = [dataset(name) for name in read]
        return run_event("COMPLETE", run, run=run, inputs=inputs, outputs=[dataset("t")])

    with Synced(OpenMetadataOptions(LAYOUT, folding=RULE)) as synced:
        synced.apply(ran(1, "a", "b")).converge()
        pairs = {name: (f"warehouse.d.s.{name}", "warehouse.d.s.t") for name in "ab"}
        assert set(synced.edges()) == set(pairs.values())
        synced.apply(ran(2, "b")).converge()
        assert set(synced.edges()) == set(pairs.values())
        synced.apply(ran(3, "b")).converge()
        assert set(synced.edges()) == {pairs["b"]}
        assert "warehouse.d.s.a" in synced.entities("table"), "a table that nobody reads any more stays"
        assert synced.quiet() == {}
        synced.apply(ran(4, "a", "b")).converge()
        assert set(synced.edges()) == set(pairs.values())
