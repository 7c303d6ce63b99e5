"""The log of a Marquez taken whole: how fast, and in how much memory, which shall not grow with the log.

python -m benchmarks.marquez [--events 100000]
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from mappers.timestamps import format_timestamp
from tests.standins.marquez import Marquez
from tests.standins.marquez.tables import Row

_BEGIN = 1_767_225_600_000_000
_SECOND = 1_000_000
_PRODUCER = "https://example.com/producer"
#: How much more memory all of the events may take than half of them: caches fill up before.
_FLAT = 1.1


class Pulled(NamedTuple):
    """How a pull went."""

    events: int
    seconds: float
    megabytes: float


def main() -> None:
    """Measure a tenth, a half and the whole, and print all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--serve", type=int)
    given = parser.parse_args()
    if given.serve:
        _serve(given.serve)
        return
    few, half, many = (_pulled(count) for count in (given.events // 10, given.events // 2, given.events))
    print("| events | seconds | events/s | most memory |\n|---|---|---|---|")
    for one in (few, half, many):
        print(f"| {one.events:,} | {one.seconds:.1f} | {one.events / one.seconds:,.0f} | {one.megabytes:.0f} MB |")
    print(f"memory: {many.megabytes / half.megabytes:.2f} of that of half of them (flat is below {_FLAT})")
    if many.megabytes > _FLAT * half.megabytes:
        sys.exit(1)


def _pulled(count: int) -> Pulled:
    """Let a process of its own take so many events."""
    server = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.marquez", "--serve", str(count)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "LINEAGE_BRIDGE__STORE__URL": f"sqlite:///{Path(folder) / 'store.db'}"}
            began = time.monotonic()
            pull = [sys.executable, "-m", "bridge", "marquez", "pull", url, "--no-lists"]
            child = subprocess.Popen(pull, env=environment, stdout=subprocess.PIPE, text=True)
            assert child.stdout is not None
            said = child.stdout.read()
            _, status, used = os.wait4(child.pid, 0)
            seconds = time.monotonic() - began
        assert (status, said.split(" ")[0]) == (0, str(count)), said
        return Pulled(count, seconds, used.ru_maxrss / 1024)
    finally:
        server.terminate()
        server.wait()


def _serve(count: int) -> None:
    """Be a server whose log has so many events, several of each second, until the end."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with Marquez() as standin:
        schema = {"_producer": _PRODUCER, "_schemaURL": _PRODUCER, "fields": [
            {"name": f"column_{n}", "type": "string"} for n in range(20)]}  # fmt: skip
        for number in range(count):
            micros = _BEGIN + number // 3 * _SECOND
            standin.store.log.append(Row(number, micros, "RunEvent", _event(number, micros, schema)))
        print(standin.url, flush=True)
        sys.stdin.read()
        while True:
            time.sleep(3600)


def _event(number: int, micros: int, schema: dict[str, object]) -> dict[str, object]:
    dataset = {"namespace": "db", "name": f"table_{number % 500}", "facets": {"schema": schema}}
    return {
        "eventType": "COMPLETE",
        "eventTime": format_timestamp(micros),
        "producer": _PRODUCER,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": f"00000000-0000-7000-8000-{number:012x}", "facets": None},
        "job": {"namespace": "jobs", "name": f"job_{number % 500}", "facets": None},
        "inputs": [],
        "outputs": [dataset],
    }


if __name__ == "__main__":
    main()
