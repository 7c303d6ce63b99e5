"""Versions of partitions: which version each partition is read from, and the effect of invalidations."""

import pytest

from bridge.errors import NotFound, StateConflict
from mappers.openlineage.partitions import normalize_partition_key, partition_keys
from tests.factories import facet
from tests.stores import Json, as_bytes
from tests.versions.version_store import VersionStore, version

MON, TUE, WED = "day=mon", "day=tue", "day=wed"


@pytest.fixture
def days(version_store: VersionStore) -> VersionStore:
    """A version of all days, then one of two days, then one of a single day; each is published."""
    for number, (tag, *written_days) in enumerate((("all",), ("two", "mon", "tue"), ("one", "tue")), 21):
        version_store.write(version("sales", tag, number, days=written_days))
        version_store.publish(sales=tag)
    return version_store


@pytest.mark.parametrize("pin", ["published", "latest"])
def test_partition_is_read_from_the_last_version_that_wrote_it(days: VersionStore, pin: str) -> None:
    assert [days.tag("sales", pin, day) for day in ("", MON, TUE, WED)] == ["one", "two", "one", "all"]


def test_unpublished_version_is_not_read(days: VersionStore) -> None:
    days.write(version("sales", "bad", 24, days=["mon"]), version("sales", "next", 25, days=["wed"]))
    days.publish(sales="next")
    assert [days.tag("sales", "published", day) for day in (MON, TUE, WED)] == ["two", "one", "next"]
    assert [days.tag("sales", "latest", day) for day in (MON, TUE, WED)] == ["bad", "one", "next"]


def test_rollback_restores_previous_versions_of_partitions(days: VersionStore) -> None:
    days.roll_back("sales")
    assert [days.tag("sales", "published", day) for day in (MON, TUE)] == ["two", "two"]
    days.roll_back("sales")
    assert [days.tag("sales", "published", day) for day in (MON, TUE)] == ["all", "all"]


def test_single_partition_can_be_invalid(days: VersionStore) -> None:
    days.invalidate("sales", "two", MON, "cut off")
    assert [days.tag("sales", "latest", day) for day in (MON, TUE, WED)] == ["all", "one", "all"]
    with pytest.raises(
        StateConflict, match="the published version 'two' must not be read: it is marked invalid: cut off"
    ):
        days.resolve("sales", "published", MON)
    assert days.tag("sales", "published", TUE) == "one"
    assert days.resolve("sales", "two").version.invalid == {MON: "cut off"}
    days.revoke("sales", "two", MON)
    assert days.tag("sales", "published", MON) == "two"


def test_invalid_version_is_invalid_for_all_its_partitions(days: VersionStore) -> None:
    days.invalidate("sales", "one")
    assert (days.tag("sales", "latest", TUE), days.tag("sales", "latest", WED)) == ("two", "all")


@pytest.mark.parametrize(
    ("pin", "partition", "message"),
    [
        ("published", "day=sun", None),
        ("two", WED, "no partition 'day=wed' in version 'two'"),
        ("two", TUE, None),
    ],
)
def test_partition_must_be_part_of_the_version(
    days: VersionStore, pin: str, partition: str, message: str | None
) -> None:
    if message is None:
        days.resolve("sales", pin, partition)
        return
    with pytest.raises(NotFound, match=message):
        days.resolve("sales", pin, partition)


def test_partition_without_published_version_is_reported(version_store: VersionStore) -> None:
    version_store.write(version("sales", "one", 21, days=["tue"]))
    version_store.publish(sales="one")
    with pytest.raises(NotFound, match="no version of the partition 'day=mon' of the dataset is published"):
        version_store.resolve("sales", "published", MON)
    with pytest.raises(NotFound, match="no version with the partition 'day=mon'"):
        version_store.resolve("sales", "latest", MON)
    with pytest.raises(NotFound, match="no partition 'day=mon' in version 'one'"):
        version_store.invalidate("sales", "one", MON)


def test_versions_that_any_partition_is_read_from_are_retained(days: VersionStore) -> None:
    tags = {days.registry.versions.find(days.id("sales"), tag).id: tag for tag in ("all", "two", "one")}
    assert {tags[id_] for id_ in days.registry.retained_versions()} == {"all", "two", "one"}
    days.write(version("sales", "new", 25))
    days.publish(sales="new")
    assert [reasons for id_, reasons in days.registry.retained_versions().items() if id_ not in tags] == [
        ["published"]
    ]
    assert days.registry.retained_versions().keys().isdisjoint(tags)


def condition(**content: object) -> Json:
    return facet(outputCondition=content)


@pytest.mark.parametrize(
    ("subset", "partitions"),
    [
        (None, None),
        (condition(type="partition", partitions=[{"dimensions": {"day": "1", "a": "x"}}]), ("a=x/day=1",)),
        (condition(type="partition", partitions=[{"dimensions": {"a/b": "x=y%"}}]), ("a%2Fb=x%3Dy%25",)),
        (condition(type="partition", partitions=[{"dimensions": {"day": 1}}]), ("day=1",)),
        (
            condition(type="partition", partitions=[{"identifier": "day=2/a=1"}, {"identifier": "p0"}]),
            ("a=1/day=2", "p0"),
        ),
        (condition(type="location", locations=["/out/y/year=2024/month=02"]), ("month=02/year=2024",)),
        (condition(type="location", locations=["/out/y/year=2024/m=2/20240201"]), ("year=2024/m=2/20240201",)),
        (condition(type="location", locations=["/out/plain"]), ("%2Fout%2Fplain",)),
        (condition(type="compare", left={}, right={}), ()),
        (condition(type="partition", partitions=[1, {}, {"dimensions": {}}], locations="x"), ()),
        (facet(x=1), ()),
        (facet(outputCondition=7), ()),
    ],
)
def test_partitions_are_parsed_from_the_subset_facet(subset: Json | None, partitions: tuple[str, ...] | None) -> None:
    assert partition_keys(None if subset is None else as_bytes(subset).decode()) == partitions


@pytest.mark.parametrize("text", ["day=1/region=EU", "region=EU/day=1", "/region=EU//day=1/"])
def test_order_of_partition_keys_does_not_matter(text: str) -> None:
    assert normalize_partition_key(text) == "day=1/region=EU"


def test_empty_partition_is_rejected() -> None:
    with pytest.raises(ValueError, match="day=2026-01-31"):
        normalize_partition_key("//")
