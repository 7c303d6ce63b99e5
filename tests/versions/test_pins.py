"""Pins: several versions under one name, kept until a time, never moved behind anybody's back."""

import pytest

from bridge.errors import InvalidParameter, NotFound, StateConflict
from tests import factories as make
from tests.versions.version_store import START, Shelf, version

HOUR = 3_600_000_000


def names(shelf: Shelf, *, expired: bool = False) -> list[tuple[str, str, int]]:
    return [
        (one.name, one.tag, one.expires_at - START) for one in shelf.registry.pins.list_page(100, expired=expired)
    ]


def test_a_pin_names_versions_of_several_datasets(shelf: Shelf) -> None:
    shelf.pin("january", until=START + HOUR, orders="o1", items="i2")
    assert (shelf.tag("orders", "pin:january"), shelf.tag("items", "january")) == ("o1", "i2")
    assert sorted(names(shelf)) == [("january", "i2", HOUR), ("january", "o1", HOUR)]


def test_one_that_has_expired_is_as_if_it_were_not_there(shelf: Shelf) -> None:
    shelf.pin("january", until=START + HOUR, orders="o1")
    (held,) = shelf.registry.retained_versions().values()
    assert held == ["pinned as january"]
    shelf.now += HOUR
    assert (names(shelf), names(shelf, expired=True), shelf.registry.retained_versions()) == (
        [],
        [("january", "o1", HOUR)],
        {},
    )
    with pytest.raises(NotFound, match="no pin 'january' of the dataset in the store, or it has expired"):
        shelf.resolve("orders", "pin:january")
    shelf.pin("january", until=START + 3 * HOUR, orders="o2")
    assert names(shelf, expired=True) == [("january", "o2", 3 * HOUR)]


def test_a_pin_is_prolonged_and_never_moved(shelf: Shelf) -> None:
    shelf.pin("january", until=START + HOUR, orders="o1")
    shelf.pin("january", until=START + 2 * HOUR, orders="o1")
    with pytest.raises(StateConflict, match="the pin 'january' refers to version 'o1', not 'o2'") as refused:
        shelf.pin("january", until=START + HOUR, items="i1", orders="o2")
    assert [one["current"] for one in refused.value.conflicts] == ["o1"]
    assert names(shelf) == [("january", "o1", 2 * HOUR)]


@pytest.mark.parametrize(
    ("until", "tag", "error", "refusal"),
    [
        (0, "o1", InvalidParameter, "until: must be in the future"),
        (HOUR, "o3", StateConflict, "FAIL, not COMPLETE"),
        (HOUR, "o9", NotFound, "no version 'o9'"),
    ],
)
def test_what_cannot_be_pinned_is_refused(
    shelf: Shelf, until: int, tag: str, error: type[Exception], refusal: str
) -> None:
    with pytest.raises(error, match=refusal):
        shelf.pin("january", until=START + until, items="i1", orders=tag)
    assert names(shelf) == []


def test_what_is_invalid_may_be_kept(shelf: Shelf) -> None:
    shelf.invalidate("orders", "o1")
    shelf.pin("evidence", until=START + HOUR, orders="o1")
    assert list(shelf.registry.retained_versions().values()) == [["pinned as evidence"]]


def test_pins_are_removed_of_one_dataset_or_of_all(shelf: Shelf) -> None:
    pins = shelf.registry.pins
    shelf.pin("january", until=START + HOUR, orders="o1", items="i2")
    assert [one.tag for one in pins.unpin("january", shelf.id("orders"))] == ["o1"]
    assert names(shelf) == [("january", "i2", HOUR)]
    with pytest.raises(NotFound, match="no pin 'january' of the dataset"):
        pins.unpin("january", shelf.id("orders"))
    pins.unpin("january")
    with pytest.raises(NotFound, match="no pin 'january' in the store"):
        pins.unpin("january")


def test_a_pin_stays_with_its_version_when_datasets_become_one(shelf: Shelf) -> None:
    shelf.pin("january", until=START + HOUR, orders="o1")
    shelf.write(make.dataset_event(30, make.dataset("orders", symlinks=make.symlinks("a.orders"))))
    assert shelf.tag("a.orders", "january") == "o1"


def test_pins_are_listed_by_pages(shelf: Shelf) -> None:
    shelf.write(version("sums", "s1", 30))
    for name in "cab":
        shelf.pin(name, until=START + HOUR, orders="o1", sums="s1")
    pins, seen, behind = shelf.registry.pins, [], ("", b"")
    while page := pins.list_page(4, behind):
        seen += page
        behind = (page[-1].name, page[-1].version)
    assert [one.name for one in seen] == list("aabbcc")
    assert len(set(seen)) == 6
