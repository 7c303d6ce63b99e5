"""Files are read in bounded memory, whatever they contain."""

import gzip
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bridge.intake.file_ingester import FileIngester
from bridge.intake.source import IntakeReport
from connectors.openlineage import files
from connectors.openlineage.bounded_lines import read_lines
from tests.factories import run_event
from tests.stores import Store, as_bytes
from tests.system.service import environment, new_store

LIMIT = 2_000
EVENT = as_bytes(run_event()) + b"\n"


def ingest(store: Store, path: Path) -> IntakeReport:
    return FileIngester(store.reader, store.writer, max_line=LIMIT).ingest_file(path)


def reasons(store: Store) -> list[str]:
    return [reason for (reason,) in store.rows("SELECT reason FROM rejected_event ORDER BY reason")]


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_line_over_the_limit_is_rejected_with_its_number(
    store: Store, tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "events.ndjson"
    path.write_bytes(pack(EVENT + b"\n" + b"x" * 10 * LIMIT + b"\n" + as_bytes(run_event(run=2)) + b"\n"))
    report = ingest(store, path)
    assert (report.accepted, report.unreadable) == (2, ())
    assert reasons(store) == [f"the line exceeds the limit of {LIMIT} bytes; only its beginning is kept (line 3)"]


@pytest.mark.parametrize("text", [b" ", b"\0"], ids=["blank", "zeros"])
def test_line_without_end_is_given_up(store: Store, tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "events.ndjson"
    path.write_bytes(EVENT + text * (2 << 20) + b"\n" + EVENT)
    report = ingest(store, path)
    assert report.accepted == 1
    assert "line 2 has more than 1 MB" in report.unreadable[0]


def test_torn_first_line_is_rejected_alone(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    events = [as_bytes(run_event(run=number)) + b"\n" for number in range(1, 50)]
    path.write_bytes(b'{"eventTime": "2026-01-01\n' + b"".join(events))
    report = ingest(store, path)
    assert report.accepted == 49
    assert len(reasons(store)) == 1


def test_array_over_the_limit_is_not_read(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MAX_ARRAY_BYTES", 1 << 20)
    path = tmp_path / "events.json"
    path.write_bytes(b"[" + b",".join([EVENT] * 10_000) + b"]")
    assert "the JSON array has more than 1 MB" in ingest(store, path).unreadable[0]
    path.write_bytes(b"[" + b",".join([EVENT] * 20) + b"]")
    assert ingest(store, path).accepted == 20


def test_pipe_is_read_as_a_stream(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(EVENT * 3))
    writer.start()
    assert ingest(store, path).accepted == 3
    writer.join()


def test_device_is_not_read(store: Store) -> None:
    report = ingest(store, Path("/dev/zero"))
    assert report.unreadable == ("/dev/zero: neither a file nor a pipe",)


class Blocks:
    """A stream of one endless line that records how much was read at once."""

    def __init__(self) -> None:
        self.largest = 0

    def readline(self, limit: int = -1, /) -> bytes:
        self.largest = max(self.largest, limit)
        return b"x" * limit


def test_endless_line_is_read_in_blocks() -> None:
    blocks = Blocks()
    lines: Iterator[object] = read_lines(blocks, LIMIT)
    with pytest.raises(OSError, match="line 1 has more than"):
        next(lines)
    assert blocks.largest == 1 << 20


@pytest.mark.system
def test_memory_of_a_command_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "sparse.ndjson"
    with path.open("wb") as file:
        file.truncate(5 << 30)
    limit = 1 << 30
    result = subprocess.run(
        [sys.executable, "-m", "bridge", "ingest", str(path)],
        env=environment(new_store(tmp_path)),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 1
    assert "line 1 has more than" in result.stderr
