"""`marquez pull`: what a Marquez server has heard, and what only its lists say, in a store."""

from collections.abc import Iterator
from contextlib import closing
from typing import Self

import msgspec
import pytest

from bridge.intake.marquez_log import MarquezLogSource
from bridge.intake.marquez_metadata import MarquezMetadataSource
from bridge.store.canonical_export import export_canonical
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
from tests.standins.marquez import Marquez as StandIn
from tests.stores import Store

HOUR = 3_600 * 1_000_000


class Site:
    """A server, and a store that takes from it."""

    def __init__(self) -> None:
        self.standin = StandIn()
        self.store = Store()
        self.now = micros(0) + HOUR

    def __enter__(self) -> Self:
        self.standin.__enter__()
        self.teller = MarquezClient(ThrottledSession(HttpSession(self.standin.url)))
        return self

    def __exit__(self, *_: object) -> None:
        self.teller.close()
        self.standin.__exit__()
        self.store.__exit__()

    def tell(self, *events: Json) -> None:
        for event in events:
            self.teller.send(event)

    def log(self, since: int | None = None, lookback: float = 600.0) -> MarquezLogSource:
        client = MarquezClient(ThrottledSession(HttpSession(self.standin.url)), sleep=lambda _: None)
        return MarquezLogSource(
            client, self.store.reader, self.store.writer, lambda: self.now, since=since, lookback_seconds=lookback
        )

    def pull(self, since: int | None = None) -> int:
        """Take the log once, as a process of its own; gives how many events were taken."""
        with closing(self.log(since)) as log:
            return log.poll().accepted

    def lists(self) -> int:
        client = MarquezClient(ThrottledSession(HttpSession(self.standin.url)))
        model = MarquezMetadataSource(client, self.store.reader, self.store.writer, self.store.db, "default")
        try:
            return model.poll().accepted
        finally:
            client.close()


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as made:
        yield made


@pytest.mark.parametrize("name", CAPTURED)
def test_the_log_says_the_same_as_its_producers(site: Site, name: str) -> None:
    sent = captured(name)
    site.now = 4_000_000_000_000_000
    for payload in sent:
        site.teller.send(msgspec.json.decode(payload))
    site.pull()
    with Store() as heard:
        heard.apply(*sent)
        assert site.store.export() == heard.export()
        site.lists()  # of runs they say nothing more
        assert site.store.export() == heard.export()


def test_it_goes_on_where_it_was_left(site: Site) -> None:
    site.tell(run_event(second=1, run=1))
    assert site.pull() == 1
    site.tell({**run_event(run=2), "eventTime": "2026-01-01T00:59:00Z"})
    assert site.pull() == 1


def test_what_came_late_within_the_lookback_is_found(site: Site) -> None:
    site.pull()
    site.tell({**run_event(run=1), "eventTime": "2026-01-01T00:55:00Z"})  # the last ten minutes are read again
    assert site.pull() == 1


def test_what_came_later_still_is_found_when_asked_for(site: Site) -> None:
    site.pull()
    site.tell(run_event(second=1, run=1))
    assert site.pull() == 0
    assert site.pull(since=micros(0)) == 1


def test_what_lies_before_what_was_asked_for_is_not_passed_over(site: Site) -> None:
    site.tell(run_event(second=1, run=1), run_event(second=30, run=2))
    assert site.pull(since=micros(20)) == 1
    assert site.pull() == 2


def test_times_beyond_all_calendars_stop_nothing(site: Site) -> None:
    site.tell(
        {**run_event(run=1, outputs=[dataset("out")]), "eventTime": 1_767_225_600_123}, run_event(second=2, run=2)
    )
    assert site.pull() == 1
    site.lists()


def test_while_it_follows_the_same_is_not_written_again(site: Site) -> None:
    site.tell({**run_event(run=1), "eventTime": "2026-01-01T00:59:30Z"})
    with closing(site.log()) as log:
        assert [log.poll().accepted for _ in range(3)] == [1, 0, 0]
    assert site.store.rows("SELECT receipts FROM run_event") == [(1,)]


def test_clocks_that_are_wrong_lose_nothing(site: Site) -> None:
    site.tell({**run_event(run=1), "eventTime": "2031-01-01T00:00:00Z"})
    assert site.pull() == 1
    site.tell({**run_event(run=2), "eventTime": "2026-01-01T00:59:00Z"})
    assert site.pull() >= 1, "where it was left is not in the future"


def test_what_the_log_lacks_is_taken_from_the_lists(site: Site) -> None:
    site.tell(
        run_event(second=1, run=1, outputs=[dataset("out", schema=schema("a"))]),
        dataset_event(2, dataset("lonely", schema=schema("x"), documentation=facet(description="by hand"))),
        job_event(3, job="declared", inputs=[dataset("lonely")], outputs=[dataset("made")]),
    )
    site.teller.add_tag("db", "out", "PII")
    site.pull()
    assert site.lists() > 0
    graph = site.store.graph()
    assert {(graph.find_dataset("db", name) is not None) for name in ("lonely", "made", "out")} == {True}
    assert site.store.upstream("made") == {("lonely", "declared", "", "declared")}
    described = site.store.rows("SELECT description FROM ol_dataset WHERE name = 'lonely'")
    assert described == [("by hand",)]
    (tags,) = site.store.rows(
        "SELECT f.body FROM facet f JOIN ol_dataset d ON d.dataset_id = f.owner_id WHERE d.name = 'out' AND f.name = 'tags'"
    )
    assert "PII" in tags[0]
    sources = {source for (source,) in site.store.rows("SELECT source FROM run_event")}
    assert sources == {f"marquez:{site.standin.url}", f"marquez-lists:{site.standin.url}"}


def test_what_the_log_says_is_not_taken_from_the_lists_again(site: Site) -> None:
    site.tell(
        run_event(
            second=1, run=1, run_facets={"parent": parent(2, "nightly")}, job_facets={"documentation": facet(description="d")},
            outputs=[dataset("out", schema=schema("a"), symlinks=symlinks("other"), custom=facet(x=1))],
        )
    )  # fmt: skip
    site.pull()
    before = list(export_canonical(site.store.db, "default"))
    site.lists()
    assert list(export_canonical(site.store.db, "default")) == before
