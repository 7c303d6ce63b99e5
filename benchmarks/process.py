"""Measures the overhead of a process over equivalent hand-written PySpark, including startup.

python -m benchmarks.process             20 million rows, three rounds, about ten minutes
python -m benchmarks.process --quick     1 million rows, one round
"""

import argparse
import ctypes
import itertools
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bridge.settings.model import PREFIX
from connectors.spark.submit import SparkInstallation, find_spark

_HERE = Path(__file__).parent
_JOB, _PROCESS = _HERE / "process_job.py", _HERE / "process.yaml"
_CONF = {"spark.master": "local[2]", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
#: Allowed overhead: a share of the hand-written job, plus seconds.
_SHARE, _SECONDS = 0.1, 2.0
#: Few rows show the fixed overhead.
_FEW = 1_000
_PR_SET_CHILD_SUBREAPER = 36
#: Output that ends each stage; the last stage ends with the process.
_STAGES = ("start, plan, read", "compute, write", "check", "publish", "end")
_STAGE_ENDS = (
    re.compile(r"(\S+ )?read\b"),
    re.compile(r"(\S+ )?wrote\b"),
    re.compile(r"(\S+ )?check(ed| passed)"),
    re.compile(r"\S+ published:"),
)


class Variant(NamedTuple):
    """One way to run the work; without an action of process_job.py, it is the process."""

    name: str
    action: str | None


BARE, HAND, PROCESS = (
    Variant("by hand, unchecked", "run"),
    Variant("by hand", "check"),
    Variant("process", None),
)


class Measurement(NamedTuple):
    """Seconds of a run, of its stages, and of CPU time."""

    total: float
    stages: tuple[float, ...]
    cpu: float


def build_command(variant: Variant, source: Path, folder: Path) -> list[str]:
    """Command that writes to a new folder."""
    if variant.action is not None:
        return [sys.executable, str(_JOB), variant.action, str(source), str(folder / "daily"), json.dumps(_CONF)]
    conf = [argument for key, value in _CONF.items() for argument in ("--conf", f"{key}={value}")]
    run = ["-m", "bridge", "process", "run", str(_PROCESS), "--param", f"source={source}"]
    return [sys.executable, *run, "--lake", str(folder / "lake"), *conf]


def measure(spark: SparkInstallation, variant: Variant, source: Path) -> Measurement:
    """Run the work once; measure when its output shows the end of a stage."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        settings = {f"{PREFIX}STORE__URL": f"sqlite:///{folder}/store.db", f"{PREFIX}PROCESS__WORK": f"{folder}/work"}
        cpu_before = cpu_of_children()
        times = _run(spark, build_command(variant, source, folder), settings)
        cpu = cpu_of_children() - cpu_before
    return Measurement(times[-1] - times[0], tuple(end - start for start, end in itertools.pairwise(times)), cpu)


def adopt_orphans() -> None:
    """Become the parent of Java processes that outlive their Python process, to count their CPU time."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def cpu_of_children() -> float:
    """Wait for all children; return their CPU seconds."""
    with suppress(ChildProcessError):
        while True:
            os.wait()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _run(spark: SparkInstallation, command: list[str], settings: dict[str, str]) -> list[float]:
    """Run a command; return its start time and the end times of its stages. Stages without output take no time."""
    environment = os.environ | {"JAVA_HOME": str(spark.java_home)} | settings
    output: list[str] = []
    ends: dict[int, float] = {}
    start = time.perf_counter()
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            output.append(line)
            ends |= {i: time.perf_counter() for i, pattern in enumerate(_STAGE_ENDS) if pattern.match(line)}
    assert process.returncode == 0, "".join(output[-40:])
    times = [start]
    for i in range(len(_STAGE_ENDS)):
        times.append(ends.get(i, times[-1]))
    return [*times, time.perf_counter()]


def make_lake(spark: SparkInstallation, rows: int, source: Path) -> None:
    """Write the inputs."""
    _run(spark, [sys.executable, str(_JOB), "make", str(rows), str(source), json.dumps(_CONF)], {})


def median(runs: list[Measurement]) -> Measurement:
    """Medians of total, stages and CPU time."""
    stages = tuple(map(statistics.median, zip(*(run.stages for run in runs), strict=True)))
    return Measurement(
        statistics.median(run.total for run in runs), stages, statistics.median(run.cpu for run in runs)
    )


def print_table(title: str, medians: dict[Variant, Measurement]) -> None:
    """Print seconds, ratios to the hand-written job, and seconds per stage."""
    columns = f"{'total':>9}{'ratio':>7}{'CPU':>9}{'ratio':>7}  "
    print(f"\n{title:20}{columns}" + "".join(f"{stage:>19}" for stage in _STAGES))
    hand = medians[HAND]
    for variant, run in medians.items():
        stages = "".join(f"{seconds:17.1f} s" for seconds in run.stages)
        totals = f"{run.total:7.1f} s{run.total / hand.total:7.2f}{run.cpu:7.1f} s{run.cpu / hand.cpu:7.2f}"
        print(f"{variant.name:20}{totals}  {stages}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, help="number of trades")
    parser.add_argument("--rounds", type=int)
    arguments = parser.parse_args()
    rows = arguments.rows or (1_000_000 if arguments.quick else 20_000_000)
    rounds = arguments.rounds or (1 if arguments.quick else 3)
    spark = find_spark()
    adopt_orphans()
    with tempfile.TemporaryDirectory() as temporary:
        lakes = {f"{count:,} rows": Path(temporary) / str(count) for count in (rows, _FEW)}
        for count, lake in zip((rows, _FEW), lakes.values(), strict=True):
            make_lake(spark, count, lake)
        results: dict[str, dict[Variant, list[Measurement]]] = {}
        for _ in range(rounds):
            for title, lake in lakes.items():
                for variant in (BARE, HAND, PROCESS):
                    results.setdefault(title, {}).setdefault(variant, []).append(measure(spark, variant, lake))
    for title, variants in results.items():
        medians = {variant: median(runs) for variant, runs in variants.items()}
        print_table(title, medians)
        hand, process = medians[HAND].total, medians[PROCESS].total
        allowed = _SHARE * hand + _SECONDS
        verdict = "within" if process - hand < allowed else "EXCEEDS"
        print(f"overhead {process - hand:+.1f} s, {process / hand - 1:+.1%}: {verdict} the allowed {allowed:.1f} s")
        for variant, runs in variants.items():
            print(f"  {variant.name}: {', '.join(f'{run.total:.1f}' for run in sorted(runs))} s")


if __name__ == "__main__":
    main()
