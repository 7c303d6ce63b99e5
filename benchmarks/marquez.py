"""Measures speed and memory of a pull of the complete Marquez log; memory must not grow with the log.

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
#: Maximum memory for all events relative to half of them; caches are full by then.
_MAX_GROWTH = 1.1


class Measurement(NamedTuple):
    """Result of a pull."""

    events: int
    seconds: float
    megabytes: float


def main() -> None:
    """Measure a tenth, half and all of the events."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--serve", type=int)
    arguments = parser.parse_args()
    if arguments.serve:
        _serve(arguments.serve)
        return
    tenth, half, full = (_pull(count) for count in (arguments.events // 10, arguments.events // 2, arguments.events))
    print("| events | seconds | events/s | peak memory |\n|---|---|---|---|")
    for result in (tenth, half, full):
        rate = result.events / result.seconds
        print(f"| {result.events:,} | {result.seconds:.1f} | {rate:,.0f} | {result.megabytes:.0f} MB |")
    print(f"memory relative to half of the events: {full.megabytes / half.megabytes:.2f} (maximum {_MAX_GROWTH})")
    if full.megabytes > _MAX_GROWTH * half.megabytes:
        sys.exit(1)


def _pull(count: int) -> Measurement:
    """Pull events in a separate process."""
    server = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.marquez", "--serve", str(count)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "LINEAGE_BRIDGE__STORE__URL": f"sqlite:///{Path(folder) / 'store.db'}"}
            start = time.monotonic()
            command = [sys.executable, "-m", "bridge", "marquez", "pull", url, "--no-lists"]
            child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
            assert child.stdout is not None
            output = child.stdout.read()
            _, status, usage = os.wait4(child.pid, 0)
            seconds = time.monotonic() - start
        assert (status, output.split(" ")[0]) == (0, str(count)), output
        return Measurement(count, seconds, usage.ru_maxrss / 1024)
    finally:
        server.terminate()
        server.wait()


def _serve(count: int) -> None:
    """Run a stand-in whose log has several events per second, until killed."""
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
