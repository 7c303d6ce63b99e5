"""Measures the overhead of the agent for a command that does nothing, with the service up, down and unresponsive.

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

#: Maximum overhead of the agent at the median.
_BUDGET_MS = 100.0
_COMMAND = ["true"]


class Case(NamedTuple):
    """One way to run the command."""

    name: str
    command: list[str]
    environment: dict[str, str]


@contextmanager
def black_hole() -> Iterator[str]:
    """Yield a URL to which connections time out: the listen queue is full and nothing accepts."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        with suppress(TimeoutError):
            while True:
                client = stack.enter_context(socket.socket())
                client.settimeout(0.5)
                client.connect(server.getsockname())
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def build_cases(up_url: str, black_hole_url: str, directory: Path) -> list[Case]:
    """Build the cases; each has its own spool."""
    run = [sys.executable, agent.__file__, "run", "--", *_COMMAND]
    cases = [
        Case("command only", _COMMAND, {}),
        Case("Python that does nothing", [sys.executable, "-c", "pass"], {}),
    ]
    down_url = f"http://127.0.0.1:{free_port()}"
    for name, url in (("up", up_url), ("down", down_url), ("black hole", black_hole_url)):
        spool_root = str(directory / name)
        variables = {"LINEAGE_BRIDGE_URL": url, "LINEAGE_BRIDGE_SPOOL": spool_root, "AUTO_JOB_NAME": "BENCH"}
        cases.append(Case(f"agent, service {name}", run, variables))
    return cases


def measure_ms(case: Case, run_number: int) -> float:
    """Run the command once; return milliseconds."""
    environment = os.environ | case.environment | {"AUTORUN": str(run_number)}
    start = time.perf_counter()
    subprocess.run(case.command, env=environment, check=True)
    elapsed = time.perf_counter() - start
    if spool_root := case.environment.get("LINEAGE_BRIDGE_SPOOL"):
        drain(agent.Spool(spool_root))
    return elapsed * 1e3


def drain(spool: agent.Spool) -> None:
    """Wait until the events are delivered or delete them, so that no sender runs during the next measurement."""
    deadline = time.monotonic() + 0.2
    while spool.pending_names() and time.monotonic() < deadline:
        time.sleep(0.01)
    for name in spool.pending_names():
        spool.remove(name)


def main() -> int:
    """Run all cases in turns; print median, overhead and 95th percentile of each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as temporary, black_hole() as black_hole_url, ExitStack() as stack:
        directory = Path(temporary)
        targets, _ = stack.enter_context(services(1, f"sqlite:///{directory / 'store.db'}"))
        cases = build_cases(f"http://127.0.0.1:{targets[0].port}", black_hole_url, directory)
        times: dict[str, list[float]] = {case.name: [] for case in cases}
        for round_number in range(rounds):
            for case in cases:
                times[case.name].append(measure_ms(case, round_number))
    baseline = statistics.median(times[cases[0].name])
    print(f"{rounds} rounds in turns; budget: {_BUDGET_MS:g} ms more at the median\n")
    print(f"{'':28} {'median':>9} {'adds':>9} {'p95':>9}")
    over_budget = False
    for name, samples in times.items():
        median, p95 = statistics.median(samples), statistics.quantiles(samples, n=20)[-1]
        over_budget = over_budget or median - baseline >= _BUDGET_MS
        print(f"{name:28} {median:6.1f} ms {median - baseline:6.1f} ms {p95:6.1f} ms")
    return 1 if over_budget else 0


if __name__ == "__main__":
    sys.exit(main())
