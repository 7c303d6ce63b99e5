"""The systemd unit is valid, matches the settings, and does not restrict the service."""

import ctypes
import json
import re
import signal
import subprocess
import sys
from collections import defaultdict
from contextlib import closing
from pathlib import Path

import pytest

from bridge.intake.group_commit import _BUSY_TIMEOUT_SECONDS
from bridge.settings.model import Settings
from tests.factories import run_event
from tests.system.service import ROOT, Service, new_store, run

UNIT = ROOT / "configs" / "systemd" / "lineage-bridge.service"
COMMAND = Path(sys.executable).with_name("lineage-bridge")
_PR_SET_MDWE, _PR_MDWE_REFUSE_EXEC_GAIN = 65, 1


def unit() -> dict[str, list[str]]:
    """Values of the unit file by key."""
    values = defaultdict(list)
    for line in UNIT.read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and not key.startswith("#"):
            values[key].append(value)
    return values


def analyze(*arguments: str | Path) -> tuple[int, str]:
    result = subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, timeout=60, check=False)
    return result.returncode, result.stdout + result.stderr


@pytest.mark.system("systemd")
@pytest.mark.parametrize(
    ("line", "replacement", "accepted"),
    [
        ("", "", True),
        ("TimeoutStopSec=45", "TimeoutStopSec=many", False),
        ("ProtectHome=", "ProtctHome=", False),
        ("serve", "serve %Q", False),
    ],
    ids=["unchanged", "invalid time", "unknown key", "invalid specifier"],
)
def test_systemd_verifies_unit(tmp_path: Path, line: str, replacement: str, *, accepted: bool) -> None:
    text = UNIT.read_text()
    assert line in text
    installed = tmp_path / UNIT.name
    installed.write_text(
        text.replace("/opt/lineage-bridge/bin/lineage-bridge", str(COMMAND)).replace(line, replacement)
    )
    code, output = analyze("verify", "--man=no", "--generators=no", "--recursive-errors=no", installed)
    assert ((code, output) == (0, "")) is accepted, output


@pytest.mark.system("systemd")
def test_systemd_security_exposure_matches_docs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "guides" / "operations.md").read_text(encoding="utf-8")
    documented = re.search(r"`systemd-analyze security` rates its exposure at ([\d.]+) or lower", page)
    assert documented is not None
    installed = tmp_path / UNIT.name
    installed.write_text(UNIT.read_text())
    code, output = analyze("security", "--offline=yes", f"--threshold={float(documented[1]) * 10:.0f}", installed)
    assert code == 0, output


def test_stop_timeout_exceeds_drain_and_busy_timeouts() -> None:
    (seconds,) = unit()["TimeoutStopSec"]
    assert float(seconds) > Settings().server.drain_seconds + _BUSY_TIMEOUT_SECONDS


@pytest.mark.system("systemd")
def test_environment_of_unit_contains_valid_settings(tmp_path: Path) -> None:
    variables = dict(line.replace("%S", str(tmp_path)).split("=", 1) for line in unit()["Environment"])
    settings = {name.removeprefix("LINEAGE_BRIDGE__"): value for name, value in variables.items()}
    code, output = run(tmp_path / "elsewhere.db", "doctor", "--output", "json", **settings)
    assert code == 1
    assert {finding["found"] for finding in json.loads(output)["findings"] if finding["thing"] == "store"} == {
        f"no store at {tmp_path}/lineage-bridge/store.db: `lineage-bridge serve` or `ingest` creates it"
    }


def system_calls_in(name: str) -> set[str]:
    """System calls of a filter set, including nested sets."""
    names: set[str] = set()
    for line in analyze("syscall-filter", name)[1].splitlines()[1:]:
        entry = line.strip()
        if entry.startswith("@"):
            names |= system_calls_in(entry)
        elif entry and not entry.startswith("#"):
            names.add(entry)
    return names


@pytest.mark.system("systemd", "strace")
def test_unit_allows_system_calls_of_service(tmp_path: Path) -> None:
    allowed: set[str] = set()
    for line in unit()["SystemCallFilter"]:
        names = set().union(*(system_calls_in(name) for name in line.removeprefix("~").split()))
        allowed = allowed - names if line.startswith("~") else allowed | names
    assert len(allowed) > 100
    trace = tmp_path / "trace"
    with Service(tmp_path / "store.db", wrap=["strace", "-D", "-f", "-qq", "-o", str(trace)]) as service:
        assert service.send(run_event()) == 201
        service.process.send_signal(signal.SIGTERM)
        assert service.exit_code() == 0
    called = set(re.findall(r"^\d+ +(?:<\.\.\. )?(\w+)[( ]", trace.read_text(), re.MULTILINE))
    assert {"fdatasync", "accept4"} <= called
    assert called - allowed <= {"fchown"}  # SQLite calls it only as root; the unit has its own user


@pytest.mark.system("systemd")
def test_service_runs_with_memory_deny_write_execute(tmp_path: Path) -> None:
    assert unit()["MemoryDenyWriteExecute"] == ["yes"]
    libc = ctypes.CDLL(None, use_errno=True)

    def deny() -> None:
        libc.prctl(_PR_SET_MDWE, _PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)

    with Service(new_store(tmp_path), preexec=deny) as service, closing(service.connect()) as connection:
        assert service.send(run_event()) == 201
        connection.request("GET", "/metrics")
        assert connection.getresponse().status == 200
