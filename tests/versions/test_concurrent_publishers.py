"""Concurrent publishers: one wins, the others get a conflict with the published version; on both stores."""

import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from bridge.errors import StateConflict, UnstorableRow
from bridge.store.connect import StoreUrl
from bridge.store.database import Database
from bridge.versions.publisher import PublicationRequest
from bridge.versions.selector import parse_selector
from tests.api.service import create_store_file
from tests.postgres import server
from tests.stores import Store
from tests.system.service import ROOT
from tests.versions.version_store import VersionStore, version

OpenDatabase = Callable[[], Database]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.system("postgres"))])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Create a store with two datasets, of which the first versions are published."""
    if request.param == "sqlite":
        url = f"sqlite:///{create_store_file(tmp_path)}"
    else:
        url = server().new_database(f"registry_{secrets.token_hex(4)}")
    with closing(StoreUrl(url).open_for_writing()) as db:
        version_store = VersionStore(Store(db=db))
        for offset, name in enumerate(("orders", "items")):
            version_store.write(*(version(name, f"{name}{n}", 10 * offset + n) for n in range(8)))
        version_store.publish(orders="orders0", items="items0")
    return url


@pytest.fixture
def connect(url: str) -> Iterator[OpenDatabase]:
    """Open any number of connections to the store."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(StoreUrl(url).open_for_background_writes(durable=True)))


class PublisherThread(threading.Thread):
    """Publishes a version of both datasets, expecting the first versions, as soon as all threads are ready."""

    def __init__(self, db: Database, number: int, ready: threading.Barrier) -> None:
        super().__init__()
        self.version_store = VersionStore(Store(db=db))
        self.number, self.ready = number, ready
        self.conflicting_version: str | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.ready.wait(30)
            self.publish()
        except BaseException as error:  # noqa: BLE001 - reported by the test, which joins the thread
            self.error = error

    def publish(self) -> None:
        try:
            self.version_store.publish(
                expected={"orders": "orders0", "items": "items0"},
                orders=f"orders{self.number}",
                items=f"items{self.number}",
            )
        except StateConflict as error:
            self.conflicting_version = str(error.conflicts[0]["current"])


def test_one_of_several_concurrent_publishers_wins(connect: OpenDatabase) -> None:
    ready = threading.Barrier(6)
    publishers = [PublisherThread(connect(), number, ready) for number in range(1, 7)]
    for publisher in publishers:
        publisher.start()
    for publisher in publishers:
        publisher.join(60)
    assert [publisher.error for publisher in publishers if publisher.error] == []
    (winner,) = [publisher for publisher in publishers if publisher.conflicting_version is None]
    version_store = VersionStore(Store(db=connect()))
    assert (version_store.tag("orders"), version_store.tag("items")) == (
        f"orders{winner.number}",
        f"items{winner.number}",
    )
    assert {publisher.conflicting_version for publisher in publishers} == {None, f"orders{winner.number}"}
    assert version_store.history("items") == ["publish items0", f"publish items{winner.number}"]


def test_second_publisher_waits_and_gets_a_conflict(connect: OpenDatabase) -> None:
    """The second one starts when the first has written its entries, but not committed them."""
    ready = threading.Barrier(2)
    first, second = VersionStore(Store(db=connect())), PublisherThread(connect(), 2, ready)
    with first.registry.transaction():
        first.registry.publisher.publish([first_request(first)], "ann", None)
        second.start()
        ready.wait(30)
    second.join(60)
    assert (second.error, second.conflicting_version) == (None, "orders1")
    assert first.history("items") == ["publish items0"]


def first_request(version_store: VersionStore) -> PublicationRequest:
    return PublicationRequest(version_store.id("orders"), parse_selector("orders1"), "orders0")


def test_history_cannot_be_forked(connect: OpenDatabase) -> None:
    """Not even a writer without the lock can fork the history."""
    db = connect()
    columns = "began, dataset_id, version_id, version_tag, {} AS follows, how, moved_by, moved_at, reason"
    fork = f"INSERT INTO publication SELECT org_id, {{}}, {columns} FROM publication WHERE number = 1"
    db.execute(fork.format(98, 1))
    with pytest.raises(UnstorableRow):
        db.execute(fork.format(99, 1))


def test_process_that_exits_leaves_no_partial_publication(connect: OpenDatabase) -> None:
    db = connect()
    version_store = VersionStore(Store(db=db))
    with suppress(SystemExit), version_store.registry.transaction():
        version_store.registry.publisher.publish([first_request(version_store)], "ann", None)
        raise SystemExit
    assert VersionStore(Store(db=connect())).history("orders") == ["publish orders0"]


@pytest.mark.system
def test_killed_process_leaves_both_datasets_published_or_none(url: str, connect: OpenDatabase) -> None:
    version_store = VersionStore(Store(db=connect()))
    for published in range(1, 6):
        command = [sys.executable, "-m", "tests.versions.endless_publisher", url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
            assert process.stdout is not None
            output = [process.stdout.readline() for _ in range(published)]
            process.kill()
        assert output == [b"published\n"] * published
        orders, items = (
            version_store.registry.publications.current(version_store.id(name)) for name in ("orders", "items")
        )
        assert orders
        assert items
        assert (orders.publication, orders.tag.removeprefix("orders")) == (
            items.publication,
            items.tag.removeprefix("items"),
        )
