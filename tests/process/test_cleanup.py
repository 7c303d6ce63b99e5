"""Clean-up of old versions: removed and kept ones, with reasons."""

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
from tests.process.process_lake import NOW, ProcessHarness

OLD = [f"202601{day:02d}T060000-0000000{day % 10}" for day in range(1, 7)]
RECENT = "20260131T060000-00000009"
ACTIVE = "20260201T050000-00000008"
FAR_FUTURE = datetime(2099, 1, 1, tzinfo=UTC)
NEWEST = "one of the newest 1"


class InterruptedBackend:
    """A backend with an action before versions are discarded."""

    def __init__(self, backend: ProcessBackend, before: Callable[[], None]) -> None:
        self._backend = backend
        self._before = before

    def query(self, query: Query[Any]) -> Any:
        return self._backend.query(query)

    def execute(self, command: Command[Any]) -> Any:
        if isinstance(command, DiscardCommand):
            self._before()
        return self._backend.execute(command)

    def send_events(self, events: Sequence[bytes]) -> list[str]:
        return self._backend.send_events(events)

    def close(self) -> None:
        """No resources."""


def cleaner(
    harness: ProcessHarness, keep: int = 1, days: float = 7, backend: ProcessBackend | None = None
) -> VersionCleaner:
    return VersionCleaner(backend or harness.backend, harness.storage, RetentionPolicy(keep, days), NOW)


def clean(
    harness: ProcessHarness,
    keep: int = 1,
    days: float = 7,
    *,
    dry_run: bool = False,
    backend: ProcessBackend | None = None,
) -> CleanupResult:
    return cleaner(harness, keep, days, backend).clean(location_from_path(harness.path("d")), dry_run=dry_run)


def write_versions(harness: ProcessHarness, *tags: str) -> None:
    for number, tag in enumerate(tags, 1):
        harness.write_version("d", tag, number)


def folders(harness: ProcessHarness) -> list[str]:
    return sorted(folder.name.removeprefix("_version=") for folder in (harness.lake / "d").iterdir())


def pin(harness: ProcessHarness, tag: str) -> None:
    item = PinItem(namespace="file", name=harness.path("d"), version=tag)
    harness.backend.execute(PinCommand(pin="audit", until=FAR_FUTURE, datasets=[item]))


def invalid_reason(harness: ProcessHarness, tag: str) -> str | None:
    return harness.backend.query(
        ResolveVersionQuery(namespace="file", name=harness.path("d"), pin=f"version:{tag}")
    ).invalid


def unfinished_run(harness: ProcessHarness, tag: str) -> None:
    """Create the folder of an unfinished run."""
    path = harness.lake / "d" / f"_version={tag}"
    path.mkdir(parents=True)
    (path / "part-0.parquet").write_bytes(b"rows")


def test_keeps_published_and_newest_versions(harness: ProcessHarness) -> None:
    write_versions(harness, *OLD[:4])
    harness.publish("d", OLD[0])
    result = clean(harness, keep=2)
    assert result.removed == [OLD[1]]
    assert result.kept == {OLD[0]: "published", OLD[2]: "one of the newest 2", OLD[3]: "one of the newest 2"}
    assert folders(harness) == [OLD[0], OLD[2], OLD[3]]
    assert invalid_reason(harness, OLD[1]) == "its files were removed on 2026-02-01"
    assert [invalid_reason(harness, tag) for tag in result.kept] == [None] * 3
    assert clean(harness, keep=2).removed == [], "nothing is left to remove"


def test_dry_run_removes_nothing(harness: ProcessHarness) -> None:
    write_versions(harness, *OLD[:3])
    dry = clean(harness, dry_run=True)
    assert (dry.removed, folders(harness)) == (OLD[:2], OLD[:3])
    assert [invalid_reason(harness, tag) for tag in OLD[:3]] == [None] * 3
    assert clean(harness) == dry


def test_keeps_recent_versions_and_folders(harness: ProcessHarness) -> None:
    write_versions(harness, OLD[0], RECENT, OLD[1])
    unfinished_run(harness, ACTIVE)
    result = clean(harness)
    assert result.removed == [OLD[0]]
    assert result.kept == {OLD[1]: "published", RECENT: "younger than 7 days", ACTIVE: "younger than 7 days"}


def test_keeps_folder_of_possibly_active_run(harness: ProcessHarness) -> None:
    write_versions(harness, RECENT, OLD[1])
    unfinished_run(harness, ACTIVE)
    result = clean(harness, days=0)
    assert (result.removed, result.kept[ACTIVE]) == ([RECENT], "a run may still be writing it")


def test_removes_folders_of_failed_runs_but_no_other_folders(harness: ProcessHarness) -> None:
    write_versions(harness, OLD[1])
    harness.write_version("d", OLD[2], 7, kind="FAIL", publish=False)
    unfinished_run(harness, OLD[3])
    unfinished_run(harness, "2026-01-01")
    (harness.lake / "d" / "other").mkdir()
    result = clean(harness)
    assert result.removed == [OLD[2], OLD[3]]
    assert result.kept == {OLD[1]: "published", "2026-01-01": "name does not start with a time"}
    assert (harness.lake / "d" / "other").is_dir()


def test_keeps_pinned_version_until_pin_expires(harness: ProcessHarness) -> None:
    write_versions(harness, *OLD[:3])
    pin(harness, OLD[0])
    result = clean(harness)
    assert (result.removed, result.kept[OLD[0]]) == ([OLD[1]], "pinned as audit")
    harness.store.db.execute("UPDATE pin SET expires_at = 1")
    assert clean(harness).removed == [OLD[0]]
    assert folders(harness) == [OLD[2]]


def write_appended_versions(harness: ProcessHarness, *tags: str, publish: bool = True) -> None:
    """Write versions that also consist of the files of all previous ones."""
    roots: list[VersionRoot] = []
    for number, tag in enumerate(tags, 1):
        roots = [*roots, VersionRoot(f"{harness.path('d')}/_version={tag}", tag, f"key of {tag}")]
        harness.write_version("d", tag, number, roots=roots, publish=publish)


def test_keeps_parts_of_kept_versions(harness: ProcessHarness) -> None:
    write_appended_versions(harness, *OLD[:3])
    parts = [OLD[0], OLD[1]]
    result = clean(harness)
    assert (result.removed, result.kept) == (
        [],
        {OLD[2]: "published", **dict.fromkeys(parts, f"part of {OLD[2]}")},
    )
    harness.write_version("d", OLD[3], 9)
    assert clean(harness).removed == OLD[:3]


def test_keeps_parts_of_recent_unfinished_run(harness: ProcessHarness) -> None:
    write_versions(harness, OLD[0], OLD[1])
    part = VersionRoot(f"{harness.path('d')}/_version={OLD[0]}", OLD[0], "k")
    harness.write_version("d", ACTIVE, 9, roots=[part], publish=False, kind="START")
    assert clean(harness).kept[OLD[0]] == f"part of {ACTIVE}"


@pytest.mark.parametrize("reason", [None, "wrong rates"])
def test_keeps_version_and_parts_pinned_during_cleanup(harness: ProcessHarness, reason: str | None) -> None:
    write_appended_versions(harness, OLD[0], OLD[1])
    harness.write_version("d", OLD[2], 5)
    harness.write_version("d", OLD[3], 6)
    dataset = {"namespace": "file", "name": harness.path("d")}
    if reason:
        harness.backend.execute(InvalidateCommand(**dataset, version=OLD[0], reason=reason))
    result = clean(harness, backend=InterruptedBackend(harness.backend, lambda: pin(harness, OLD[1])))
    assert result.removed == [OLD[2]]
    assert result.kept == {OLD[0]: f"part of {OLD[1]}", OLD[1]: "pinned as audit", OLD[3]: "published"}
    assert [invalid_reason(harness, tag) for tag in OLD[:2]] == [reason, None], "kept versions remain readable"


def test_keeps_version_published_during_cleanup(harness: ProcessHarness) -> None:
    write_versions(harness, *OLD[:3])
    result = clean(harness, backend=InterruptedBackend(harness.backend, lambda: harness.publish("d", OLD[0])))
    assert (result.removed, result.kept[OLD[0]]) == ([OLD[1]], "published")


def test_error_before_discarding_removes_nothing(harness: ProcessHarness) -> None:
    write_versions(harness, *OLD[:3])

    def fail() -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        clean(harness, backend=InterruptedBackend(harness.backend, fail))
    assert folders(harness) == OLD[:3]


def test_next_cleanup_completes_failed_removal(harness: ProcessHarness) -> None:
    write_versions(harness, *OLD[:4])

    class FailingFileSystem(LocalFileSystem):
        def delete(self, path: str) -> None:
            if path.endswith(OLD[1]):
                (Path(path) / "part-0.parquet").unlink()
                raise OSError("gone away")
            super().delete(path)

    class FailingFileSystems(FileSystems):
        def for_path(self, path: str) -> LocalFileSystem:
            return FailingFileSystem()

    failing_cleaner = VersionCleaner(
        harness.backend, FailingFileSystems(harness.storage._remote._session), RetentionPolicy(1, 7), NOW
    )
    with pytest.raises(OSError, match="gone away"):
        failing_cleaner.clean(location_from_path(harness.path("d")), dry_run=False)
    assert [invalid_reason(harness, tag) for tag in OLD[:3]] == ["its files were removed on 2026-02-01"] * 3
    assert clean(harness).removed == [OLD[1], OLD[2]]
    assert folders(harness) == [OLD[3]]


def test_reads_versions_of_all_pages(harness: ProcessHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.process.cleanup._PAGE", 2)
    write_versions(harness, *OLD)
    harness.publish("d", OLD[0])
    assert clean(harness).removed == OLD[1:5]
    assert all(invalid_reason(harness, tag) for tag in OLD[1:5])


def test_invalid_versions_do_not_count_as_newest(harness: ProcessHarness) -> None:
    write_versions(harness, *OLD[:3])
    harness.publish("d", OLD[0])
    dataset = {"namespace": "file", "name": harness.path("d")}
    harness.backend.execute(InvalidateCommand(**dataset, version=OLD[2], reason="wrong rates"))
    result = clean(harness)
    assert (result.removed, result.kept) == ([OLD[2]], {OLD[0]: "published", OLD[1]: NEWEST})
    assert invalid_reason(harness, OLD[2]) == "wrong rates", "the first reason is kept"


def test_removed_version_can_be_rebuilt(harness: ProcessHarness) -> None:
    (harness.lake / "raw").mkdir(parents=True)
    (harness.lake / "raw" / "a").write_bytes(b"1")
    text = "inputs: [{dataset: raw, as: raw, format: csv, pin: live}]\noutputs: [{dataset: d, from: raw}]\n"
    key = harness.plan(text).outputs[0].key
    harness.write_version("d", OLD[0], 20, key=key)
    assert harness.plan(text).outputs[0].existing_version == OLD[0]
    harness.write_version("d", OLD[1], 21)
    clean(harness)
    (rebuilt,) = harness.plan(text).outputs
    assert (rebuilt.existing_version, rebuilt.key) == (None, f"{key}~2")
    harness.write_version("d", OLD[2], 22, key=rebuilt.key)
    assert harness.plan(text).outputs[0].existing_version == OLD[2]


def test_dataset_without_versions_is_an_error(harness: ProcessHarness) -> None:
    with pytest.raises(ConfigError, match="no version folders of processes at"):
        clean(harness)


def test_removes_folders_of_unknown_dataset(harness: ProcessHarness) -> None:
    unfinished_run(harness, OLD[0])
    unfinished_run(harness, RECENT)
    assert clean(harness).removed == [OLD[0]]


@pytest.fixture
def run_clean(tmp_path: Path, restore_logging: None) -> Callable[..., Any]:
    """Run `process clean` on a lake with folders of two failed runs and a possibly active one."""
    for tag in (*OLD[:2], f"{datetime.now(UTC):%Y%m%dT%H%M%S}-00000009"):
        (tmp_path / "lake" / "d" / f"_version={tag}").mkdir(parents=True)
    env = {
        "LINEAGE_BRIDGE__STORE__URL": create_store(tmp_path),
        "LINEAGE_BRIDGE__PROCESS__LAKE": str(tmp_path / "lake"),
    }
    return lambda *args: CliRunner(env=env).invoke(app, ["process", "clean", *args], catch_exceptions=False)


def test_command_output(run_clean: Callable[..., Any], tmp_path: Path) -> None:
    dry = run_clean("d", "--dry-run").stdout.splitlines()
    assert dry[:3] == [f"{tmp_path}/lake/d: 2 would be removed, 1 kept"] + [
        f"  would be removed  {tag}" for tag in OLD[:2]
    ]
    output = json.loads(run_clean("d", "--days", "0", "--output", "json").stdout)
    (cleaned,) = output["datasets"]
    assert cleaned["removed"] == OLD[:2]
    assert list(cleaned["kept"].values()) == ["a run may still be writing it"]
    assert len(list((tmp_path / "lake" / "d").iterdir())) == 1


def test_command_removes_nothing_if_a_dataset_is_missing(run_clean: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no version folders of processes"):
        run_clean("d", "dd")
    assert len(list((tmp_path / "lake" / "d").iterdir())) == 3
