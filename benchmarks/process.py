"""Measures what a process costs over the same PySpark written by hand: from the start of its process to the end.

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
#: What may be added to what is written by hand: a share of it, and seconds.
_SHARE, _SECONDS = 0.1, 2.0
#: So few that all that is measured is there whatever is read.
_FEW = 1_000
_PR_SET_CHILD_SUBREAPER = 36
#: What ends each stage, as it is said; the last ends with the process.
_STAGES = ("start, plan, read", "make, write", "check", "publish", "end")
_ENDS = (
    re.compile(r"(\S+ )?read\b"),
    re.compile(r"(\S+ )?wrote\b"),
    re.compile(r"(\S+ )?check(ed| passed)"),
    re.compile(r"\S+ published:"),
)


class Variant(NamedTuple):
    """One way to do the work; without a word for the hand-written job it is the process."""

    name: str
    job: str | None


BARE, HAND, PROCESS = (
    Variant("by hand, unchecked", "run"),
    Variant("by hand", "check"),
    Variant("process", None),
)


class Took(NamedTuple):
    """How long a run took, each of its stages, and what it used of the processors."""

    whole: float
    stages: tuple[float, ...]
    cpu: float


def command_of(variant: Variant, source: Path, folder: Path) -> list[str]:
    """Give the command that does the work into a new folder."""
    if variant.job is not None:
        return [sys.executable, str(_JOB), variant.job, str(source), str(folder / "daily"), json.dumps(_CONF)]
    conf = [word for key, value in _CONF.items() for word in ("--conf", f"{key}={value}")]
    run = ["-m", "bridge", "process", "run", str(_PROCESS), "--param", f"source={source}"]
    return [sys.executable, *run, "--lake", str(folder / "lake"), *conf]


def measure(spark: SparkInstallation, variant: Variant, source: Path) -> Took:
    """Do the work once, and look at the clock whenever it says that a stage has ended."""
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        settings = {f"{PREFIX}STORE__URL": f"sqlite:///{folder}/store.db", f"{PREFIX}PROCESS__WORK": f"{folder}/work"}
        before = cpu_of_children()
        marks = _run(spark, command_of(variant, source, folder), settings)
        cpu = cpu_of_children() - before
    return Took(marks[-1] - marks[0], tuple(later - mark for mark, later in itertools.pairwise(marks)), cpu)


def adopt_orphans() -> None:
    """Let the Java of a Python that ends first be waited for here: else nobody counts what it used."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def cpu_of_children() -> float:
    """Wait for all children, and give the seconds of processors that they used."""
    with suppress(ChildProcessError):
        while True:
            os.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run(spark: SparkInstallation, command: list[str], settings: dict[str, str]) -> list[float]:
    """Run a command; gives when it began, when each stage ended, and when all had: what is not told took no time."""
    environment = os.environ | {"JAVA_HOME": str(spark.java_home)} | settings
    said: list[str] = []
    ends: dict[int, float] = {}
    begun = time.perf_counter()
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            ends |= {i: time.perf_counter() for i, pattern in enumerate(_ENDS) if pattern.match(line)}
    assert process.returncode == 0, "".join(said[-40:])
    marks = [begun]
    for i in range(len(_ENDS)):
        marks.append(ends.get(i, marks[-1]))
    return [*marks, time.perf_counter()]


def make_lake(spark: SparkInstallation, rows: int, source: Path) -> None:
    """Write what is read."""
    _run(spark, [sys.executable, str(_JOB), "make", str(rows), str(source), json.dumps(_CONF)], {})


def median(took: list[Took]) -> Took:
    """Give the medians of a whole, of its stages, and of the processors' seconds."""
    stages = tuple(map(statistics.median, zip(*(one.stages for one in took), strict=True)))
    return Took(statistics.median(one.whole for one in took), stages, statistics.median(one.cpu for one in took))


def show(title: str, took: dict[Variant, Took]) -> None:
    """Print a table: seconds, the ratio to what is written by hand, and where the time went."""
    columns = f"{'whole':>9}{'ratio':>7}{'CPU':>9}{'ratio':>7}  "
    print(f"\n{title:20}{columns}" + "".join(f"{stage:>19}" for stage in _STAGES))
    for variant, one in took.items():
        stages = "".join(f"{seconds:17.1f} s" for seconds in one.stages)
        whole = (
            f"{one.whole:7.1f} s{one.whole / took[HAND].whole:7.2f}{one.cpu:7.1f} s{one.cpu / took[HAND].cpu:7.2f}"
        )
        print(f"{variant.name:20}{whole}  {stages}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, help="How many trades are read.")
    parser.add_argument("--rounds", type=int)
    given = parser.parse_args()
    rows = given.rows or (1_000_000 if given.quick else 20_000_000)
    rounds = given.rounds or (1 if given.quick else 3)
    spark = find_spark()
    adopt_orphans()
    with tempfile.TemporaryDirectory() as named:
        lakes = {f"{count:,} rows": Path(named) / str(count) for count in (rows, _FEW)}
        for count, lake in zip((rows, _FEW), lakes.values(), strict=True):
            make_lake(spark, count, lake)
        took: dict[str, dict[Variant, list[Took]]] = {}
        for _ in range(rounds):
            for title, lake in lakes.items():
                for variant in (BARE, HAND, PROCESS):
                    took.setdefault(title, {}).setdefault(variant, []).append(measure(spark, variant, lake))
    for title, variants in took.items():
        medians = {variant: median(found) for variant, found in variants.items()}
        show(title, medians)
        hand, process = medians[HAND].whole, medians[PROCESS].whole
        allowed = _SHARE * hand + _SECONDS
        verdict = "within" if process - hand < allowed else "MISSES"
        print(f"overhead {process - hand:+.1f} s, {process / hand - 1:+.1%}: {verdict} the {allowed:.1f} s allowed")
        for variant, found in variants.items():
            print(f"  {variant.name}: {', '.join(f'{one.whole:.1f}' for one in sorted(found))} s")


if __name__ == "__main__":
    main()
