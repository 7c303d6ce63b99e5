"""Discarded versions become invalid, except those that are published or pinned."""

import pytest

from bridge.errors import StateConflict
from bridge.versions.registry import DiscardOutcome
from tests.versions.version_store import START, VersionStore, version

HOUR = 3_600_000_000


def discard(version_store: VersionStore, name: str, *tags: str, reason: str = "gone") -> DiscardOutcome:
    with version_store.registry.transaction():
        versions = [version_store.registry.versions.find(version_store.id(name), tag) for tag in tags]
        return version_store.registry.discard(version_store.id(name), versions, reason, "ann")


def unreadable_reasons(version_store: VersionStore, name: str, *tags: str) -> list[str | None]:
    return [version_store.registry.versions.find(version_store.id(name), tag).unreadable_reason() for tag in tags]


def test_discarded_versions_are_unreadable(version_store: VersionStore) -> None:
    outcome = discard(version_store, "items", "i1", "i2")
    assert ([version.tag for version in outcome.discarded], outcome.retained) == (["i1", "i2"], {})
    assert unreadable_reasons(version_store, "items", "i1", "i2", "i3") == ["it is marked invalid: gone"] * 2 + [None]
    with pytest.raises(StateConflict, match="gone"):
        version_store.publish(items="i1")


def test_published_and_pinned_versions_are_retained_with_reasons(version_store: VersionStore) -> None:
    version_store.publish(items="i1")
    version_store.pin("january", until=START + HOUR, items="i1")
    version_store.pin("audit", until=START + HOUR, items="i2")
    outcome = discard(version_store, "items", "i1", "i2", "i3")
    assert [version.tag for version in outcome.discarded] == ["i3"]
    assert outcome.retained == {"i1": ["published", "pinned as january"], "i2": ["pinned as audit"]}
    assert unreadable_reasons(version_store, "items", "i1", "i2") == [None, None]
    version_store.now += HOUR
    assert discard(version_store, "items", "i2").retained == {}, "an expired pin retains nothing"


def test_repeated_discard_keeps_the_first_reason(version_store: VersionStore) -> None:
    version_store.invalidate("items", "i1", reason="wrong rates")
    for reason in ("gone", "gone again"):
        outcome = discard(version_store, "items", "i1", "i2", reason=reason)
        assert [version.tag for version in outcome.discarded] == ["i1", "i2"]
    assert unreadable_reasons(version_store, "items", "i1", "i2") == [
        "it is marked invalid: wrong rates",
        "it is marked invalid: gone",
    ]


def test_version_with_an_invalid_partition_is_discarded(version_store: VersionStore) -> None:
    version_store.write(version("sales", "s1", 21, days=["mon", "tue"]))
    version_store.invalidate("sales", "s1", "day=mon", "cut off")
    discard(version_store, "sales", "s1")
    assert unreadable_reasons(version_store, "sales", "s1") == ["it is marked invalid: gone"]


@pytest.mark.parametrize(
    ("published", "retained"),
    [
        ([("a", ["mon", "tue"]), ("b", ["tue"])], ["a", "b"]),
        ([("a", ["mon"]), ("b", ["tue"]), ("c", ["mon", "tue"])], ["c"]),
        ([("a", ["mon", "tue"]), ("b", ["mon"]), ("c", ["tue"])], ["b", "c"]),
        ([("a", []), ("b", ["mon"]), ("c", ["mon"])], ["a", "c"]),
        ([("a", ["mon"]), ("b", []), ("c", ["mon"])], ["b", "c"]),
    ],
)
def test_version_whose_partitions_are_all_replaced_is_not_retained(
    version_store: VersionStore, published: list[tuple[str, list[str]]], retained: list[str]
) -> None:
    for number, (tag, days) in enumerate(published, 21):
        version_store.write(version("sales", tag, number, days=days))
        version_store.publish(sales=tag)
    partitions = [day for _, days in published for day in days]
    tags_read = {version_store.tag("sales", "published", f"day={day}") for day in partitions}
    assert tags_read <= set(retained)
    assert sorted(discard(version_store, "sales", *(tag for tag, _ in published)).retained) == retained
    assert {version_store.tag("sales", "published", f"day={day}") for day in partitions} == tags_read
