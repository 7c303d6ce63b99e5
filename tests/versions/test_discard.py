"""Versions that are given up: nobody reads them any more, but those that somebody needs."""

import pytest

from bridge.errors import StateConflict
from bridge.versions.registry import DiscardOutcome
from tests.versions.version_store import START, Shelf, version

HOUR = 3_600_000_000


def given_up(shelf: Shelf, name: str, *tags: str, reason: str = "gone") -> DiscardOutcome:
    with shelf.registry.transaction():
        found = [shelf.registry.versions.find(shelf.id(name), tag) for tag in tags]
        return shelf.registry.discard(shelf.id(name), found, reason, "ann")


def faults(shelf: Shelf, name: str, *tags: str) -> list[str | None]:
    return [shelf.registry.versions.find(shelf.id(name), tag).unreadable_reason() for tag in tags]


def test_what_nobody_needs_is_not_to_be_read(shelf: Shelf) -> None:
    done = given_up(shelf, "items", "i1", "i2")
    assert ([one.tag for one in done.discarded], done.retained) == (["i1", "i2"], {})
    assert faults(shelf, "items", "i1", "i2", "i3") == ["it is marked invalid: gone"] * 2 + [None]
    with pytest.raises(StateConflict, match="gone"):
        shelf.publish(items="i1")


def test_what_is_published_or_pinned_is_held_with_the_reasons(shelf: Shelf) -> None:
    shelf.publish(items="i1")
    shelf.pin("january", until=START + HOUR, items="i1")
    shelf.pin("audit", until=START + HOUR, items="i2")
    done = given_up(shelf, "items", "i1", "i2", "i3")
    assert [one.tag for one in done.discarded] == ["i3"]
    assert done.retained == {"i1": ["published", "pinned as january"], "i2": ["pinned as audit"]}
    assert faults(shelf, "items", "i1", "i2") == [None, None]
    shelf.now += HOUR
    assert given_up(shelf, "items", "i2").retained == {}, "a pin that has expired holds nothing"


def test_again_is_the_same_and_the_first_reason_stays(shelf: Shelf) -> None:
    shelf.invalidate("items", "i1", reason="wrong rates")
    for reason in ("gone", "gone again"):
        done = given_up(shelf, "items", "i1", "i2", reason=reason)
        assert [one.tag for one in done.discarded] == ["i1", "i2"]
    assert faults(shelf, "items", "i1", "i2") == ["it is marked invalid: wrong rates", "it is marked invalid: gone"]


def test_a_partition_that_is_invalid_alone_does_not_stand_for_the_whole(shelf: Shelf) -> None:
    shelf.write(version("sales", "s1", 21, days=["mon", "tue"]))
    shelf.invalidate("sales", "s1", "day=mon", "cut off")
    given_up(shelf, "sales", "s1")
    assert faults(shelf, "sales", "s1") == ["it is marked invalid: gone"]


@pytest.mark.parametrize(
    ("published", "held"),
    [
        ([("a", ["mon", "tue"]), ("b", ["tue"])], ["a", "b"]),
        ([("a", ["mon"]), ("b", ["tue"]), ("c", ["mon", "tue"])], ["c"]),
        ([("a", ["mon", "tue"]), ("b", ["mon"]), ("c", ["tue"])], ["b", "c"]),
        ([("a", []), ("b", ["mon"]), ("c", ["mon"])], ["a", "c"]),
        ([("a", ["mon"]), ("b", []), ("c", ["mon"])], ["b", "c"]),
    ],
)
def test_a_version_whose_partitions_all_have_newer_ones_is_held_by_nobody(
    shelf: Shelf, published: list[tuple[str, list[str]]], held: list[str]
) -> None:
    for number, (tag, days) in enumerate(published, 21):
        shelf.write(version("sales", tag, number, days=days))
        shelf.publish(sales=tag)
    partitions = [day for _, days in published for day in days]
    read = {shelf.tag("sales", "published", f"day={day}") for day in partitions}
    assert read <= set(held)
    assert sorted(given_up(shelf, "sales", *(tag for tag, _ in published)).retained) == held
    assert {shelf.tag("sales", "published", f"day={day}") for day in partitions} == read
