"""Kills a writer repeatedly: `killed_writer STORE SEED ROUNDS` prints every acknowledged event.

Each round forks a child that opens the store and reports each commit; it is killed at a random time.
Forking a process with all modules loaded keeps a round at a few milliseconds.
"""

import os
import random
import select
import signal
import sqlite3
import sys
import time
from pathlib import Path

from bridge.intake.event_reader import EventReader
from bridge.store.sqlite import SqliteDatabase
from bridge.store.writer import Writer
from mappers.openlineage.event import EventLimits
from mappers.openlineage.row_builder import MappingOptions
from tests.system.test_kill import random_event


def write_until_killed(store: Path, rng: random.Random, number: int, pipe: int) -> None:
    """Commit groups of events; write their payloads to the pipe once they are durable."""
    writer, reader = Writer(SqliteDatabase.for_writing(store)), EventReader(MappingOptions("default"), EventLimits())
    while True:
        group = [random_event(rng, number + i) for i in range(rng.randrange(1, 8))]
        number += len(group)
        writer.write([reader.read(payload, "test") for payload in group])
        os.write(pipe, b"".join(payload + b"\n" for payload in group))


def run_round(store: Path, rng: random.Random, number: int) -> bytes:
    """Run a child and kill it; return the payloads that it acknowledged."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        try:
            write_until_killed(store, rng, number, write_end)
        finally:
            os._exit(1)
    os.close(write_end)
    parts = []
    deadline = time.monotonic() + rng.expovariate(1 / 0.03)
    while (seconds_left := deadline - time.monotonic()) > 0:
        if select.select([read_end], [], [], seconds_left)[0]:
            parts.append(os.read(read_end, 1 << 16))
            if not parts[-1]:
                raise SystemExit("the writer exited by itself")
    os.kill(child, signal.SIGKILL)
    while part := os.read(read_end, 1 << 16):
        parts.append(part)
    os.close(read_end)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL, "the writer exited by itself"
    # The kill may have truncated the last line: that event counts as not acknowledged.
    complete, _, _ = b"".join(parts).rpartition(b"\n")
    return complete + b"\n" if complete else b""


def main(store: Path, seed: int, rounds: int) -> None:
    """Run all rounds; check the integrity of the store after every tenth."""
    rng = random.Random(seed)
    for round_ in range(rounds):
        sys.stdout.buffer.write(run_round(store, random.Random(rng.random()), round_ * 100_000))
        if round_ % 10 == 9:
            connection = sqlite3.connect(store)
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            connection.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
