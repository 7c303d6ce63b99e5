"""Publishing: compare-and-set of several datasets, histories and rollbacks."""

from typing import Any
from uuid import UUID

import pytest

from bridge.errors import InvalidParameter, NotFound, StateConflict
from tests import factories as make
from tests.stores import Store
from tests.versions.version_store import START, VersionStore, version


def test_published_version_is_resolved(version_store: VersionStore) -> None:
    with pytest.raises(NotFound, match="no version of the dataset is published"):
        version_store.resolve("orders")
    (outcome,) = version_store.publish(orders="o1")
    assert (outcome.version.tag, outcome.previous, outcome.entry.previous_number) == ("o1", None, None)
    resolution = version_store.resolve("orders")
    assert (resolution.version.tag, resolution.version.row_count, resolution.resolved_by, resolution.is_mutable) == (
        "o1",
        1,
        "published",
        False,
    )
    assert resolution.entry is not None
    assert (resolution.entry.published_by, resolution.entry.reason, resolution.entry.published_at) == (
        "ann",
        "because",
        START,
    )


@pytest.mark.parametrize("name", ["o2", "version:o2", "latest", "the id"])
def test_version_is_published_by_any_of_its_names(version_store: VersionStore, name: str) -> None:
    id_ = str(UUID(bytes=version_store.registry.versions.find(version_store.id("orders"), "o2").id))
    version_store.publish(orders=id_ if name == "the id" else name)
    assert version_store.tag("orders") == "o2"


@pytest.mark.parametrize(
    ("published", "expected", "to", "message"),
    [
        (None, None, "o1", None),
        (None, "o1", "o2", "no version is published, but 'o1' was expected"),
        ("o1", "o1", "o2", None),
        ("o1", None, "o2", "'o1' is published, but none was expected"),
        ("o2", "o1", "o1", "'o2' is published, not 'o1'"),
        ("o2", "o1", "o2", None),
    ],
    ids=[
        "first",
        "nothing published",
        "as expected",
        "not the first",
        "another version published",
        "published already",
    ],
)
def test_publication_requires_the_expected_version(
    version_store: VersionStore, published: str | None, expected: str | None, to: str, message: str | None
) -> None:
    if published:
        version_store.publish(orders=published)
    if message is None:
        version_store.publish(orders=to, expected={"orders": expected})
        assert version_store.tag("orders") == to
        return
    before = version_store.history("orders")
    with pytest.raises(StateConflict, match=message) as raised:
        version_store.publish(orders=to, expected={"orders": expected})
    assert [(conflict["dataset"], conflict["current"]) for conflict in raised.value.conflicts] == [
        ("db/orders", published)
    ]
    assert version_store.history("orders") == before


@pytest.mark.parametrize(
    ("error", "versions", "message"),
    [
        (NotFound, {"orders": "o9"}, "no version 'o9'"),
        (NotFound, {"nothing": "o1"}, "no dataset 'nothing'"),
        (StateConflict, {"orders": "o3"}, "FAIL, not COMPLETE"),
        (StateConflict, {"orders": "o1", "items": "i2"}, "i2.*marked invalid: wrong rates"),
    ],
)
def test_all_datasets_are_published_or_none(
    version_store: VersionStore, error: type[Exception], versions: dict[str, str], message: str
) -> None:
    version_store.publish(items="i1")
    version_store.invalidate("items", "i2", reason="wrong rates")
    with pytest.raises(error, match=message):
        version_store.publish(**{"items": "i3"} | versions)
    assert (version_store.tag("items"), version_store.history("orders")) == ("i1", [])


def test_version_of_an_unfinished_run_cannot_be_published(version_store: VersionStore) -> None:
    version_store.write(version("orders", "o4", 4, "START"))
    with pytest.raises(StateConflict, match="is START, not COMPLETE"):
        version_store.publish(orders="o4")
    version_store.write(version("orders", "o4", 4, second=5))
    version_store.publish(orders="o4")
    assert version_store.tag("orders") == "o4"


def test_repeated_publication_adds_no_history(version_store: VersionStore) -> None:
    version_store.publish(orders="o1", items="i1")
    unchanged, changed = version_store.publish(orders="o1", items="i2")
    assert (unchanged.previous, changed.previous and changed.previous.tag) == (unchanged.entry, "i1")
    assert (version_store.history("orders"), version_store.history("items")) == (
        ["publish o1"],
        ["publish i1", "publish i2"],
    )


def test_dataset_cannot_be_listed_twice(version_store: VersionStore) -> None:
    version_store.write(make.dataset_event(30, make.dataset("orders", symlinks=make.symlinks("sales.orders"))))
    with pytest.raises(InvalidParameter, match="listed twice"):
        version_store.publish(**{"orders": "o1", "sales.orders": "o2"})


def test_rollbacks_return_version_by_version(version_store: VersionStore) -> None:
    version_store.write(version("orders", "o4", 4))
    for tag in ("o1", "o2", "o4"):
        version_store.publish(orders=tag)
    assert [version_store.roll_back("orders")[0].version.tag for _ in range(2)] == ["o2", "o1"]
    with pytest.raises(StateConflict, match="nothing was published before version 'o1'"):
        version_store.roll_back("orders")
    version_store.publish(orders="o4")
    assert version_store.roll_back("orders")[0].version.tag == "o1"
    assert version_store.history("orders") == [
        "publish o1", "publish o2", "publish o4", "rollback o2", "rollback o1", "publish o4", "rollback o1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["orders"], {"to": "o2"}, "version 'o2' was never published: publish it instead"),
        (["orders"], {"expected": "o2"}, "version 'o1' is published, not 'o2'"),
        (["items"], {}, "version 'i1': it is marked invalid: bad: specify another version to roll back to"),
        (["items", "orders"], {}, "nothing was published before version 'o1'"),
    ],
)
def test_impossible_rollback_is_rejected(
    version_store: VersionStore, names: list[str], options: dict[str, Any], message: str
) -> None:
    version_store.publish(orders="o1", items="i1")
    version_store.publish(items="i2")
    version_store.invalidate("items", "i1")
    with pytest.raises(StateConflict, match=message):
        version_store.roll_back(*names, **options)
    assert (version_store.tag("orders"), version_store.tag("items")) == ("o1", "i2")


def test_rollback_can_return_to_any_published_version(version_store: VersionStore) -> None:
    for tag in ("i1", "i2", "i3"):
        version_store.publish(items=tag)
    version_store.roll_back("items", to="i1")
    version_store.roll_back("items", to="i3")
    assert (version_store.tag("items"), version_store.roll_back("items")[0].version.tag) == ("i3", "i1")


def test_publication_is_undone_for_all_datasets(version_store: VersionStore) -> None:
    version_store.publish(orders="o1", items="i1")
    publication = version_store.publish(orders="o2", items="i2")[0].entry.publication
    with version_store.registry.transaction():
        version_store.registry.publisher.roll_back_publication(publication, "bob", None)
    assert (version_store.tag("orders"), version_store.tag("items")) == ("o1", "i1")
    with pytest.raises(StateConflict, match="version 'o1' is published, not"), version_store.registry.transaction():
        version_store.registry.publisher.roll_back_publication(publication, "bob", None)
    with pytest.raises(NotFound, match="no publication 99"), version_store.registry.transaction():
        version_store.registry.publisher.roll_back_publication(99, "bob", None)


def test_times_do_not_decrease_when_the_clock_goes_back(version_store: VersionStore) -> None:
    version_store.publish(orders="o1")
    version_store.now -= 1_000_000
    (second,) = version_store.publish(orders="o2")
    assert second.entry.published_at == START


def test_merged_datasets_continue_the_newest_history(version_store: VersionStore) -> None:
    version_store.publish(items="i1")
    version_store.publish(orders="o1")
    version_store.publish(items="i2")
    version_store.write(make.dataset_event(30, make.dataset("orders", symlinks=make.symlinks("items"))))
    assert version_store.id("orders") == version_store.id("items")
    assert version_store.tag("orders") == "i2"
    assert version_store.history("orders") == ["publish i1", "publish o1", "publish i2"]
    (outcome,) = version_store.publish(orders="o2", expected={"orders": "i2"})
    assert outcome.entry.previous_number == 3
    assert [version_store.roll_back("items")[0].version.tag for _ in range(2)] == ["i2", "i1"]


def test_organisations_publish_independently(version_store: VersionStore) -> None:
    other = VersionStore(Store("other", db=version_store.store.db))
    other.write(version("orders", "o1", 1), version("orders", "o2", 2))
    version_store.publish(orders="o1")
    (outcome,) = other.publish(orders="o2", expected={"orders": None})
    assert (outcome.entry.number, version_store.tag("orders"), other.tag("orders")) == (1, "o1", "o2")
