"""Pins: several versions under one name, retained until a time and never moved."""

import pytest

from bridge.errors import InvalidParameter, NotFound, StateConflict
from tests import factories as make
from tests.versions.version_store import START, VersionStore, version

HOUR = 3_600_000_000


def list_pins(version_store: VersionStore, *, expired: bool = False) -> list[tuple[str, str, int]]:
    return [
        (pin.name, pin.tag, pin.expires_at - START)
        for pin in version_store.registry.pins.list_page(100, include_expired=expired)
    ]


def test_pin_retains_versions_of_several_datasets(version_store: VersionStore) -> None:
    version_store.pin("january", until=START + HOUR, orders="o1", items="i2")
    assert (version_store.tag("orders", "pin:january"), version_store.tag("items", "january")) == ("o1", "i2")
    assert sorted(list_pins(version_store)) == [("january", "i2", HOUR), ("january", "o1", HOUR)]


def test_expired_pin_is_ignored(version_store: VersionStore) -> None:
    version_store.pin("january", until=START + HOUR, orders="o1")
    (reasons,) = version_store.registry.retained_versions().values()
    assert reasons == ["pinned as january"]
    version_store.now += HOUR
    assert (
        list_pins(version_store),
        list_pins(version_store, expired=True),
        version_store.registry.retained_versions(),
    ) == (
        [],
        [("january", "o1", HOUR)],
        {},
    )
    with pytest.raises(NotFound, match="no pin 'january' of the dataset in the store, or it has expired"):
        version_store.resolve("orders", "pin:january")
    version_store.pin("january", until=START + 3 * HOUR, orders="o2")
    assert list_pins(version_store, expired=True) == [("january", "o2", 3 * HOUR)]


def test_pin_is_extended_but_never_moved(version_store: VersionStore) -> None:
    version_store.pin("january", until=START + HOUR, orders="o1")
    version_store.pin("january", until=START + 2 * HOUR, orders="o1")
    with pytest.raises(StateConflict, match="the pin 'january' refers to version 'o1', not 'o2'") as raised:
        version_store.pin("january", until=START + HOUR, items="i1", orders="o2")
    assert [conflict["current"] for conflict in raised.value.conflicts] == ["o1"]
    assert list_pins(version_store) == [("january", "o1", 2 * HOUR)]


@pytest.mark.parametrize(
    ("until", "tag", "error", "message"),
    [
        (0, "o1", InvalidParameter, "until: must be in the future"),
        (HOUR, "o3", StateConflict, "FAIL, not COMPLETE"),
        (HOUR, "o9", NotFound, "no version 'o9'"),
    ],
)
def test_unpinnable_version_is_rejected(
    version_store: VersionStore, until: int, tag: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        version_store.pin("january", until=START + until, items="i1", orders=tag)
    assert list_pins(version_store) == []


def test_invalid_version_can_be_pinned(version_store: VersionStore) -> None:
    version_store.invalidate("orders", "o1")
    version_store.pin("evidence", until=START + HOUR, orders="o1")
    assert list(version_store.registry.retained_versions().values()) == [["pinned as evidence"]]


def test_pin_is_removed_from_one_dataset_or_from_all(version_store: VersionStore) -> None:
    pins = version_store.registry.pins
    version_store.pin("january", until=START + HOUR, orders="o1", items="i2")
    assert [pin.tag for pin in pins.unpin("january", version_store.id("orders"))] == ["o1"]
    assert list_pins(version_store) == [("january", "i2", HOUR)]
    with pytest.raises(NotFound, match="no pin 'january' of the dataset"):
        pins.unpin("january", version_store.id("orders"))
    pins.unpin("january")
    with pytest.raises(NotFound, match="no pin 'january' in the store"):
        pins.unpin("january")


def test_pin_stays_with_its_version_when_datasets_are_merged(version_store: VersionStore) -> None:
    version_store.pin("january", until=START + HOUR, orders="o1")
    version_store.write(make.dataset_event(30, make.dataset("orders", symlinks=make.symlinks("a.orders"))))
    assert version_store.tag("a.orders", "january") == "o1"


def test_pins_are_paginated(version_store: VersionStore) -> None:
    version_store.write(version("sums", "s1", 30))
    for name in "cab":
        version_store.pin(name, until=START + HOUR, orders="o1", sums="s1")
    pins, seen, after = version_store.registry.pins, [], ("", b"")
    while page := pins.list_page(4, after):
        seen += page
        after = (page[-1].name, page[-1].version_id)
    assert [pin.name for pin in seen] == list("aabbcc")
    assert len(set(seen)) == 6
