"""What clean-up removes, what it keeps and why; whoever reads what is kept finds all of it."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bridge.cli.main import app
from bridge.process.backend import ProcessBackend
from bridge.process.cleanup import CleanupResult, RetentionPolicy, VersionCleaner
from bridge.process.dataset_location import location_from_path
from bridge.process.manifest import VersionRoot
from bridge.queries.query import Query
from bridge.queries.versions import ResolveVersionQuery
from bridge.versions.command import Command
from bridge.versions.version_commands import DiscardCommand, InvalidateCommand, PinCommand, PinItem
from connectors.errors import ConfigError
from connectors.spark.file_system import FileSystems, LocalFileSystem
from tests.commands import create_store
from tests.process.process_lake import NOW, Workshop

OLD = [f"202601{day:02d}T060000-0000000{day % 10}" for day in range(1, 7)]
YOUNG = "20260131T060000-00000009"
NOW_RUNNING = "20260201T050000-00000008"
FAR = datetime(2099, 1, 1, tzinfo=UTC)
NEWEST = "one of the newest 1"


class Between:
    """A link that does something before versions are discarded, or fails then."""

    def __init__(self, link: ProcessBackend, before: Callable[[], None]) -> None:
        self._link = link
        self._before = before

    def query(self, question: Query[Any]) -> Any:
        return self._link.query(question)

    def execute(self, order: Command[Any]) -> Any:
        if isinstance(order, DiscardCommand):
            self._before()
        return self._link.execute(order)

    def send_events(self, events: Sequence[bytes]) -> list[str]:
        return self._link.send_events(events)

    def close(self) -> None:
        """Nothing is held."""


def cleaner(workshop: Workshop, keep: int = 1, days: float = 7, link: ProcessBackend | None = None) -> VersionCleaner:
    return VersionCleaner(link or workshop.link, workshop.storage, RetentionPolicy(keep, days), NOW)


def clean(
    workshop: Workshop, keep: int = 1, days: float = 7, *, dry: bool = False, link: ProcessBackend | None = None
) -> CleanupResult:
    return cleaner(workshop, keep, days, link).clean(location_from_path(workshop.path("d")), dry_run=dry)


def versions(workshop: Workshop, *tags: str) -> None:
    for number, tag in enumerate(tags, 1):
        workshop.version("d", tag, number)


def folders(workshop: Workshop) -> list[str]:
    return sorted(one.name.removeprefix("_version=") for one in (workshop.lake / "d").iterdir())


def pin(workshop: Workshop, tag: str) -> None:
    one = PinItem(namespace="file", name=workshop.path("d"), version=tag)
    workshop.link.execute(PinCommand(pin="audit", until=FAR, datasets=[one]))


def fault(workshop: Workshop, tag: str) -> str | None:
    return workshop.link.query(
        ResolveVersionQuery(namespace="file", name=workshop.path("d"), pin=f"version:{tag}")
    ).invalid


def folder(workshop: Workshop, tag: str) -> None:
    """Leave what a run leaves that never came to an end."""
    place = workshop.lake / "d" / f"_version={tag}"
    place.mkdir(parents=True)
    (place / "part-0.parquet").write_bytes(b"rows")


def test_what_is_published_and_the_newest_stay(workshop: Workshop) -> None:
    versions(workshop, *OLD[:4])
    workshop.publish("d", OLD[0])
    found = clean(workshop, keep=2)
    assert found.removed == [OLD[1]]
    assert found.kept == {OLD[0]: "published", OLD[2]: "one of the newest 2", OLD[3]: "one of the newest 2"}
    assert folders(workshop) == [OLD[0], OLD[2], OLD[3]]
    assert fault(workshop, OLD[1]) == "its files were removed on 2026-02-01"
    assert [fault(workshop, one) for one in found.kept] == [None] * 3
    assert clean(workshop, keep=2).removed == [], "there is nothing left to clean"


def test_a_dry_run_tells_and_removes_nothing(workshop: Workshop) -> None:
    versions(workshop, *OLD[:3])
    dry = clean(workshop, dry=True)
    assert (dry.removed, folders(workshop)) == (OLD[:2], OLD[:3])
    assert [fault(workshop, one) for one in OLD[:3]] == [None] * 3
    assert clean(workshop) == dry


def test_what_is_young_stays_whatever_it_is(workshop: Workshop) -> None:
    versions(workshop, OLD[0], YOUNG, OLD[1])
    folder(workshop, NOW_RUNNING)
    found = clean(workshop)
    assert found.removed == [OLD[0]]
    assert found.kept == {OLD[1]: "published", YOUNG: "younger than 7 days", NOW_RUNNING: "younger than 7 days"}


def test_a_run_that_may_be_writing_is_left_alone_though_nothing_young_is_kept(workshop: Workshop) -> None:
    versions(workshop, YOUNG, OLD[1])
    folder(workshop, NOW_RUNNING)
    found = clean(workshop, days=0)
    assert (found.removed, found.kept[NOW_RUNNING]) == ([YOUNG], "may still be being written")


def test_what_failed_runs_left_goes_and_what_others_left_stays(workshop: Workshop) -> None:
    versions(workshop, OLD[1])
    workshop.version("d", OLD[2], 7, kind="FAIL", publish=False)
    folder(workshop, OLD[3])
    folder(workshop, "2026-01-01")
    (workshop.lake / "d" / "other").mkdir()
    found = clean(workshop)
    assert found.removed == [OLD[2], OLD[3]]
    assert found.kept == {OLD[1]: "published", "2026-01-01": "name does not start with a time"}
    assert (workshop.lake / "d" / "other").is_dir()


def test_a_pin_keeps_a_version_until_it_expires(workshop: Workshop) -> None:
    versions(workshop, *OLD[:3])
    pin(workshop, OLD[0])
    found = clean(workshop)
    assert (found.removed, found.kept[OLD[0]]) == ([OLD[1]], "pinned as audit")
    workshop.store.db.execute("UPDATE pin SET expires_at = 1")
    assert clean(workshop).removed == [OLD[0]]
    assert folders(workshop) == [OLD[2]]


def appended(workshop: Workshop, *tags: str, publish: bool = True) -> None:
    """Let each version be made of its own files and those of all before it."""
    roots: list[VersionRoot] = []
    for number, tag in enumerate(tags, 1):
        roots = [*roots, VersionRoot(f"{workshop.path('d')}/_version={tag}", tag, f"key of {tag}")]
        workshop.version("d", tag, number, roots=roots, publish=publish)


def test_parts_of_what_is_kept_are_kept(workshop: Workshop) -> None:
    appended(workshop, *OLD[:3])
    versions_before = [OLD[0], OLD[1]]
    found = clean(workshop)
    assert (found.removed, found.kept) == (
        [],
        {OLD[2]: "published", **dict.fromkeys(versions_before, f"part of {OLD[2]}")},
    )
    workshop.version("d", OLD[3], 9)
    assert clean(workshop).removed == OLD[:3]


def test_parts_of_a_young_folder_of_no_version_are_kept(workshop: Workshop) -> None:
    versions(workshop, OLD[0], OLD[1])
    part = VersionRoot(f"{workshop.path('d')}/_version={OLD[0]}", OLD[0], "k")
    workshop.version("d", NOW_RUNNING, 9, roots=[part], publish=False, kind="START")
    assert clean(workshop).kept[OLD[0]] == f"part of {NOW_RUNNING}"


@pytest.mark.parametrize("reason", [None, "wrong rates"])
def test_a_pin_that_comes_in_between_holds_its_version_and_all_parts_of_it(
    workshop: Workshop, reason: str | None
) -> None:
    appended(workshop, OLD[0], OLD[1])
    workshop.version("d", OLD[2], 5)
    workshop.version("d", OLD[3], 6)
    where = {"namespace": "file", "name": workshop.path("d")}
    if reason:
        workshop.link.execute(InvalidateCommand(**where, version=OLD[0], reason=reason))
    found = clean(workshop, link=Between(workshop.link, lambda: pin(workshop, OLD[1])))
    assert found.removed == [OLD[2]]
    assert found.kept == {OLD[0]: f"part of {OLD[1]}", OLD[1]: "pinned as audit", OLD[3]: "published"}
    assert [fault(workshop, one) for one in OLD[:2]] == [reason, None], "what is there may be read as before"


def test_a_publication_that_comes_in_between_holds_its_version(workshop: Workshop) -> None:
    versions(workshop, *OLD[:3])
    found = clean(workshop, link=Between(workshop.link, lambda: workshop.publish("d", OLD[0])))
    assert (found.removed, found.kept[OLD[0]]) == ([OLD[1]], "published")


def test_what_breaks_before_anything_is_given_up_removes_nothing(workshop: Workshop) -> None:
    versions(workshop, *OLD[:3])

    def broken() -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        clean(workshop, link=Between(workshop.link, broken))
    assert folders(workshop) == OLD[:3]


def test_what_breaks_while_files_are_removed_is_done_by_the_next(workshop: Workshop) -> None:
    versions(workshop, *OLD[:4])

    class Breaking(LocalFileSystem):
        def delete(self, path: str) -> None:
            if path.endswith(OLD[1]):
                (Path(path) / "part-0.parquet").unlink()
                raise OSError("gone away")
            super().delete(path)

    class Broken(FileSystems):
        def for_path(self, path: str) -> LocalFileSystem:
            return Breaking()

    broken = VersionCleaner(workshop.link, Broken(workshop.storage._remote._session), RetentionPolicy(1, 7), NOW)
    with pytest.raises(OSError, match="gone away"):
        broken.clean(location_from_path(workshop.path("d")), dry_run=False)
    assert [fault(workshop, one) for one in OLD[:3]] == ["its files were removed on 2026-02-01"] * 3
    assert clean(workshop).removed == [OLD[1], OLD[2]]
    assert folders(workshop) == [OLD[3]]


def test_many_versions_are_seen_on_all_pages(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.process.cleanup._PAGE", 2)
    versions(workshop, *OLD)
    workshop.publish("d", OLD[0])
    assert clean(workshop).removed == OLD[1:5]
    assert all(fault(workshop, one) for one in OLD[1:5])


def test_versions_that_are_not_to_be_read_are_not_counted_as_new(workshop: Workshop) -> None:
    versions(workshop, *OLD[:3])
    workshop.publish("d", OLD[0])
    where = {"namespace": "file", "name": workshop.path("d")}
    workshop.link.execute(InvalidateCommand(**where, version=OLD[2], reason="wrong rates"))
    found = clean(workshop)
    assert (found.removed, found.kept) == ([OLD[2]], {OLD[0]: "published", OLD[1]: NEWEST})
    assert fault(workshop, OLD[2]) == "wrong rates", "the reason is still the first"


def test_what_was_removed_is_made_again_when_it_is_wanted_again(workshop: Workshop) -> None:
    (workshop.lake / "raw").mkdir(parents=True)
    (workshop.lake / "raw" / "a").write_bytes(b"1")
    text = "inputs: [{dataset: raw, as: raw, format: csv, pin: live}]\noutputs: [{dataset: d, from: raw}]\n"
    key = workshop.plan(text).outputs[0].key
    workshop.version("d", OLD[0], 20, key=key)
    assert workshop.plan(text).outputs[0].existing_version == OLD[0]
    workshop.version("d", OLD[1], 21)
    clean(workshop)
    (again,) = workshop.plan(text).outputs
    assert (again.existing_version, again.key) == (None, f"{key}~2")
    workshop.version("d", OLD[2], 22, key=again.key)
    assert workshop.plan(text).outputs[0].existing_version == OLD[2]


def test_a_dataset_without_versions_is_told(workshop: Workshop) -> None:
    with pytest.raises(ConfigError, match="no version folders of processes at"):
        clean(workshop)


def test_a_dataset_that_nobody_told_of_has_folders_of_failed_runs_only(workshop: Workshop) -> None:
    folder(workshop, OLD[0])
    folder(workshop, YOUNG)
    assert clean(workshop).removed == [OLD[0]]


@pytest.fixture
def command(tmp_path: Path, restore_logging: None) -> Callable[..., Any]:
    """Clean a lake of one dataset with the folders of two failed runs, and of one that may be running."""
    for tag in (*OLD[:2], f"{datetime.now(UTC):%Y%m%dT%H%M%S}-00000009"):
        (tmp_path / "lake" / "d" / f"_version={tag}").mkdir(parents=True)
    env = {
        "LINEAGE_BRIDGE__STORE__URL": create_store(tmp_path),
        "LINEAGE_BRIDGE__PROCESS__LAKE": str(tmp_path / "lake"),
    }
    return lambda *words: CliRunner(env=env).invoke(app, ["process", "clean", *words], catch_exceptions=False)


def test_the_command_tells_what_became_of_every_folder(command: Callable[..., Any], tmp_path: Path) -> None:
    dry = command("d", "--dry-run").stdout.splitlines()
    assert dry[:3] == [f"{tmp_path}/lake/d: 2 would be removed, 1 kept"] + [
        f"  would be removed  {one}" for one in OLD[:2]
    ]
    done = json.loads(command("d", "--days", "0", "--output", "json").stdout)
    (cleaned,) = done["datasets"]
    assert cleaned["removed"] == OLD[:2]
    assert list(cleaned["kept"].values()) == ["may still be being written"]
    assert len(list((tmp_path / "lake" / "d").iterdir())) == 1


def test_a_dataset_that_is_not_there_lets_nothing_be_removed(command: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no version folders of processes"):
        command("d", "dd")
    assert len(list((tmp_path / "lake" / "d").iterdir())) == 3
