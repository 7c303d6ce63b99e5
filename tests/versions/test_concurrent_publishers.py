"""Two that publish at once: one wins, the other is told what is published now; on both stores."""

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
from tests.api.service import store_file
from tests.postgres import server
from tests.stores import Store
from tests.system.service import ROOT
from tests.versions.version_store import Shelf, version

Open = Callable[[], Database]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.system("postgres"))])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Make a store of both datasets, of which the first version is published."""
    if request.param == "sqlite":
        url = f"sqlite:///{store_file(tmp_path)}"
    else:
        url = server().new_database(f"registry_{secrets.token_hex(4)}")
    with closing(StoreUrl(url).open_for_writing()) as db:
        shelf = Shelf(Store(db=db))
        for offset, name in enumerate(("orders", "items")):
            shelf.write(*(version(name, f"{name}{n}", 10 * offset + n) for n in range(8)))
        shelf.publish(orders="orders0", items="items0")
    return url


@pytest.fixture
def connect(url: str) -> Iterator[Open]:
    """Open connections to the store, as many as are asked for."""
    with ExitStack() as opened:
        yield lambda: opened.enter_context(closing(StoreUrl(url).open_for_background_writes(durable=True)))


class Person(threading.Thread):
    """Publishes a version of both datasets, for whom the first is published, as soon as all others are ready."""

    def __init__(self, db: Database, number: int, ready: threading.Barrier) -> None:
        super().__init__()
        self.shelf = Shelf(Store(db=db))
        self.number, self.ready = number, ready
        self.told: str | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.ready.wait(30)
            self.publish()
        except BaseException as error:  # noqa: BLE001 - told by the test, which waits for it
            self.error = error

    def publish(self) -> None:
        try:
            self.shelf.publish(
                expected={"orders": "orders0", "items": "items0"},
                orders=f"orders{self.number}",
                items=f"items{self.number}",
            )
        except StateConflict as error:
            self.told = str(error.conflicts[0]["current"])


def test_of_all_that_publish_at_once_one_wins(connect: Open) -> None:
    ready = threading.Barrier(6)
    people = [Person(connect(), number, ready) for number in range(1, 7)]
    for person in people:
        person.start()
    for person in people:
        person.join(60)
    assert [person.error for person in people if person.error] == []
    (winner,) = [person for person in people if person.told is None]
    shelf = Shelf(Store(db=connect()))
    assert (shelf.tag("orders"), shelf.tag("items")) == (f"orders{winner.number}", f"items{winner.number}")
    assert {person.told for person in people} == {None, f"orders{winner.number}"}
    assert shelf.history("items") == ["publish items0", f"publish items{winner.number}"]


def test_who_comes_second_waits_and_is_told(connect: Open) -> None:
    """The second begins while the first has moved the pointer and not committed."""
    ready = threading.Barrier(2)
    first, second = Shelf(Store(db=connect())), Person(connect(), 2, ready)
    with first.registry.transaction():
        first.registry.publisher.publish([first_change(first)], "ann", None)
        second.start()
        ready.wait(30)
    second.join(60)
    assert (second.error, second.told) == (None, "orders1")
    assert first.history("items") == ["publish items0"]


def first_change(shelf: Shelf) -> PublicationRequest:
    return PublicationRequest(shelf.id("orders"), parse_selector("orders1"), "orders0")


def test_two_moves_never_follow_one(connect: Open) -> None:
    """Nor does the store take them from a writer that locks nothing."""
    db = connect()
    columns = "began, dataset_id, version_id, version_tag, {} AS follows, how, moved_by, moved_at, reason"
    fork = f"INSERT INTO publication SELECT org_id, {{}}, {columns} FROM publication WHERE number = 1"
    db.execute(fork.format(98, 1))
    with pytest.raises(UnstorableRow):
        db.execute(fork.format(99, 1))


def test_a_process_that_dies_leaves_nothing_half_published(connect: Open) -> None:
    dying = connect()
    shelf = Shelf(Store(db=dying))
    with suppress(SystemExit), shelf.registry.transaction():
        shelf.registry.publisher.publish([first_change(shelf)], "ann", None)
        raise SystemExit
    assert Shelf(Store(db=connect())).history("orders") == ["publish orders0"]


@pytest.mark.system
def test_a_process_that_is_killed_leaves_both_published_or_none(url: str, connect: Open) -> None:
    shelf = Shelf(Store(db=connect()))
    for published in range(1, 6):
        command = [sys.executable, "-m", "tests.versions.endless_publisher", url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
            assert process.stdout is not None
            said = [process.stdout.readline() for _ in range(published)]
            process.kill()
        assert said == [b"published\n"] * published
        orders, items = (shelf.registry.publications.current(shelf.id(name)) for name in ("orders", "items"))
        assert orders
        assert items
        assert (orders.publication, orders.tag.removeprefix("orders")) == (
            items.publication,
            items.tag.removeprefix("items"),
        )
