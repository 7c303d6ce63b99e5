"""Resolving versions: by decision, by time and by name, and how unreadable versions are handled."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bridge.errors import InvalidParameter, NotFound, StateConflict
from bridge.versions.resolver import VersionRequest
from tests import factories as make
from tests.factories import at, run_uuid
from tests.versions.version_store import START, VersionStore, version

SECOND = 1_000_000


def utc(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


@pytest.mark.parametrize(
    ("pin", "options", "tag", "by"),
    [
        ("published", {}, "i2", "published"),
        ("latest", {}, "i3", "latest"),
        ("i1", {}, "i1", "version"),
        ("version:i1", {}, "i1", "version"),
        ("audit", {}, "i1", "pin"),
        ("pin:audit", {}, "i1", "pin"),
        ("i3", {}, "i3", "version"),
        ("pin:i3", {}, "i2", "pin"),
        (f"as_of:{at(12)}", {}, "i2", "latest"),
        ("latest", {"as_of": utc(make.micros(11.5))}, "i1", "latest"),
        ("published", {"as_of": utc(START + 15 * SECOND)}, "i3", "published"),
        ("published", {"as_of": utc(START + 20 * SECOND)}, "i2", "published"),
        ("published", {"as_of": utc(START + 10 * SECOND).replace(tzinfo=None)}, "i3", "published"),
    ],
)
def test_selector_resolves_to_a_version(
    version_store: VersionStore, pin: str, options: dict[str, Any], tag: str, by: str
) -> None:
    for second, published in ((10, "i3"), (20, "i2")):
        version_store.now = START + second * SECOND
        version_store.publish(items=published)
    version_store.pin("audit", until=START + 60 * SECOND, items="i1")
    version_store.pin("i3", until=START + 60 * SECOND, items="i2")
    resolution = version_store.resolve("items", pin, **options)
    assert (resolution.version.tag, resolution.resolved_by) == (tag, by)


@pytest.mark.parametrize(
    ("pin", "options", "error", "message"),
    [
        ("nothing", {}, NotFound, "no version 'nothing' of the dataset in the store, and no pin of that name"),
        ("version:audit", {}, NotFound, "no version 'audit'"),
        ("pin:i1", {}, NotFound, "no pin 'i1'"),
        ("", {}, InvalidParameter, "empty"),
        ("as_of:yesterday", {}, InvalidParameter, "'yesterday' is not a time"),
        ("i1", {"as_of": utc(START)}, InvalidParameter, "as_of: requires pin=published or pin=latest"),
        ("latest", {"as_of": utc(START)}, NotFound, "at that time"),
        ("published", {"as_of": utc(START - 1)}, NotFound, "is published at that time"),
        (f"as_of:{at(5)}", {}, NotFound, "at that time"),
    ],
)
def test_unresolvable_selector_is_reported(
    version_store: VersionStore, pin: str, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    version_store.publish(items="i1")
    version_store.pin("audit", until=START + SECOND, items="i1")
    with pytest.raises(error, match=message):
        version_store.resolve("items", pin, **options)


def test_latest_version_is_of_a_complete_run(version_store: VersionStore) -> None:
    assert version_store.tag("orders", "latest") == "o2"


def test_attempts_count_as_one_version(version_store: VersionStore) -> None:
    """A completion may be repeated, and by any attempt: there is one version, that of the first attempt."""
    attempts = [version("sums", None, number, key="2026-01-31", second=number) for number in (21, 22, 22, 23)]
    version_store.write(*attempts, *attempts[::-1])
    (attempt,) = version_store.registry.versions.list_newest(version_store.id("sums"))
    assert (attempt.run_uuid, attempt.key) == (run_uuid(21), "2026-01-31")
    assert [version_store.tag("sums", name) for name in (run_uuid(22), run_uuid(23), "2026-01-31")] == [
        run_uuid(21)
    ] * 3


def test_published_version_stays_when_an_earlier_attempt_arrives(version_store: VersionStore) -> None:
    version_store.write(version("sums", None, 22, key="k", second=22))
    version_store.publish(sums="latest")
    version_store.write(version("sums", None, 21, key="k", second=21))
    assert (version_store.tag("sums"), version_store.tag("sums", "latest")) == (run_uuid(22), run_uuid(21))
    version_store.invalidate("sums", "k")
    with pytest.raises(StateConflict, match="invalid: bad"):
        version_store.resolve("sums")
    with pytest.raises(StateConflict, match="none of 1 version is valid"):
        version_store.resolve("sums", "latest")


@pytest.mark.parametrize("expected", ["s1", run_uuid(21)])
def test_version_that_is_renamed_later_stays_published(version_store: VersionStore, expected: str) -> None:
    version_store.write(version("sums", None, 21), version("sums", "s2", 22))
    version_store.publish(sums=run_uuid(21))
    version_store.write(version("sums", "s1", 21, "RUNNING", second=20))
    assert version_store.tag("sums") == "s1"
    version_store.publish(sums="s2", expected={"sums": expected})
    assert version_store.tag("sums") == "s2"


def test_versions_of_one_tag_are_distinguished_by_id(version_store: VersionStore) -> None:
    version_store.write(version("sums", "s1", 21, key="a"), version("sums", "s1", 22, key="b"))
    with pytest.raises(InvalidParameter, match="several versions are named 's1': specify one of"):
        version_store.resolve("sums", "s1")
    assert version_store.resolve("sums", "b").version.row_count == 22


def test_version_of_an_enclosed_action_is_rejected(version_store: VersionStore) -> None:
    version_store.write(*make.create_as_select())
    assert version_store.registry.versions.find(version_store.id("t"), run_uuid(1)).row_count == 2
    with pytest.raises(StateConflict, match="readers see the version of the enclosing run instead"):
        version_store.resolve("t", run_uuid(2))


def test_chosen_invalid_version_is_rejected_but_latest_skips_it(version_store: VersionStore) -> None:
    version_store.publish(items="i3")
    version_store.pin("audit", until=START + SECOND, items="i3")
    version_store.invalidate("items", "i3", reason="wrong rates")
    assert version_store.tag("items", "latest") == "i2"
    assert version_store.tag("items", f"as_of:{at(30)}") == "i2"
    with pytest.raises(
        StateConflict, match="the published version 'i3' must not be read: it is marked invalid: wrong rates"
    ):
        version_store.resolve("items")
    with pytest.raises(StateConflict, match="version 'i3', which 'audit' pins, must not be read"):
        version_store.resolve("items", "audit")
    assert version_store.resolve("items", "i3").version.invalid == {"": "wrong rates"}
    assert version_store.resolve("items", "i2").version.invalid == {}
    version_store.revoke("items", "i3")
    assert (
        version_store.tag("items"),
        version_store.tag("items", "latest"),
        version_store.tag("items", "audit"),
    ) == (
        "i3",
        "i3",
        "i3",
    )
    with pytest.raises(NotFound, match="version 'i3' is not marked invalid"):
        version_store.revoke("items", "i3")


def test_invalidation_is_revoked_from_any_attempt(version_store: VersionStore) -> None:
    version_store.write(version("sums", None, 22, key="k", second=22))
    version_store.invalidate("sums", "k")
    version_store.write(version("sums", None, 21, key="k", second=21))
    version_store.revoke("sums", "k")
    assert version_store.tag("sums", "latest") == run_uuid(21)


def test_published_version_whose_run_failed_later_is_rejected(version_store: VersionStore) -> None:
    version_store.publish(items="i3")
    version_store.write(version("items", "i3", 13, "FAIL", second=20))
    with pytest.raises(StateConflict, match=r"'i3' must not be read: its run .* is FAIL, not COMPLETE"):
        version_store.resolve("items")
    assert version_store.tag("items", "latest") == "i2"


def test_dataset_with_only_invalid_versions_is_reported(version_store: VersionStore) -> None:
    for tag in ("o1", "o2"):
        version_store.invalidate("orders", tag)
    with pytest.raises(
        StateConflict, match="none of 2 versions is valid, the latest is 'o2': it is marked invalid: bad"
    ):
        version_store.resolve("orders", "latest")


@pytest.mark.parametrize(
    ("namespace", "live"),
    [("postgres://db.example.com:5432", True), ("db2://x", True), ("jdbc:odd://x", True), ("s3://lake", False)],
)
def test_tables_updated_in_place_are_live(version_store: VersionStore, namespace: str, live: bool) -> None:
    version_store.write(version("t", "v1", 21, namespace=namespace))
    dataset = version_store.id("t", namespace)
    assert version_store.registry.resolver.is_live(dataset) is live


def test_dataset_id_is_the_same_for_all_names_and_in_advance(version_store: VersionStore) -> None:
    registry = version_store.registry
    early = registry.dataset_id("db", "later")
    version_store.write(version("later", "v1", 21))
    assert registry.dataset_id("db", "later") == early
    version_store.write(make.dataset_event(30, make.dataset("later", symlinks=make.symlinks("a.later"))))
    assert (
        registry.find_dataset_by_id(early) == version_store.id("a.later") == registry.dataset_id("db", "later").bytes
    )


def test_several_versions_are_resolved_from_one_snapshot(version_store: VersionStore) -> None:
    version_store.publish(orders="o1", items="i1")
    resolutions = version_store.registry.resolver.resolve_all(
        [VersionRequest(version_store.id("orders")), VersionRequest(version_store.id("items"))]
    )
    assert [resolution.version.tag for resolution in resolutions] == ["o1", "i1"]
