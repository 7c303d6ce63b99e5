"""Partitions have versions of their own: what each is read of, and what becomes of those that are invalid."""

import pytest

from bridge.errors import NotFound, StateConflict
from mappers.openlineage.partitions import normalize_partition_key, partition_keys
from tests.factories import facet
from tests.stores import Json, as_bytes
from tests.versions.version_store import Shelf, version

MON, TUE, WED = "day=mon", "day=tue", "day=wed"


@pytest.fixture
def days(shelf: Shelf) -> Shelf:
    """All days, then two of them anew, then one of these again; all published in their order."""
    for number, (tag, *written) in enumerate((("all",), ("two", "mon", "tue"), ("one", "tue")), 21):
        shelf.write(version("sales", tag, number, days=written))
        shelf.publish(sales=tag)
    return shelf


@pytest.mark.parametrize("pin", ["published", "latest"])
def test_a_partition_is_read_of_the_last_version_that_wrote_it(days: Shelf, pin: str) -> None:
    assert [days.tag("sales", pin, day) for day in ("", MON, TUE, WED)] == ["one", "two", "one", "all"]


def test_what_was_never_published_is_not_read(days: Shelf) -> None:
    days.write(version("sales", "bad", 24, days=["mon"]), version("sales", "next", 25, days=["wed"]))
    days.publish(sales="next")
    assert [days.tag("sales", "published", day) for day in (MON, TUE, WED)] == ["two", "one", "next"]
    assert [days.tag("sales", "latest", day) for day in (MON, TUE, WED)] == ["bad", "one", "next"]


def test_a_rollback_takes_its_partitions_back(days: Shelf) -> None:
    days.roll_back("sales")
    assert [days.tag("sales", "published", day) for day in (MON, TUE)] == ["two", "two"]
    days.roll_back("sales")
    assert [days.tag("sales", "published", day) for day in (MON, TUE)] == ["all", "all"]


def test_a_partition_may_be_invalid_alone(days: Shelf) -> None:
    days.invalidate("sales", "two", MON, "cut off")
    assert [days.tag("sales", "latest", day) for day in (MON, TUE, WED)] == ["all", "one", "all"]
    with pytest.raises(
        StateConflict, match="the published version 'two' must not be read: it is marked invalid: cut off"
    ):
        days.resolve("sales", "published", MON)
    assert days.tag("sales", "published", TUE) == "one"
    assert days.resolve("sales", "two").version.invalid == {MON: "cut off"}
    days.lift("sales", "two", MON)
    assert days.tag("sales", "published", MON) == "two"


def test_a_version_that_is_invalid_is_so_for_all_its_partitions(days: Shelf) -> None:
    days.invalidate("sales", "one")
    assert (days.tag("sales", "latest", TUE), days.tag("sales", "latest", WED)) == ("two", "all")


@pytest.mark.parametrize(
    ("pin", "partition", "refusal"),
    [
        ("published", "day=sun", None),
        ("two", WED, "no partition 'day=wed' in version 'two'"),
        ("two", TUE, None),
    ],
)
def test_a_partition_must_be_in_the_version(days: Shelf, pin: str, partition: str, refusal: str | None) -> None:
    if refusal is None:
        days.resolve("sales", pin, partition)
        return
    with pytest.raises(NotFound, match=refusal):
        days.resolve("sales", pin, partition)


def test_a_partition_that_nothing_published_wrote_is_told(shelf: Shelf) -> None:
    shelf.write(version("sales", "one", 21, days=["tue"]))
    shelf.publish(sales="one")
    with pytest.raises(NotFound, match="no version of the partition 'day=mon' of the dataset is published"):
        shelf.resolve("sales", "published", MON)
    with pytest.raises(NotFound, match="no version with the partition 'day=mon'"):
        shelf.resolve("sales", "latest", MON)
    with pytest.raises(NotFound, match="no partition 'day=mon' in version 'one'"):
        shelf.invalidate("sales", "one", MON)


def test_what_is_read_of_any_partition_is_held(days: Shelf) -> None:
    tags = {days.registry.versions.find(days.id("sales"), tag).id: tag for tag in ("all", "two", "one")}
    assert {tags[id_] for id_ in days.registry.retained_versions()} == {"all", "two", "one"}
    days.write(version("sales", "new", 25))
    days.publish(sales="new")
    assert [why for id_, why in days.registry.retained_versions().items() if id_ not in tags] == [["published"]]
    assert days.registry.retained_versions().keys().isdisjoint(tags)


def condition(**of: object) -> Json:
    return facet(outputCondition=of)


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
def test_partitions_are_read_of_the_subset(subset: Json | None, partitions: tuple[str, ...] | None) -> None:
    assert partition_keys(None if subset is None else as_bytes(subset).decode()) == partitions


@pytest.mark.parametrize("text", ["day=1/region=EU", "region=EU/day=1", "/region=EU//day=1/"])
def test_the_order_of_a_partitions_names_tells_nothing(text: str) -> None:
    assert normalize_partition_key(text) == "day=1/region=EU"


def test_an_empty_partition_is_none() -> None:
    with pytest.raises(ValueError, match="day=2026-01-31"):
        normalize_partition_key("//")
