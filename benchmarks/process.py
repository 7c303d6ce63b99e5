"""Measures what a process costs over the same PySpark written by hand: from the start of its process to the end.

python -m benchmarks.process             12 million rows, three rounds, about ten minutes
python -m benchmarks.process --quick     1 million rows, one round
"""

import argparse
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from bridge.settings import PREFIX
from connectors.spark.submit import Spark, find_spark

_HERE = Path(__file__).parent
_JOB, _PROCESS = _HERE / "process_job.py", _HERE / "process.yaml"
_CONF = {"spark.master": "local[2]", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
#: What may be added to what is written by hand: a share of it, and seconds.
_SHARE, _SECONDS = 0.1, 2.0
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
    """How long a run took, and each of its stages."""

    whole: float
    stages: tuple[float, ...]


def command_of(variant: Variant, source: Path, folder: Path) -> list[str]:
    """Give the command that does the work into a new folder."""
    if variant.job is not None:
        return [sys.executable, str(_JOB), variant.job, str(source), str(folder / "daily"), json.dumps(_CONF)]
    conf = [word for key, value in _CONF.items() for word in ("--conf", f"{key}={value}")]
    run = ["-m", "bridge", "process", "run", str(_PROCESS), "--param", f"source={source}"]
    return [sys.executable, *run, "--lake", str(folder / "lake"), *conf]


def measure(spark: Spark, variant: Variant, source: Path) -> Took:
    """Do the work once, and look at the clock whenever it says that a stage has ended."""
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        settings = {f"{PREFIX}STORE__URL": f"sqlite:///{folder}/store.db", f"{PREFIX}PROCESS__WORK": f"{folder}/work"}
        ended = _run(spark, command_of(variant, source, folder), settings)
    begun, *rest = ended
    marks = [begun]
    for mark in rest:
        marks.append(mark or marks[-1])
    return Took(marks[-1] - begun, tuple(after - before for before, after in itertools.pairwise(marks)))


def _run(spark: Spark, command: list[str], settings: dict[str, str]) -> list[float | None]:
    """Run a command; gives when it began, when each stage ended, if it told, and when all had ended."""
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
    return [begun, *(ends.get(i) for i in range(len(_ENDS))), time.perf_counter()]


def make_lake(spark: Spark, rows: int, source: Path) -> None:
    """Write what is read."""
    _run(spark, [sys.executable, str(_JOB), "make", str(rows), str(source), json.dumps(_CONF)], {})


def median(took: list[Took]) -> Took:
    """Give the medians of a whole and of its stages."""
    stages = zip(*(one.stages for one in took), strict=True)
    return Took(statistics.median(one.whole for one in took), tuple(map(statistics.median, stages)))


def show(title: str, took: dict[Variant, Took]) -> None:
    """Print a table: seconds, the ratio to what is written by hand, and where the time went."""
    print(f"\n{title:24}{'whole':>9}{'ratio':>7}  " + "".join(f"{stage:>19}" for stage in _STAGES))
    for variant, one in took.items():
        stages = "".join(f"{seconds:17.1f} s" for seconds in one.stages)
        print(f"{variant.name:24}{one.whole:7.1f} s{one.whole / took[HAND].whole:7.2f}  {stages}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, help="How many trades are read.")
    parser.add_argument("--rounds", type=int)
    given = parser.parse_args()
    rows = given.rows or (1_000_000 if given.quick else 12_000_000)
    rounds = given.rounds or (1 if given.quick else 3)
    spark = find_spark()
    with tempfile.TemporaryDirectory() as named:
        lakes = {f"{rows:,} rows": Path(named) / "full", "no rows": Path(named) / "empty"}
        for count, lake in zip((rows, 0), lakes.values(), strict=True):
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


if __name__ == "__main__":
    main()
