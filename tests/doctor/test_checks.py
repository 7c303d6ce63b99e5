"""Checks of file modes, clocks, disks and versions."""

import os
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from bridge.doctor import clock, config, software, storage
from bridge.doctor.finding import Finding
from bridge.settings.model import Settings
from bridge.store.sqlite import SqliteDatabase
from tests.api.service import create_store_file
from tests.factories import facet, micros, run_event
from tests.stores import Store

ROOT = Path(__file__).parents[2]
GB = 1_000_000_000


def finding_lines(findings: Iterator[Finding]) -> list[str]:
    return [str(finding) for finding in findings]


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.mark.parametrize(
    ("total", "free", "level"),
    [(100 * GB, 10 * GB, "ok"), (100 * GB, 9 * GB, "warning"), (5 * GB, GB, "ok"), (5 * GB, GB - 1, "warning"),
     (0, 0, "warning")],
)  # fmt: skip
def test_disk_below_10_percent_or_1_gb_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, total: int, free: int, level: str
) -> None:
    monkeypatch.setattr("bridge.doctor.storage.disk_usage", lambda _: Usage(total, total - free, free))
    (result,) = storage.check(tmp_path / "not" / "there" / "store.db", None)
    assert (result.level, str(tmp_path) in result.message) == (level, True)


def test_read_only_file_system_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = os.statvfs_result((*os.statvfs(tmp_path)[:8], os.ST_RDONLY, 255))
    monkeypatch.setattr("bridge.doctor.storage.os.statvfs", lambda _: flags)
    assert finding_lines(storage.check(tmp_path / "store.db", None))[0].startswith("error: disk: the file system of")


@pytest.mark.parametrize(("size_mb", "level"), [(8, "ok"), (10, "error")])
def test_store_at_its_size_limit_is_an_error(tmp_path: Path, size_mb: int, level: str) -> None:
    file = tmp_path / "store.db"
    with file.open("wb") as created:
        created.truncate(size_mb << 20)
    *_, result = storage.check(file, 10)
    assert (result.level, f"{size_mb} of 10 MB" in result.message) == (level, True)


@pytest.mark.parametrize(
    ("folder", "file", "expected"),
    [
        (0o700, 0o600, ["ok: permissions: {file} is writable, and other users cannot read it"]),
        (0o700, 0o644, ["ok: permissions: {file} is writable, and other users cannot read it"]),
        (0o755, 0o640, ["ok: permissions: {file} is writable, and other users cannot read it"]),
        (0o755, 0o644, ["warning: permissions: other users can read {file} (mode 644, in a folder of mode 755)"]),
        (0o1777, 0o600, ["ok: permissions: {file} is writable, and other users cannot read it"]),
        (0o777, 0o600, ["warning: permissions: other users can replace files in {folder} (mode 777)"]),
    ],
)
def test_store_accessible_to_others_is_a_warning(tmp_path: Path, folder: int, file: int, expected: list[str]) -> None:
    directory, store = tmp_path / "f", tmp_path / "f" / "store.db"
    directory.mkdir()
    store.touch()
    store.chmod(file)
    directory.chmod(folder)
    lines = finding_lines(storage.check_file_modes(store))
    assert len(lines) == len(expected)
    for line, start in zip(lines, expected, strict=True):
        assert line.startswith(start.format(folder=directory, file=store))


@pytest.mark.parametrize("locked", [0, 1], ids=["folder", "file"])
def test_unwritable_store_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locked: int) -> None:
    paths = tmp_path, tmp_path / "store.db"
    paths[1].touch()
    monkeypatch.setattr("bridge.doctor.storage.os.access", lambda path, _: path != paths[locked])
    lines = finding_lines(storage.check_file_modes(paths[1]))
    assert lines[0].startswith(f"error: permissions: {paths[locked]} is not writable for user {os.geteuid()} ")


@pytest.mark.parametrize(("mode", "readable"), [(0o600, False), (0o640, False), (0o644, True)])
def test_secret_readable_by_others_is_a_warning(tmp_path: Path, mode: int, *, readable: bool) -> None:
    secret = tmp_path / "url"
    secret.touch()
    secret.chmod(mode)
    lines = finding_lines(config.check([], {"LINEAGE_BRIDGE__STORE__URL_FILE": secret}, Settings()))
    warning = (
        f"warning: config: other users can read {secret}, the secret of LINEAGE_BRIDGE__STORE__URL_FILE (mode 644)"
    )
    assert any(line.startswith(warning) for line in lines) is readable


@pytest.mark.parametrize(("days", "level"), [(-30, "ok"), (0.9, "ok"), (1.1, "warning")])
def test_event_from_future_is_a_warning(store: Store, days: float, level: str) -> None:
    store.apply(run_event(second=0))
    now = micros(0) / 1_000_000 - days * 86_400
    (result,) = clock.check_event_times(store.db, store.org, now=lambda: now)
    assert (result.level, f"{days} days in the future" in result.message) == (level, level == "warning")


def test_empty_log_has_no_event_from_future(store: Store) -> None:
    assert finding_lines(clock.check_event_times(store.db, store.org)) == ["ok: clock: no event is from the future"]


def test_reports_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = finding_lines(software.check_packages())
    for extra in project["optional-dependencies"].keys() - {"all"}:
        assert any(line.startswith(f"ok: versions: extra {extra} (") for line in lines), extra
    assert len(lines) == len(project["optional-dependencies"])
    assert any(line.startswith("ok: versions: extra postgres (psycopg 3.") for line in lines)


def test_missing_extra_has_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.doctor.software._installed_version", lambda _: None)
    message = "extra postgres (psycopg missing) is not installed (pip install 'lineage-bridge[postgres]')"
    assert f"ok: versions: {message}" in finding_lines(software.check_packages())


def test_store_near_its_size_limit_is_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with file.open("wb") as created:
        created.truncate(19 << 19)
    *_, result = storage.check(file, 10)
    assert result.level == "warning"


def test_store_with_explicit_lineage_has_integrity(tmp_path: Path) -> None:
    source = {"type": "DATASET", "namespace": "db", "name": "raw"}
    entries = [{"type": "DATASET", "namespace": "db", "name": f"t{i}", "inputs": [source]} for i in range(120)]
    path = create_store_file(tmp_path)
    with closing(SqliteDatabase.for_writing(path)) as db:
        Store(db=db).apply(run_event("COMPLETE", 1, job_facets={"lineage": facet(entries=entries)}))
        assert db.integrity_problems() == []
