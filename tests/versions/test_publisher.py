"""What is published: moved by compare-and-swap, all datasets or none, with a history, and back again."""

from typing import Any
from uuid import UUID

import pytest

from bridge.errors import InvalidParameter, NotFound, StateConflict
from tests import factories as make
from tests.stores import Store
from tests.versions.version_store import START, Shelf, version


def test_what_is_published_is_read(shelf: Shelf) -> None:
    with pytest.raises(NotFound, match="no version of the dataset is published"):
        shelf.resolve("orders")
    (done,) = shelf.publish(orders="o1")
    assert (done.version.tag, done.previous, done.entry.previous_number) == ("o1", None, None)
    found = shelf.resolve("orders")
    assert (found.version.tag, found.version.row_count, found.resolved_by, found.is_mutable) == (
        "o1",
        1,
        "published",
        False,
    )
    assert found.entry is not None
    assert (found.entry.published_by, found.entry.reason, found.entry.published_at) == ("ann", "because", START)


@pytest.mark.parametrize("called", ["o2", "version:o2", "latest", "the id"])
def test_a_version_is_named_in_any_way(shelf: Shelf, called: str) -> None:
    id_ = str(UUID(bytes=shelf.registry.versions.find(shelf.id("orders"), "o2").id))
    shelf.publish(orders=id_ if called == "the id" else called)
    assert shelf.tag("orders") == "o2"


@pytest.mark.parametrize(
    ("published", "expected", "to", "refusal"),
    [
        (None, None, "o1", None),
        (None, "o1", "o2", "'o1' is not published: no version is"),
        ("o1", "o1", "o2", None),
        ("o1", None, "o2", "'o1' is published, but none was expected"),
        ("o2", "o1", "o1", "'o2' is published, not 'o1'"),
        ("o2", "o1", "o2", None),
    ],
    ids=["first", "nothing there", "as expected", "not the first", "another there", "there already"],
)
def test_the_pointer_moves_from_where_it_is_expected(
    shelf: Shelf, published: str | None, expected: str | None, to: str, refusal: str | None
) -> None:
    if published:
        shelf.publish(orders=published)
    if refusal is None:
        shelf.publish(orders=to, expected={"orders": expected})
        assert shelf.tag("orders") == to
        return
    before = shelf.history("orders")
    with pytest.raises(StateConflict, match=refusal) as refused:
        shelf.publish(orders=to, expected={"orders": expected})
    assert [(one["dataset"], one["current"]) for one in refused.value.conflicts] == [("db/orders", published)]
    assert shelf.history("orders") == before


@pytest.mark.parametrize(
    ("error", "versions", "refusal"),
    [
        (NotFound, {"orders": "o9"}, "no version 'o9'"),
        (NotFound, {"nothing": "o1"}, "no dataset 'nothing'"),
        (StateConflict, {"orders": "o3"}, "FAIL, not COMPLETE"),
        (StateConflict, {"orders": "o1", "items": "i2"}, "i2.*marked invalid: wrong rates"),
    ],
)
def test_all_are_published_or_none(
    shelf: Shelf, error: type[Exception], versions: dict[str, str], refusal: str
) -> None:
    shelf.publish(items="i1")
    shelf.invalidate("items", "i2", reason="wrong rates")
    with pytest.raises(error, match=refusal):
        shelf.publish(**{"items": "i3"} | versions)
    assert (shelf.tag("items"), shelf.history("orders")) == ("i1", [])


def test_a_run_that_has_not_ended_has_nothing_to_publish(shelf: Shelf) -> None:
    shelf.write(version("orders", "o4", 4, "START"))
    with pytest.raises(StateConflict, match="is START, not COMPLETE"):
        shelf.publish(orders="o4")
    shelf.write(version("orders", "o4", 4, second=5))
    shelf.publish(orders="o4")
    assert shelf.tag("orders") == "o4"


def test_what_is_published_already_makes_no_history(shelf: Shelf) -> None:
    shelf.publish(orders="o1", items="i1")
    one, other = shelf.publish(orders="o1", items="i2")
    assert (one.previous, other.previous and other.previous.tag) == (one.entry, "i1")
    assert (shelf.history("orders"), shelf.history("items")) == (["publish o1"], ["publish i1", "publish i2"])


def test_one_dataset_is_not_named_twice(shelf: Shelf) -> None:
    shelf.write(make.dataset_event(30, make.dataset("orders", symlinks=make.symlinks("sales.orders"))))
    with pytest.raises(InvalidParameter, match="listed twice"):
        shelf.publish(**{"orders": "o1", "sales.orders": "o2"})


def test_rollbacks_go_back_one_by_one(shelf: Shelf) -> None:
    shelf.write(version("orders", "o4", 4))
    for tag in ("o1", "o2", "o4"):
        shelf.publish(orders=tag)
    assert [shelf.roll_back("orders")[0].version.tag for _ in range(2)] == ["o2", "o1"]
    with pytest.raises(StateConflict, match="nothing was published before version 'o1'"):
        shelf.roll_back("orders")
    shelf.publish(orders="o4")
    assert shelf.roll_back("orders")[0].version.tag == "o1"
    assert shelf.history("orders") == [
        "publish o1", "publish o2", "publish o4", "rollback o2", "rollback o1", "publish o4", "rollback o1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "options", "refusal"),
    [
        (["orders"], {"to": "o2"}, "version 'o2' was never published: publish it instead"),
        (["orders"], {"expected": "o2"}, "version 'o1' is published, not 'o2'"),
        (["items"], {}, "version 'i1': it is marked invalid: bad: specify another version to roll back to"),
        (["items", "orders"], {}, "nothing was published before version 'o1'"),
    ],
)
def test_a_rollback_that_cannot_be_is_refused(
    shelf: Shelf, names: list[str], options: dict[str, Any], refusal: str
) -> None:
    shelf.publish(orders="o1", items="i1")
    shelf.publish(items="i2")
    shelf.invalidate("items", "i1")
    with pytest.raises(StateConflict, match=refusal):
        shelf.roll_back(*names, **options)
    assert (shelf.tag("orders"), shelf.tag("items")) == ("o1", "i2")


def test_a_rollback_goes_to_any_version_that_was_published(shelf: Shelf) -> None:
    for tag in ("i1", "i2", "i3"):
        shelf.publish(items=tag)
    shelf.roll_back("items", to="i1")
    shelf.roll_back("items", to="i3")
    assert (shelf.tag("items"), shelf.roll_back("items")[0].version.tag) == ("i3", "i1")


def test_a_publication_is_undone_whole(shelf: Shelf) -> None:
    shelf.publish(orders="o1", items="i1")
    began = shelf.publish(orders="o2", items="i2")[0].entry.publication
    with shelf.registry.transaction():
        shelf.registry.publisher.roll_back_publication(began, "bob", None)
    assert (shelf.tag("orders"), shelf.tag("items")) == ("o1", "i1")
    with pytest.raises(StateConflict, match="version 'o1' is published, not"), shelf.registry.transaction():
        shelf.registry.publisher.roll_back_publication(began, "bob", None)
    with pytest.raises(NotFound, match="no publication 99"), shelf.registry.transaction():
        shelf.registry.publisher.roll_back_publication(99, "bob", None)


def test_times_go_on_though_a_clock_goes_back(shelf: Shelf) -> None:
    shelf.publish(orders="o1")
    shelf.now -= 1_000_000
    (second,) = shelf.publish(orders="o2")
    assert second.entry.published_at == START


def test_datasets_that_become_one_go_on_with_the_last_move(shelf: Shelf) -> None:
    shelf.publish(items="i1")
    shelf.publish(orders="o1")
    shelf.publish(items="i2")
    shelf.write(make.dataset_event(30, make.dataset("orders", symlinks=make.symlinks("items"))))
    assert shelf.id("orders") == shelf.id("items")
    assert shelf.tag("orders") == "i2"
    assert shelf.history("orders") == ["publish i1", "publish o1", "publish i2"]
    (moved,) = shelf.publish(orders="o2", expected={"orders": "i2"})
    assert moved.entry.previous_number == 3
    assert [shelf.roll_back("items")[0].version.tag for _ in range(2)] == ["i2", "i1"]


def test_organisations_publish_apart(shelf: Shelf) -> None:
    other = Shelf(Store("other", db=shelf.store.db))
    other.write(version("orders", "o1", 1), version("orders", "o2", 2))
    shelf.publish(orders="o1")
    (moved,) = other.publish(orders="o2", expected={"orders": None})
    assert (moved.entry.number, shelf.tag("orders"), other.tag("orders")) == (1, "o1", "o2")
