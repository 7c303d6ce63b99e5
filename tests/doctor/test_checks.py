"""Single checks: what they say of modes, clocks, disks and versions."""

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


def told(findings: Iterator[Finding]) -> list[str]:
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
def test_a_disk_is_nearly_full_below_a_tenth_or_a_gigabyte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, total: int, free: int, level: str
) -> None:
    monkeypatch.setattr("bridge.doctor.storage.disk_usage", lambda _: Usage(total, total - free, free))
    (found,) = storage.check(tmp_path / "not" / "there" / "store.db", None)
    assert (found.level, str(tmp_path) in found.message) == (level, True)


def test_a_file_system_that_takes_no_writes_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = os.statvfs_result((*os.statvfs(tmp_path)[:8], os.ST_RDONLY, 255))
    monkeypatch.setattr("bridge.doctor.storage.os.statvfs", lambda _: flags)
    assert told(storage.check(tmp_path / "store.db", None))[0].startswith("error: disk: the file system of")


@pytest.mark.parametrize(("size_mb", "level"), [(8, "ok"), (10, "error")])
def test_the_stores_own_limit_is_a_disk_that_fills(tmp_path: Path, size_mb: int, level: str) -> None:
    file = tmp_path / "store.db"
    with file.open("wb") as made:
        made.truncate(size_mb << 20)
    *_, found = storage.check(file, 10)
    assert (found.level, f"{size_mb} of 10 MB" in found.message) == (level, True)


@pytest.mark.parametrize(
    ("folder", "file", "said"),
    [
        (0o700, 0o600, ["ok: permissions: {file} is writable, and other users cannot read it"]),
        (0o700, 0o644, ["ok: permissions: {file} is writable, and other users cannot read it"]),
        (0o755, 0o640, ["ok: permissions: {file} is writable, and other users cannot read it"]),
        (0o755, 0o644, ["warning: permissions: other users can read {file} (mode 644, in a folder of mode 755)"]),
        (0o1777, 0o600, ["ok: permissions: {file} is writable, and other users cannot read it"]),
        (0o777, 0o600, ["warning: permissions: other users can replace files in {folder} (mode 777)"]),
    ],
)
def test_who_else_may_read_a_store_is_told(tmp_path: Path, folder: int, file: int, said: list[str]) -> None:
    place, store = tmp_path / "f", tmp_path / "f" / "store.db"
    place.mkdir()
    store.touch()
    store.chmod(file)
    place.chmod(folder)
    found = told(storage.check_file_modes(store))
    assert len(found) == len(said)
    for line, wanted in zip(found, said, strict=True):
        assert line.startswith(wanted.format(folder=place, file=store))


@pytest.mark.parametrize("locked", [0, 1], ids=["folder", "file"])
def test_a_store_that_cannot_be_written_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locked: int
) -> None:
    places = tmp_path, tmp_path / "store.db"
    places[1].touch()
    monkeypatch.setattr("bridge.doctor.storage.os.access", lambda place, _: place != places[locked])
    found = told(storage.check_file_modes(places[1]))
    assert found[0].startswith(f"error: permissions: {places[locked]} is not writable for user {os.geteuid()} ")


@pytest.mark.parametrize(("mode", "opened"), [(0o600, False), (0o640, False), (0o644, True)])
def test_a_secret_that_others_may_read_is_told(tmp_path: Path, mode: int, *, opened: bool) -> None:
    secret = tmp_path / "url"
    secret.touch()
    secret.chmod(mode)
    found = told(config.check([], {"LINEAGE_BRIDGE__STORE__URL_FILE": secret}, Settings()))
    wanted = (
        f"warning: config: other users can read {secret}, the secret of LINEAGE_BRIDGE__STORE__URL_FILE (mode 644)"
    )
    assert any(line.startswith(wanted) for line in found) is opened


@pytest.mark.parametrize(("days", "level"), [(-30, "ok"), (0.9, "ok"), (1.1, "warning")])
def test_events_from_the_future_are_told(store: Store, days: float, level: str) -> None:
    store.apply(run_event(second=0))
    now = micros(0) / 1_000_000 - days * 86_400
    (found,) = clock.check_event_times(store.db, store.org, now=lambda: now)
    assert (found.level, f"{days} days in the future" in found.message) == (level, level == "warning")


def test_an_empty_log_has_no_event_from_the_future(store: Store) -> None:
    assert told(clock.check_event_times(store.db, store.org)) == ["ok: clock: no event is from the future"]


def test_every_extra_of_the_project_is_told() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = told(software.installed_packages())
    for extra in project["optional-dependencies"].keys() - {"all"}:
        assert any(line.startswith(f"ok: versions: extra {extra} (") for line in found), extra
    assert len(found) == len(project["optional-dependencies"])
    assert any(line.startswith("ok: versions: extra postgres (psycopg 3.") for line in found)


def test_an_extra_that_is_missing_is_told_with_its_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.doctor.software._installed_version", lambda _: None)
    wanted = "extra postgres (psycopg missing) is not installed (pip install 'lineage-bridge[postgres]')"
    assert f"ok: versions: {wanted}" in told(software.installed_packages())


def test_a_store_that_is_nearly_full_is_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with file.open("wb") as made:
        made.truncate(19 << 19)
    *_, found = storage.check(file, 10)
    assert found.level == "warning"


def test_a_store_with_explicit_lineage_is_sound(tmp_path: Path) -> None:
    source = {"type": "DATASET", "namespace": "db", "name": "raw"}
    entries = [{"type": "DATASET", "namespace": "db", "name": f"t{i}", "inputs": [source]} for i in range(120)]
    path = create_store_file(tmp_path)
    with closing(SqliteDatabase.for_writing(path)) as db:
        Store(db=db).apply(run_event("COMPLETE", 1, job_facets={"lineage": facet(entries=entries)}))
        assert db.integrity_problems() == []
