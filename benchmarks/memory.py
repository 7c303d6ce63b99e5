"""Measures the memory of a service over a million events; it must not grow with their number.

python -m benchmarks.memory                   a million real Spark events in batches, about fifteen minutes
python -m benchmarks.memory --events 100000   fewer
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks.events import new_events, real_events
from benchmarks.intake import post, services

_STEPS = 10
_CHUNK = 2_000


def resident_mb(pid: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")) / 1024


def main() -> None:
    """Print resident memory after every tenth of the events."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    total = parser.parse_args().events
    with (
        tempfile.TemporaryDirectory() as folder,
        services(1, f"sqlite:///{Path(folder) / 'store.db'}") as (targets, pids),
    ):
        batches = [target._replace(path=b"/api/v1/lineage/batch", accepted=(b" 204 ",)) for target in targets]
        print(f"{0:10} events {resident_mb(pids[0]):8.0f} MB", flush=True)
        sent = 0
        for step in range(1, _STEPS + 1):
            while sent < total * step // _STEPS:
                # Nine of ten events are new runs of known jobs, as in production; the tenth has new names only.
                repeated = real_events(_CHUNK * 9 // 10, day=sent // _CHUNK)
                events = [*repeated, *new_events(_CHUNK - len(repeated), start=sent)]
                post("", batches, pids, events, 2, batch=100)
                sent += _CHUNK
            print(f"{sent:10} events {resident_mb(pids[0]):8.0f} MB", flush=True)


if __name__ == "__main__":
    main()
