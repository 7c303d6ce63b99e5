"""Measures time, memory and correctness of a scan of generated JIL with known dependencies.

python -m benchmarks.autosys [--jobs 10000]
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

_BUDGET_SECONDS, _BUDGET_MB = 10.0, 300.0


class Truth(NamedTuple):
    """Expected result: dependencies, enclosing boxes and datasets per job."""

    dependencies: dict[str, set[tuple[str, str]]]
    boxes: dict[str, tuple[str, ...]]
    datasets: dict[str, set[tuple[str, str]]]


_RULES = {"s": "SUCCESS", "f": "FAILURE", "d": "DONE", "t": "TERMINATED"}
_SPELLINGS = {"s": ("s", "success", "S"), "f": ("f", "failure"), "d": ("d", "done"), "t": ("t", "terminated")}


def make_estate(jobs: int, seed: int = 1) -> tuple[str, Truth]:
    """Generate JIL and the expected result of its scan."""
    rng = random.Random(seed)
    lines: list[str] = []
    truth = Truth({}, {}, {})
    boxes: list[tuple[str, tuple[str, ...]]] = [("", ())]
    earlier_jobs: list[str] = []
    for number in range(jobs):
        box, outer_boxes = rng.choice(boxes[-40:])
        is_box = rng.random() < 0.1
        name = f"{'BOX' if is_box else 'JOB'}_{number:05d}" + ("\\:X" if rng.random() < 0.02 else "")
        plain = name.replace("\\:", ":")
        lines.append(f"/* ----------------- {plain} ----------------- */\n")
        lines.append(f"insert_job: {name}   job_type: {'BOX' if is_box else rng.choice(['CMD', 'c', 'c', 'c'])}")
        enclosing_boxes = (*outer_boxes, box) if box else ()
        truth.boxes[plain] = enclosing_boxes
        if box:
            lines.append(f"box_name: {box.replace(':', chr(92) + ':')}")
        if is_box and len(enclosing_boxes) < 6:
            boxes.append((plain, enclosing_boxes))
        truth.dependencies[plain] = set()
        truth.datasets[plain] = set()
        lines += _condition(rng, earlier_jobs, truth.dependencies[plain])
        lines += _attributes(rng, number, truth.datasets[plain], is_box=is_box)
        earlier_jobs.append(plain)
    return "\n".join(lines) + "\n", truth


def _condition(rng: random.Random, earlier_jobs: list[str], dependencies: set[tuple[str, str]]) -> list[str]:
    """Condition on earlier jobs; `notrunning` is not a dependency."""
    if not earlier_jobs or rng.random() < 0.3:
        return []
    parts = []
    for _ in range(rng.randint(1, 4)):
        other = rng.choice(earlier_jobs[-500:])
        written = other.replace(":", "\\:")
        roll = rng.random()
        if roll < 0.1:
            parts.append(f"n({written})")
        elif roll < 0.2:
            code = rng.randint(0, 9)
            parts.append(f"e({written}) <= {code}")
            dependencies.add((other, f"EXITCODE <= {code}"))
        else:
            kind = rng.choice("sssfdt")
            back = rng.choice(["", "", ",00.30", ", 12", ",9999"])
            parts.append(f"{rng.choice(_SPELLINGS[kind])}({written}{back})")
            dependencies.add((other, _RULES[kind]))
    text = parts[0]
    for part in parts[1:]:
        text += f" {rng.choice(['&', '|', 'AND', 'or'])} {part}"
    if rng.random() < 0.2 and " & " in text:
        return ["condition: " + text.replace(" & ", " &\n    ")]
    return [f"condition: {text}"]


def _attributes(rng: random.Random, number: int, datasets: set[tuple[str, str]], *, is_box: bool) -> list[str]:
    """Owner, schedule, command and files of a job."""
    lines = ["owner: batch@host1", f'description: "does: thing {number}"']
    if rng.random() < 0.3:
        lines += ["date_conditions: 1", "days_of_week: mo,tu,we", 'start_times: "04:00,\n  16:00"']
    if is_box:
        return lines
    lines.append("machine: host1")
    roll = rng.random()
    source, target = f"/in/f{number}.csv", f"/lake/f{number}.csv"
    if roll < 0.3:
        lines.append(f"command: cp {source} {target}")
        datasets |= {("input", source), ("output", target)}
    elif roll < 0.5:
        lines.append(
            f"command: spark-submit --master yarn /opt/j.py --input {source} --output={target} --password s3cret"
        )
        datasets |= {("input", source), ("output", target)}
    elif roll < 0.6:
        lines += [f"std_in_file: {source}", "command: /opt/load.sh"]
        datasets.add(("input", source))
    else:
        lines += [f"command: /opt/run.sh {number} > /var/log/run{number}.log 2>&1", "std_out_file: >/logs/x.out"]
    return lines


def scan(file: Path, folder: Path) -> tuple[float, float, dict[str, object]]:
    """Scan in a separate process; return seconds, megabytes and the JSON output."""
    environment = os.environ | {"LINEAGE_BRIDGE__STORE__URL": f"sqlite:///{folder}/store.db"}
    start = time.monotonic()
    process = subprocess.run(
        [sys.executable, "-m", "bridge", "autosys", "scan", str(file), "--instance", "PRD", "--output", "json"],
        env=environment, capture_output=True, check=True,
    )  # fmt: skip
    seconds = time.monotonic() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    output: dict[str, object] = json.loads(process.stdout)
    return seconds, peak, output


def differences(output: dict[str, object], truth: Truth) -> list[str]:
    """Compare the output of a scan with the expected result."""
    errors = []
    jobs = {job["name"]: job for job in output["jobs"]}  # type: ignore[index, attr-defined] - JSON of our command
    if jobs.keys() != truth.dependencies.keys():
        errors.append(f"jobs: {len(jobs.keys() ^ truth.dependencies.keys())} differ")
    for name, job in jobs.items():
        dependencies = {(item["job"], item["rule"]) for item in job["waits_for"]}
        datasets = {(item["side"], item["name"]) for item in job["datasets"]}
        for kind, actual, expected in (
            ("dependencies", dependencies, truth.dependencies[name]),
            ("boxes", tuple(job["boxes"]), truth.boxes[name]),
            ("datasets", datasets, truth.datasets[name]),
        ):
            if actual != expected:
                errors.append(f"{name} {kind}: {actual}, expected {expected}")
    return errors


def main() -> int:
    """Generate JIL, scan it twice, and print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=10_000)
    jobs = parser.parse_args().jobs
    text, truth = make_estate(jobs)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "estate.jil"
        file.write_text(text, encoding="utf-8")
        first_seconds, peak, output = scan(file, Path(folder))
        second_seconds, _, second_output = scan(file, Path(folder))
    errors = differences(output, truth)
    dependency_count = sum(map(len, truth.dependencies.values()))
    print(f"{jobs:,} jobs, {len(text) / 1e6:.1f} MB, {dependency_count:,} dependencies, {len(errors)} errors")
    print(f"first scan {first_seconds:.1f} s (budget {_BUDGET_SECONDS:g}), second scan {second_seconds:.1f} s")
    print(f"memory {peak:.0f} MB (budget {_BUDGET_MB:g})")
    for error in errors[:10]:
        print(error)
    unchanged = second_output["scan"]["unchanged"]  # type: ignore[index] - as above
    return 1 if errors or unchanged != jobs else 0


if __name__ == "__main__":
    sys.exit(main())
