"""`lineage-bridge tail` and the service's own tailer as real processes: killed at any moment, told to stop."""

import random
import signal
import sqlite3
import subprocess
import threading
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.factories import run_event
from tests.stores import as_bytes
from tests.system.service import (
    Service,
    expected_export,
    exported,
    finish,
    injecting,
    kept,
    new_store,
    run,
    start,
    until,
    write_events,
)
from tests.system.test_kill import some_event

pytestmark = pytest.mark.system

_ROUNDS = 20
_ROTATE_AFTER = 150
_QUICK = {"INTAKE__TAIL_POLL_SECONDS": "0.01"}


class Job(threading.Thread):
    """A job that appends events to its file, some of them in two pieces, and rotates it now and then."""

    def __init__(self, path: Path, chance: random.Random) -> None:
        super().__init__()
        self.path = path
        self.written: list[bytes] = []
        self._chance = chance
        self._enough = threading.Event()

    def run(self) -> None:
        rotations = 0
        while not self._enough.wait(0.002):
            event = some_event(self._chance, len(self.written))
            with self.path.open("ab", buffering=0) as file:
                torn = self._chance.randrange(len(event))
                file.write(event[:torn])
                if self._chance.random() < 0.2:
                    self._enough.wait(0.005)
                file.write(event[torn:] + b"\n")
            self.written.append(event)
            if len(self.written) % _ROTATE_AFTER == 0:
                rotations += 1
                self.path.rename(f"{self.path}.{rotations}")

    def end(self) -> None:
        self._enough.set()
        self.join(60)
        assert not self.is_alive()


def count(store: Path) -> int:
    with closing(sqlite3.connect(store, timeout=30)) as connection:
        return int(connection.execute("SELECT count(*) FROM run_event").fetchone()[0])


def stopped(process: "subprocess.Popen[str]", number: signal.Signals = signal.SIGTERM) -> str:
    process.send_signal(number)
    code, said = finish(process)
    assert code == 0, said
    return said


@pytest.mark.timeout(300)
@pytest.mark.parametrize("place", ["events.ndjson", "*.ndjson", "."])
def test_a_tailer_killed_at_any_moment_loses_nothing(tmp_path: Path, place: str) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    folder = tmp_path / "events"
    folder.mkdir()
    store = new_store(tmp_path)
    job = Job(folder / "events.ndjson", chance)
    job.start()
    try:
        for _ in range(_ROUNDS):
            process = start(store, "tail", str(folder / place), LOG__LEVEL="error", **_QUICK)
            try:
                enough = count(store) + chance.randrange(1, 120)
                until(lambda: count(store) >= enough or process.poll() is not None, f"{enough} events")  # noqa: B023
            finally:
                process.kill()
                code, said = finish(process)
            assert code == -signal.SIGKILL, said
    finally:
        job.end()
    process = start(store, "tail", str(folder / place), **_QUICK)
    try:
        until(lambda: count(store) >= len(job.written), f"all {len(job.written)} events")
        stopped(process)
    finally:
        process.kill()
    print(f"{len(job.written)} events, {len(list(folder.iterdir()))} files")
    assert kept(store) == set(job.written)
    assert exported(store) == expected_export(job.written)
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT reason FROM rejected_event").fetchall() == []


@pytest.mark.parametrize("call", ["fdatasync", "pwrite64"])
@pytest.mark.system("strace")
@pytest.mark.timeout(300)
def test_a_tailer_killed_at_its_flushes_goes_on_where_it_stopped(tmp_path: Path, call: str) -> None:
    chance = random.Random(5)
    events = [some_event(chance, number) for number in range(350)]
    file = write_events(tmp_path / "events.ndjson", events)
    store = new_store(tmp_path)
    kills = 0
    for number in [1, 1, 2, 3] if call == "fdatasync" else [20, 90, 200]:
        code, said = run(store, "tail", "--once", str(file), wrap=injecting(f"{call}:signal=KILL:when={number}"))
        kills += code == -signal.SIGKILL
    code, said = run(store, "tail", "--once", str(file))
    assert code == 0, said
    assert kills >= 2
    assert kept(store) == set(events)
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT DISTINCT receipts FROM run_event").fetchall() == [(1,)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_tailer_that_is_told_to_stop_says_what_it_took(tmp_path: Path, number: signal.Signals) -> None:
    store, file = new_store(tmp_path), tmp_path / "late.ndjson"
    process = start(store, "tail", str(file), **_QUICK)
    try:
        write_events(file, [run_event(run=1), b"garbage", run_event(run=2)])
        until(lambda: count(store) == 2, "2 events")
        said = stopped(process, number)
    finally:
        process.kill()
    assert "ingested 2 events" in said
    assert "1 rejected" in said
    assert str(file) in said
    assert "Traceback" not in said


def test_taking_once_tells_by_its_exit_code_what_was_refused(tmp_path: Path) -> None:
    store, file = new_store(tmp_path), write_events(tmp_path / "a.ndjson", [run_event(run=1)])
    code, said = run(store, "tail", "--once", str(file), str(tmp_path / "absent.ndjson"))
    assert (code, "ingested 1 events" in said) == (0, True)
    write_events(file, [run_event(run=1), b"garbage"])
    code, said = run(store, "tail", "--once", str(file))
    assert (code, "ingested 0 events" in said, "1 rejected" in said) == (1, True, True)
    (tmp_path / "packed.json").write_bytes(b"\x1f\x8b packed")
    code, said = run(store, "tail", "--once", str(tmp_path / "packed.json"))
    assert (code, "take it with `lineage-bridge ingest`" in said) == (1, True)


@pytest.mark.timeout(300)
def test_the_service_follows_files_beside_its_requests(tmp_path: Path) -> None:
    store, file = new_store(tmp_path), tmp_path / "events.ndjson"
    settings = {"INTAKE__TAIL": f'["{file}"]', **_QUICK}
    events = [as_bytes(run_event(run=number)) for number in range(30)]
    for part in range(3):
        with Service(store, **settings) as service:
            if part < 2:
                with file.open("ab") as appended:
                    appended.write(b"".join(event + b"\n" for event in events[10 * part : 10 * part + 10]))
            else:
                assert [service.send(event) for event in events[20:]] == [201] * 10
            until(lambda: count(store) >= 10 * part + 10, "the events of the file")  # noqa: B023 - called at once
            if part == 2:
                text = httpx.get(f"http://127.0.0.1:{service.port}/metrics").text
                assert 'lineage_bridge_events_accepted_total{merged="true"} 10.0' in text
                service.process.terminate()
                assert service.exit_code() == 0
    assert kept(store) == set(events)
