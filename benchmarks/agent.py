"""Measures what the agent adds to a command that does nothing: with the service up, down, and behind a black hole.

python -m benchmarks.agent [--rounds 60]
"""

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from benchmarks.intake import free_port, services
from connectors.agent import lineage_bridge_agent as agent

#: What the agent may add at the median.
_BUDGET_MS = 100.0
_BARE = ["true"]


class Case(NamedTuple):
    """One way to run the command."""

    name: str
    command: list[str]
    environment: dict[str, str]


@contextmanager
def black_hole() -> Iterator[str]:
    """Give an address that answers no call: its queue is full, and nobody takes from it."""
    with ExitStack() as opened:
        server = opened.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        with suppress(TimeoutError):
            while True:
                one = opened.enter_context(socket.socket())
                one.settimeout(0.5)
                one.connect(server.getsockname())
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def cases(up: str, hole: str, folder: Path) -> list[Case]:
    """List the ways to run the command; each keeps its own spool."""
    run = [sys.executable, agent.__file__, "run", "--", *_BARE]
    found = [
        Case("bare", _BARE, {}),
        Case("a Python that does nothing", [sys.executable, "-c", "pass"], {}),
    ]
    for name, url in (("up", up), ("down", f"http://127.0.0.1:{free_port()}"), ("black hole", hole)):
        place = folder / name
        variables = {"LINEAGE_BRIDGE_URL": url, "LINEAGE_BRIDGE_SPOOL": str(place), "AUTO_JOB_NAME": "BENCH"}
        found.append(Case(f"agent, service {name}", run, variables))
    return found


def measure(case: Case, number: int) -> float:
    """Run the command once; gives milliseconds."""
    environment = os.environ | case.environment | {"AUTORUN": str(number)}
    began = time.perf_counter()
    subprocess.run(case.command, env=environment, check=True)
    lasted = time.perf_counter() - began
    if place := case.environment.get("LINEAGE_BRIDGE_SPOOL"):
        rest(agent.Spool(place))
    return lasted * 1e3


def rest(spool: agent.Spool) -> None:
    """Wait till the service has what it takes, or forget it, so that no courier is left at work beside the next."""
    until = time.monotonic() + 0.2
    while spool.waiting() and time.monotonic() < until:
        time.sleep(0.01)
    for name in spool.waiting():
        spool.remove(name)


def main() -> int:
    """Run all cases in turns, and print their medians and what each adds."""
    words = argparse.ArgumentParser()
    words.add_argument("--rounds", type=int, default=60)
    rounds = words.parse_args().rounds
    with tempfile.TemporaryDirectory() as named, black_hole() as hole, ExitStack() as opened:
        folder = Path(named)
        targets, _ = opened.enter_context(services(1, f"sqlite:///{folder / 'store.db'}"))
        listed = cases(f"http://127.0.0.1:{targets[0].port}", hole, folder)
        took: dict[str, list[float]] = {case.name: [] for case in listed}
        for number in range(rounds):
            for case in listed:
                took[case.name].append(measure(case, number))
    bare = statistics.median(took[listed[0].name])
    print(f"{rounds} rounds in turns; budget: {_BUDGET_MS:g} ms more at the median\n")
    print(f"{'':28} {'median':>9} {'adds':>9} {'p95':>9}")
    missed = False
    for name, found in took.items():
        median, worst = statistics.median(found), statistics.quantiles(found, n=20)[-1]
        missed = missed or median - bare >= _BUDGET_MS
        print(f"{name:28} {median:6.1f} ms {median - bare:6.1f} ms {worst:6.1f} ms")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
