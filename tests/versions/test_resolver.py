"""Which version is meant: by what was decided, by time, by name; and what becomes of versions that are not to be read."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bridge.errors import InvalidParameter, NotFound, StateConflict
from bridge.versions.resolver import VersionRequest
from tests import factories as make
from tests.factories import at, run_uuid
from tests.versions.version_store import START, Shelf, version

SECOND = 1_000_000


def moment(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


@pytest.mark.parametrize(
    ("pin", "more", "tag", "by"),
    [
        ("published", {}, "i2", "published"),
        ("latest", {}, "i3", "latest"),
        ("i1", {}, "i1", "version"),
        ("version:i1", {}, "i1", "version"),
        ("kept", {}, "i1", "pin"),
        ("pin:kept", {}, "i1", "pin"),
        ("i3", {}, "i3", "version"),
        ("pin:i3", {}, "i2", "pin"),
        (f"as_of:{at(12)}", {}, "i2", "latest"),
        ("latest", {"as_of": moment(make.micros(11.5))}, "i1", "latest"),
        ("published", {"as_of": moment(START + 15 * SECOND)}, "i3", "published"),
        ("published", {"as_of": moment(START + 20 * SECOND)}, "i2", "published"),
        ("published", {"as_of": moment(START + 10 * SECOND).replace(tzinfo=None)}, "i3", "published"),
    ],
)
def test_a_version_is_chosen(shelf: Shelf, pin: str, more: dict[str, Any], tag: str, by: str) -> None:
    for second, published in ((10, "i3"), (20, "i2")):
        shelf.now = START + second * SECOND
        shelf.publish(items=published)
    shelf.pin("kept", until=START + 60 * SECOND, items="i1")
    shelf.pin("i3", until=START + 60 * SECOND, items="i2")
    found = shelf.resolve("items", pin, **more)
    assert (found.version.tag, found.resolved_by) == (tag, by)


@pytest.mark.parametrize(
    ("pin", "more", "error", "refusal"),
    [
        ("nothing", {}, NotFound, "no version 'nothing' of the dataset in the store, and no pin of that name"),
        ("version:kept", {}, NotFound, "no version 'kept'"),
        ("pin:i1", {}, NotFound, "no pin 'i1'"),
        ("", {}, InvalidParameter, "empty"),
        ("as_of:yesterday", {}, InvalidParameter, "'yesterday' is not a time"),
        ("i1", {"as_of": moment(START)}, InvalidParameter, "as_of: requires pin=published or pin=latest"),
        ("latest", {"as_of": moment(START)}, NotFound, "at that time"),
        ("published", {"as_of": moment(START - 1)}, NotFound, "is published at that time"),
        (f"as_of:{at(5)}", {}, NotFound, "at that time"),
    ],
)
def test_what_there_is_no_version_for_is_told(
    shelf: Shelf, pin: str, more: dict[str, Any], error: type[Exception], refusal: str
) -> None:
    shelf.publish(items="i1")
    shelf.pin("kept", until=START + SECOND, items="i1")
    with pytest.raises(error, match=refusal):
        shelf.resolve("items", pin, **more)


def test_the_latest_is_that_of_a_run_that_is_complete(shelf: Shelf) -> None:
    assert shelf.tag("orders", "latest") == "o2"


def test_attempts_at_one_version_are_one(shelf: Shelf) -> None:
    """However often a completion is repeated, by whichever attempt: one version, made by the first."""
    attempts = [version("sums", None, number, key="2026-01-31", second=number) for number in (21, 22, 22, 23)]
    shelf.write(*attempts, *attempts[::-1])
    (one,) = shelf.registry.versions.list_newest(shelf.id("sums"))
    assert (one.run_uuid, one.key) == (run_uuid(21), "2026-01-31")
    assert [shelf.tag("sums", name) for name in (run_uuid(22), run_uuid(23), "2026-01-31")] == [run_uuid(21)] * 3


def test_what_was_published_stays_so_when_an_earlier_attempt_becomes_known(shelf: Shelf) -> None:
    shelf.write(version("sums", None, 22, key="k", second=22))
    shelf.publish(sums="latest")
    shelf.write(version("sums", None, 21, key="k", second=21))
    assert (shelf.tag("sums"), shelf.tag("sums", "latest")) == (run_uuid(22), run_uuid(21))
    shelf.invalidate("sums", "k")
    with pytest.raises(StateConflict, match="invalid: bad"):
        shelf.resolve("sums")
    with pytest.raises(StateConflict, match="all 1 versions are invalid"):
        shelf.resolve("sums", "latest")


@pytest.mark.parametrize("expected", ["s1", run_uuid(21)])
def test_a_version_that_is_renamed_later_stays_published(shelf: Shelf, expected: str) -> None:
    shelf.write(version("sums", None, 21), version("sums", "s2", 22))
    shelf.publish(sums=run_uuid(21))
    shelf.write(version("sums", "s1", 21, "RUNNING", second=20))
    assert shelf.tag("sums") == "s1"
    shelf.publish(sums="s2", expected={"sums": expected})
    assert shelf.tag("sums") == "s2"


def test_several_versions_of_one_tag_are_told_apart_by_their_ids(shelf: Shelf) -> None:
    shelf.write(version("sums", "s1", 21, key="a"), version("sums", "s1", 22, key="b"))
    with pytest.raises(InvalidParameter, match="several versions are named 's1': specify one of"):
        shelf.resolve("sums", "s1")
    assert shelf.resolve("sums", "b").version.row_count == 22


def test_a_version_that_lies_within_another_is_told(shelf: Shelf) -> None:
    shelf.write(*make.create_as_select())
    assert shelf.registry.versions.find(shelf.id("t"), run_uuid(1)).row_count == 2
    with pytest.raises(StateConflict, match="readers see the version of the enclosing run instead"):
        shelf.resolve("t", run_uuid(2))


def test_what_somebody_chose_is_refused_and_what_nobody_chose_is_passed_over(shelf: Shelf) -> None:
    shelf.publish(items="i3")
    shelf.pin("kept", until=START + SECOND, items="i3")
    shelf.invalidate("items", "i3", reason="wrong rates")
    assert shelf.tag("items", "latest") == "i2"
    assert shelf.tag("items", f"as_of:{at(30)}") == "i2"
    with pytest.raises(
        StateConflict, match="the published version 'i3' must not be read: it is marked invalid: wrong rates"
    ):
        shelf.resolve("items")
    with pytest.raises(StateConflict, match="version 'i3', which 'kept' pins, must not be read"):
        shelf.resolve("items", "kept")
    assert shelf.resolve("items", "i3").version.invalid == {"": "wrong rates"}
    assert shelf.resolve("items", "i2").version.invalid == {}
    shelf.lift("items", "i3")
    assert (shelf.tag("items"), shelf.tag("items", "latest"), shelf.tag("items", "kept")) == ("i3", "i3", "i3")
    with pytest.raises(NotFound, match="version 'i3' is not marked invalid"):
        shelf.lift("items", "i3")


def test_a_mark_is_lifted_whichever_attempt_bears_it(shelf: Shelf) -> None:
    shelf.write(version("sums", None, 22, key="k", second=22))
    shelf.invalidate("sums", "k")
    shelf.write(version("sums", None, 21, key="k", second=21))
    shelf.lift("sums", "k")
    assert shelf.tag("sums", "latest") == run_uuid(21)


def test_a_published_version_whose_run_failed_since_is_refused(shelf: Shelf) -> None:
    shelf.publish(items="i3")
    shelf.write(version("items", "i3", 13, "FAIL", second=20))
    with pytest.raises(StateConflict, match=r"'i3' must not be read: its run .* is FAIL, not COMPLETE"):
        shelf.resolve("items")
    assert shelf.tag("items", "latest") == "i2"


def test_what_is_all_invalid_is_told(shelf: Shelf) -> None:
    for tag in ("o1", "o2"):
        shelf.invalidate("orders", tag)
    with pytest.raises(StateConflict, match="all 2 versions are invalid, the latest 'o2': it is marked invalid: bad"):
        shelf.resolve("orders", "latest")


@pytest.mark.parametrize(
    ("namespace", "live"),
    [("postgres://db.example.com:5432", True), ("db2://x", True), ("jdbc:odd://x", True), ("s3://lake", False)],
)
def test_tables_that_change_where_they_lie_are_marked_so(shelf: Shelf, namespace: str, live: bool) -> None:
    shelf.write(version("t", "v1", 21, namespace=namespace))
    dataset = shelf.id("t", namespace)
    assert shelf.registry.resolver.is_live(dataset) is live


def test_an_id_is_the_same_under_every_name_and_before_it_is_known(shelf: Shelf) -> None:
    registry = shelf.registry
    early = registry.dataset_id("db", "later")
    shelf.write(version("later", "v1", 21))
    assert registry.dataset_id("db", "later") == early
    shelf.write(make.dataset_event(30, make.dataset("later", symlinks=make.symlinks("a.later"))))
    assert registry.find_dataset_by_id(early) == shelf.id("a.later") == registry.dataset_id("db", "later").bytes


def test_several_are_resolved_of_one_state(shelf: Shelf) -> None:
    shelf.publish(orders="o1", items="i1")
    found = shelf.registry.resolver.resolve_all(
        [VersionRequest(shelf.id("orders")), VersionRequest(shelf.id("items"))]
    )
    assert [one.version.tag for one in found] == ["o1", "i1"]
