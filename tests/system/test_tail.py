"""`lineage-bridge tail` and the tailer of the service as real processes, killed and stopped."""

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
    canonical_export,
    expected_export,
    finish,
    inject_fault,
    new_store,
    run,
    start,
    stored_payloads,
    until,
    write_events,
)
from tests.system.test_kill import random_event

pytestmark = pytest.mark.system

_ROUNDS = 20
_ROTATE_AFTER = 150
_SHORT_POLL = {"INTAKE__TAIL_POLL_SECONDS": "0.01"}


class RotatingWriter(threading.Thread):
    """A job that appends events to a file, some of them in two writes, and rotates the file."""

    def __init__(self, path: Path, rng: random.Random) -> None:
        super().__init__()
        self.path = path
        self.written: list[bytes] = []
        self._rng = rng
        self._stop_requested = threading.Event()

    def run(self) -> None:
        rotations = 0
        while not self._stop_requested.wait(0.002):
            event = random_event(self._rng, len(self.written))
            with self.path.open("ab", buffering=0) as file:
                split = self._rng.randrange(len(event))
                file.write(event[:split])
                if self._rng.random() < 0.2:
                    self._stop_requested.wait(0.005)
                file.write(event[split:] + b"\n")
            self.written.append(event)
            if len(self.written) % _ROTATE_AFTER == 0:
                rotations += 1
                self.path.rename(f"{self.path}.{rotations}")

    def stop(self) -> None:
        self._stop_requested.set()
        self.join(60)
        assert not self.is_alive()


def count_events(store: Path) -> int:
    with closing(sqlite3.connect(store, timeout=30)) as connection:
        return int(connection.execute("SELECT count(*) FROM run_event").fetchone()[0])


def stop(process: "subprocess.Popen[str]", number: signal.Signals = signal.SIGTERM) -> str:
    process.send_signal(number)
    code, output = finish(process)
    assert code == 0, output
    return output


@pytest.mark.timeout(300)
@pytest.mark.parametrize("pattern", ["events.ndjson", "*.ndjson", "."])
def test_killed_tailer_loses_no_events(tmp_path: Path, pattern: str) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    folder = tmp_path / "events"
    folder.mkdir()
    store = new_store(tmp_path)
    writer = RotatingWriter(folder / "events.ndjson", rng)
    writer.start()
    try:
        for _ in range(_ROUNDS):
            process = start(store, "tail", str(folder / pattern), LOG__LEVEL="error", **_SHORT_POLL)
            try:
                enough = count_events(store) + rng.randrange(1, 120)
                until(lambda: count_events(store) >= enough or process.poll() is not None, f"{enough} events")  # noqa: B023
            finally:
                process.kill()
                code, output = finish(process)
            assert code == -signal.SIGKILL, output
    finally:
        writer.stop()
    process = start(store, "tail", str(folder / pattern), **_SHORT_POLL)
    try:
        until(lambda: count_events(store) >= len(writer.written), f"all {len(writer.written)} events")
        stop(process)
    finally:
        process.kill()
    print(f"{len(writer.written)} events, {len(list(folder.iterdir()))} files")
    assert stored_payloads(store) == set(writer.written)
    assert canonical_export(store) == expected_export(writer.written)
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT reason FROM rejected_event").fetchall() == []


@pytest.mark.parametrize("call", ["fdatasync", "pwrite64"])
@pytest.mark.system("strace")
@pytest.mark.timeout(300)
def test_tailer_killed_at_flush_resumes(tmp_path: Path, call: str) -> None:
    rng = random.Random(5)
    events = [random_event(rng, number) for number in range(350)]
    file = write_events(tmp_path / "events.ndjson", events)
    store = new_store(tmp_path)
    kills = 0
    for number in [1, 1, 2, 3] if call == "fdatasync" else [20, 90, 200]:
        code, output = run(store, "tail", "--once", str(file), wrap=inject_fault(f"{call}:signal=KILL:when={number}"))
        kills += code == -signal.SIGKILL
    code, output = run(store, "tail", "--once", str(file))
    assert code == 0, output
    assert kills >= 2
    assert stored_payloads(store) == set(events)
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT DISTINCT receipts FROM run_event").fetchall() == [(1,)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopped_tailer_prints_summary(tmp_path: Path, number: signal.Signals) -> None:
    store, file = new_store(tmp_path), tmp_path / "late.ndjson"
    process = start(store, "tail", str(file), **_SHORT_POLL)
    try:
        write_events(file, [run_event(run=1), b"garbage", run_event(run=2)])
        until(lambda: count_events(store) == 2, "2 events")
        output = stop(process, number)
    finally:
        process.kill()
    assert "ingested 2 events" in output
    assert "1 rejected" in output
    assert str(file) in output
    assert "Traceback" not in output


def test_tail_once_exits_with_1_after_rejected_input(tmp_path: Path) -> None:
    store, file = new_store(tmp_path), write_events(tmp_path / "a.ndjson", [run_event(run=1)])
    code, output = run(store, "tail", "--once", str(file), str(tmp_path / "absent.ndjson"))
    assert (code, "ingested 1 event" in output) == (0, True)
    write_events(file, [run_event(run=1), b"garbage"])
    code, output = run(store, "tail", "--once", str(file))
    assert (code, "ingested 0 events" in output, "1 rejected" in output) == (1, True, True)
    (tmp_path / "packed.json").write_bytes(b"\x1f\x8b packed")
    code, output = run(store, "tail", "--once", str(tmp_path / "packed.json"))
    assert (code, "load it with `lineage-bridge ingest`" in output) == (1, True)


@pytest.mark.timeout(300)
def test_service_follows_files_while_serving_requests(tmp_path: Path) -> None:
    store, file = new_store(tmp_path), tmp_path / "events.ndjson"
    settings = {"INTAKE__TAIL": f'["{file}"]', **_SHORT_POLL}
    events = [as_bytes(run_event(run=number)) for number in range(30)]
    for part in range(3):
        with Service(store, **settings) as service:
            if part < 2:
                with file.open("ab") as appended:
                    appended.write(b"".join(event + b"\n" for event in events[10 * part : 10 * part + 10]))
            else:
                assert [service.send(event) for event in events[20:]] == [201] * 10
            until(lambda: count_events(store) >= 10 * part + 10, "the events of the file")  # noqa: B023 - called at once
            if part == 2:
                text = httpx.get(f"http://127.0.0.1:{service.port}/metrics").text
                assert 'lineage_bridge_events_accepted_total{merged="true"} 10.0' in text
                service.process.terminate()
                assert service.exit_code() == 0
    assert stored_payloads(store) == set(events)
