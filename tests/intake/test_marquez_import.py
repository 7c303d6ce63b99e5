"""`marquez pull`: imports the event log of Marquez, and metadata missing from the log."""

from collections.abc import Iterator
from contextlib import closing
from typing import Self

import msgspec
import pytest

from bridge.intake.marquez_log import MarquezLogSource
from bridge.intake.marquez_metadata import MarquezMetadataSource
from bridge.store.canonical_export import export_canonical
from connectors.errors import TargetMisconfigured
from connectors.http import HttpSession
from connectors.marquez.client import MarquezClient
from connectors.session import ThrottledSession
from tests.factories import (
    Json,
    dataset,
    dataset_event,
    facet,
    job_event,
    micros,
    parent,
    run_event,
    schema,
    symlinks,
)
from tests.laws.test_convergence import CAPTURED, captured
from tests.standins.faults import Fault, html
from tests.standins.marquez import Marquez as StandIn
from tests.stores import Store

HOUR = 3_600 * 1_000_000


class ImportHarness:
    """A stand-in of Marquez, and a store that imports from it."""

    def __init__(self) -> None:
        self.standin = StandIn()
        self.store = Store()
        self.now = micros(0) + HOUR

    def __enter__(self) -> Self:
        self.standin.__enter__()
        self.client = MarquezClient(ThrottledSession(HttpSession(self.standin.url)))
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.standin.__exit__()
        self.store.__exit__()

    def send(self, *events: Json) -> None:
        for event in events:
            self.client.send(event)

    def log(self, since: int | None = None, lookback: float = 600.0) -> MarquezLogSource:
        client = MarquezClient(ThrottledSession(HttpSession(self.standin.url)), sleep=lambda _: None)
        return MarquezLogSource(
            client, self.store.reader, self.store.writer, lambda: self.now, since=since, lookback_seconds=lookback
        )

    def pull(self, since: int | None = None) -> int:
        """Import the log once, like a new process, and return the number of events."""
        with closing(self.log(since)) as log:
            return log.poll().accepted

    def import_metadata(self) -> int:
        client = MarquezClient(ThrottledSession(HttpSession(self.standin.url)))
        model = MarquezMetadataSource(client, self.store.reader, self.store.writer, self.store.db, "default")
        try:
            return model.poll().accepted
        finally:
            client.close()


@pytest.fixture
def harness() -> Iterator[ImportHarness]:
    with ImportHarness() as opened:
        yield opened


@pytest.mark.parametrize("name", CAPTURED)
def test_imported_log_equals_original_events(harness: ImportHarness, name: str) -> None:
    sent = captured(name)
    harness.now = 4_000_000_000_000_000
    for payload in sent:
        harness.client.send(msgspec.json.decode(payload))
    harness.pull()
    with Store() as direct:
        direct.apply(*sent)
        assert harness.store.export() == direct.export()
        harness.import_metadata()  # no additional facts about runs
        assert harness.store.export() == direct.export()


def test_import_continues_from_watermark(harness: ImportHarness) -> None:
    harness.send(run_event(second=1, run=1))
    assert harness.pull() == 1
    harness.send({**run_event(run=2), "eventTime": "2026-01-01T00:59:00Z"})
    assert harness.pull() == 1


LIES = [
    Fault(status=200, body={"hello": "world"}),
    Fault(status=200, body=""),
    html(200),
    Fault(status=302, body=""),
    Fault(status=200, body={"events": 5}),
]


@pytest.mark.parametrize("lie", LIES, ids=["other JSON", "empty", "page", "redirect", "wrong type"])
def test_unexpected_response_does_not_move_the_watermark(harness: ImportHarness, lie: Fault) -> None:
    harness.send(run_event(second=1, run=1))
    harness.standin.faults.next(lie, method="GET", path="/events/lineage")
    with pytest.raises(TargetMisconfigured):
        harness.pull()
    assert harness.pull() == 1


def test_late_event_within_lookback_is_imported(harness: ImportHarness) -> None:
    harness.pull()
    harness.send({**run_event(run=1), "eventTime": "2026-01-01T00:55:00Z"})  # the last ten minutes are read again
    assert harness.pull() == 1


def test_later_event_is_imported_with_since(harness: ImportHarness) -> None:
    harness.pull()
    harness.send(run_event(second=1, run=1))
    assert harness.pull() == 0
    assert harness.pull(since=micros(0)) == 1


def test_events_before_since_are_imported_by_next_pull(harness: ImportHarness) -> None:
    harness.send(run_event(second=1, run=1), run_event(second=30, run=2))
    assert harness.pull(since=micros(20)) == 1
    assert harness.pull() == 2


def test_event_times_out_of_range_are_skipped(harness: ImportHarness) -> None:
    harness.send(
        {**run_event(run=1, outputs=[dataset("out")]), "eventTime": 1_767_225_600_123}, run_event(second=2, run=2)
    )
    assert harness.pull() == 1
    harness.import_metadata()


def test_repeated_polls_write_events_once(harness: ImportHarness) -> None:
    harness.send({**run_event(run=1), "eventTime": "2026-01-01T00:59:30Z"})
    with closing(harness.log()) as log:
        assert [log.poll().accepted for _ in range(3)] == [1, 0, 0]
    assert harness.store.rows("SELECT receipts FROM run_event") == [(1,)]


def test_event_from_future_does_not_advance_watermark(harness: ImportHarness) -> None:
    harness.send({**run_event(run=1), "eventTime": "2031-01-01T00:00:00Z"})
    assert harness.pull() == 1
    harness.send({**run_event(run=2), "eventTime": "2026-01-01T00:59:00Z"})
    assert harness.pull() >= 1, "the watermark is not in the future"


def test_metadata_missing_from_log_is_imported_from_lists(harness: ImportHarness) -> None:
    harness.send(
        run_event(second=1, run=1, outputs=[dataset("out", schema=schema("a"))]),
        dataset_event(2, dataset("lonely", schema=schema("x"), documentation=facet(description="by hand"))),
        job_event(3, job="declared", inputs=[dataset("lonely")], outputs=[dataset("made")]),
    )
    harness.client.add_tag("db", "out", "PII")
    harness.pull()
    assert harness.import_metadata() > 0
    graph = harness.store.graph()
    assert {(graph.find_dataset("db", name) is not None) for name in ("lonely", "made", "out")} == {True}
    assert harness.store.upstream("made") == {("lonely", "declared", "", "declared")}
    descriptions = harness.store.rows("SELECT description FROM ol_dataset WHERE name = 'lonely'")
    assert descriptions == [("by hand",)]
    (tags,) = harness.store.rows(
        "SELECT f.body FROM facet f JOIN ol_dataset d ON d.dataset_id = f.owner_id WHERE d.name = 'out' AND f.name = 'tags'"
    )
    assert "PII" in tags[0]
    sources = {source for (source,) in harness.store.rows("SELECT source FROM run_event")}
    assert sources == {f"marquez:{harness.standin.url}", f"marquez-lists:{harness.standin.url}"}


def test_metadata_of_log_is_not_imported_again(harness: ImportHarness) -> None:
    harness.send(
        run_event(
            second=1, run=1, run_facets={"parent": parent(2, "nightly")}, job_facets={"documentation": facet(description="d")},
            outputs=[dataset("out", schema=schema("a"), symlinks=symlinks("other"), custom=facet(x=1))],
        )
    )  # fmt: skip
    harness.pull()
    before = list(export_canonical(harness.store.db, "default"))
    harness.import_metadata()
    assert list(export_canonical(harness.store.db, "default")) == before


@pytest.mark.parametrize(
    "alias_namespace", ["hive", "/data/warehouse/sales.db"], ids=["plain", "doubled by the listener"]
)
def test_alias_in_list_does_not_drop_a_live_table(harness: ImportHarness, alias_namespace: str) -> None:
    alias = {"namespace": alias_namespace, "name": "sales.orders", "type": "TABLE"}
    lifecycle = facet(lifecycleStateChange="DROP")
    table = dataset("warehouse/orders", symlinks=facet(identifiers=[alias]))
    dropped = dataset("warehouse/orders", symlinks=facet(identifiers=[alias]), lifecycleStateChange=lifecycle)
    harness.send(
        run_event(second=1, run=1, outputs=[table]),
        run_event(second=2, run=2, outputs=[dropped]),
        run_event(second=3, run=3, outputs=[dataset("warehouse/orders")]),
    )
    harness.pull()
    before = harness.store.export()
    harness.import_metadata()
    assert harness.store.export() == before
    assert harness.store.rows("SELECT count(*) FROM run_event WHERE source LIKE 'marquez-lists:%'") == [(0,)]
