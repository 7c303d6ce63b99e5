"""The unit for systemd: accepted by the real systemd, in line with the settings, and no hindrance to the service."""

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
    """Give the lines of the unit by their key."""
    found = defaultdict(list)
    for line in UNIT.read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and not key.startswith("#"):
            found[key].append(value)
    return found


def analyze(*words: str | Path) -> tuple[int, str]:
    done = subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.system("systemd")
@pytest.mark.parametrize(
    ("line", "changed", "accepted"),
    [
        ("", "", True),
        ("TimeoutStopSec=45", "TimeoutStopSec=many", False),
        ("ProtectHome=", "ProtctHome=", False),
        ("serve", "serve %Q", False),
    ],
    ids=["as it is", "no time", "no key", "no specifier"],
)
def test_systemd_accepts_the_unit(tmp_path: Path, line: str, changed: str, *, accepted: bool) -> None:
    text = UNIT.read_text()
    assert line in text
    installed = tmp_path / UNIT.name
    installed.write_text(text.replace("/opt/lineage-bridge/bin/lineage-bridge", str(COMMAND)).replace(line, changed))
    code, said = analyze("verify", "--man=no", "--generators=no", "--recursive-errors=no", installed)
    assert ((code, said) == (0, "")) is accepted, said


@pytest.mark.system("systemd")
def test_systemd_rates_the_exposure_of_the_unit_as_low_as_the_docs_say(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "guides" / "operations.md").read_text(encoding="utf-8")
    stated = re.search(r"`systemd-analyze security` rates it at most ([\d.]+) of 10", page)
    assert stated is not None
    installed = tmp_path / UNIT.name
    installed.write_text(UNIT.read_text())
    code, said = analyze("security", "--offline=yes", f"--threshold={float(stated[1]) * 10:.0f}", installed)
    assert code == 0, said


def test_the_service_has_the_time_that_its_settings_promise() -> None:
    (seconds,) = unit()["TimeoutStopSec"]
    assert float(seconds) > Settings().server.drain_seconds + _BUSY_TIMEOUT_SECONDS


@pytest.mark.system("systemd")
def test_the_settings_of_the_unit_are_settings(tmp_path: Path) -> None:
    given = dict(line.replace("%S", str(tmp_path)).split("=", 1) for line in unit()["Environment"])
    named = {name.removeprefix("LINEAGE_BRIDGE__"): value for name, value in given.items()}
    code, said = run(tmp_path / "elsewhere.db", "doctor", "--output", "json", **named)
    assert code == 1
    assert {found["found"] for found in json.loads(said)["findings"] if found["thing"] == "store"} == {
        f"no store at {tmp_path}/lineage-bridge/store.db: `lineage-bridge serve` or `ingest` creates it"
    }


def members(name: str) -> set[str]:
    """Name the system calls of a set, and of the sets within it."""
    found: set[str] = set()
    for line in analyze("syscall-filter", name)[1].splitlines()[1:]:
        word = line.strip()
        if word.startswith("@"):
            found |= members(word)
        elif word and not word.startswith("#"):
            found.add(word)
    return found


@pytest.mark.system("systemd", "strace")
def test_the_unit_allows_every_system_call_of_the_service(tmp_path: Path) -> None:
    allowed: set[str] = set()
    for line in unit()["SystemCallFilter"]:
        names = set().union(*(members(name) for name in line.removeprefix("~").split()))
        allowed = allowed - names if line.startswith("~") else allowed | names
    assert len(allowed) > 100
    trace = tmp_path / "trace"
    with Service(tmp_path / "store.db", wrap=["strace", "-D", "-f", "-qq", "-o", str(trace)]) as service:
        assert service.send(run_event()) == 201
        service.process.send_signal(signal.SIGTERM)
        assert service.exit_code() == 0
    made = set(re.findall(r"^\d+ +(?:<\.\.\. )?(\w+)[( ]", trace.read_text(), re.MULTILINE))
    assert {"fdatasync", "accept4"} <= made
    assert made - allowed <= {"fchown"}  # SQLite's, and only as root, which the unit does not run as


@pytest.mark.system("systemd")
def test_the_service_needs_no_memory_that_is_written_and_executed(tmp_path: Path) -> None:
    assert unit()["MemoryDenyWriteExecute"] == ["yes"]
    libc = ctypes.CDLL(None, use_errno=True)

    def deny() -> None:
        libc.prctl(_PR_SET_MDWE, _PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)

    with Service(new_store(tmp_path), before=deny) as service, closing(service.connect()) as connection:
        assert service.send(run_event()) == 201
        connection.request("GET", "/metrics")
        assert connection.getresponse().status == 200
