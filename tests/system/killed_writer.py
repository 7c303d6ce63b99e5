"""Kills a writer again and again: `killed_writer STORE SEED ROUNDS` prints every event that was acknowledged.

Each round forks a child that opens the store and tells the end of each commit; it is killed at a random moment.
Forking a process that has all modules loaded makes a round cost milliseconds.
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
from tests.system.test_kill import some_event


def write_until_killed(store: Path, chance: random.Random, number: int, tell: int) -> None:
    """Commit groups of events, and tell their payloads once they are durable."""
    writer, reader = Writer(SqliteDatabase.for_writing(store)), EventReader(MappingOptions("default"), EventLimits())
    while True:
        group = [some_event(chance, number + i) for i in range(chance.randrange(1, 8))]
        number += len(group)
        writer.write([reader.read(payload, "test") for payload in group])
        os.write(tell, b"".join(payload + b"\n" for payload in group))


def one_round(store: Path, chance: random.Random, number: int) -> bytes:
    """Run a child, kill it, and give what it told."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(told)
        try:
            write_until_killed(store, chance, number, tell)
        finally:
            os._exit(1)
    os.close(tell)
    parts = []
    deadline = time.monotonic() + chance.expovariate(1 / 0.03)
    while (left := deadline - time.monotonic()) > 0:
        if select.select([told], [], [], left)[0]:
            parts.append(os.read(told, 1 << 16))
            if not parts[-1]:
                raise SystemExit("the writer ended by itself")
    os.kill(child, signal.SIGKILL)
    while part := os.read(told, 1 << 16):
        parts.append(part)
    os.close(told)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL, "the writer ended by itself"
    # The kill may have cut the last telling short: what that line acknowledged is unknown here.
    whole, _, _ = b"".join(parts).rpartition(b"\n")
    return whole + b"\n" if whole else b""


def main(store: Path, seed: int, rounds: int) -> None:
    """Run all rounds; every tenth looks at the store's integrity."""
    chance = random.Random(seed)
    for round_ in range(rounds):
        sys.stdout.buffer.write(one_round(store, random.Random(chance.random()), round_ * 100_000))
        if round_ % 10 == 9:
            connection = sqlite3.connect(store)
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            connection.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
