"""An estate of many jobs, made with its own truth: how long a scan takes, how much memory, and whether it is right.

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
    """What the definitions mean: who waits for whom and how, who lies in which boxes, what is read and written."""

    waits: dict[str, set[tuple[str, str]]]
    boxes: dict[str, tuple[str, ...]]
    datasets: dict[str, set[tuple[str, str]]]


_RULES = {"s": "SUCCESS", "f": "FAILURE", "d": "DONE", "t": "TERMINATED"}
_SPELLINGS = {"s": ("s", "success", "S"), "f": ("f", "failure"), "d": ("d", "done"), "t": ("t", "terminated")}


def make_estate(jobs: int, seed: int = 1) -> tuple[str, Truth]:
    """Write the JIL of so many jobs, and what it means."""
    dice = random.Random(seed)
    lines: list[str] = []
    truth = Truth({}, {}, {})
    boxes: list[tuple[str, tuple[str, ...]]] = [("", ())]
    named: list[str] = []
    for number in range(jobs):
        box, around = dice.choice(boxes[-40:])
        is_box = dice.random() < 0.1
        name = f"{'BOX' if is_box else 'JOB'}_{number:05d}" + ("\\:X" if dice.random() < 0.02 else "")
        plain = name.replace("\\:", ":")
        lines.append(f"/* ----------------- {plain} ----------------- */\n")
        lines.append(f"insert_job: {name}   job_type: {'BOX' if is_box else dice.choice(['CMD', 'c', 'c', 'c'])}")
        inside = (*around, box) if box else ()
        truth.boxes[plain] = inside
        if box:
            lines.append(f"box_name: {box.replace(':', chr(92) + ':')}")
        if is_box and len(inside) < 6:
            boxes.append((plain, inside))
        truth.waits[plain] = set()
        truth.datasets[plain] = set()
        lines += _condition(dice, named, truth.waits[plain])
        lines += _what(dice, number, truth.datasets[plain], is_box=is_box)
        named.append(plain)
    return "\n".join(lines) + "\n", truth


def _condition(dice: random.Random, named: list[str], waits: set[tuple[str, str]]) -> list[str]:
    """Write a condition over jobs before, of which what is not running is no dependency."""
    if not named or dice.random() < 0.3:
        return []
    parts = []
    for _ in range(dice.randint(1, 4)):
        other = dice.choice(named[-500:])
        written = other.replace(":", "\\:")
        roll = dice.random()
        if roll < 0.1:
            parts.append(f"n({written})")
        elif roll < 0.2:
            code = dice.randint(0, 9)
            parts.append(f"e({written}) <= {code}")
            waits.add((other, f"EXITCODE <= {code}"))
        else:
            kind = dice.choice("sssfdt")
            back = dice.choice(["", "", ",00.30", ", 12", ",9999"])
            parts.append(f"{dice.choice(_SPELLINGS[kind])}({written}{back})")
            waits.add((other, _RULES[kind]))
    text = parts[0]
    for part in parts[1:]:
        text += f" {dice.choice(['&', '|', 'AND', 'or'])} {part}"
    if dice.random() < 0.2 and " & " in text:
        return ["condition: " + text.replace(" & ", " &\n    ")]
    return [f"condition: {text}"]


def _what(dice: random.Random, number: int, datasets: set[tuple[str, str]], *, is_box: bool) -> list[str]:
    """Write what a job does, when, and what it reads and writes."""
    lines = ["owner: batch@host1", f'description: "does: thing {number}"']
    if dice.random() < 0.3:
        lines += ["date_conditions: 1", "days_of_week: mo,tu,we", 'start_times: "04:00,\n  16:00"']
    if is_box:
        return lines
    lines.append("machine: host1")
    roll = dice.random()
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
    """Scan in a process of its own; gives seconds, megabytes and what it says."""
    environment = os.environ | {"LINEAGE_BRIDGE__STORE__URL": f"sqlite:///{folder}/store.db"}
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "bridge", "autosys", "scan", str(file), "--instance", "PRD", "--output", "json"],
        env=environment, capture_output=True, check=True,
    )  # fmt: skip
    lasted = time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    found: dict[str, object] = json.loads(done.stdout)
    return lasted, peak, found


def mistakes(found: dict[str, object], truth: Truth) -> list[str]:
    """Say where a scan and the truth differ."""
    wrong = []
    jobs = {one["name"]: one for one in found["jobs"]}  # type: ignore[index, attr-defined] - JSON of our own command
    if jobs.keys() != truth.waits.keys():
        wrong.append(f"jobs: {len(jobs.keys() ^ truth.waits.keys())} differ")
    for name, job in jobs.items():
        waits = {(one["job"], one["rule"]) for one in job["waits_for"]}
        datasets = {(one["side"], one["name"]) for one in job["datasets"]}
        for what, is_, should in (
            ("waits", waits, truth.waits[name]),
            ("boxes", tuple(job["boxes"]), truth.boxes[name]),
            ("datasets", datasets, truth.datasets[name]),
        ):
            if is_ != should:
                wrong.append(f"{name} {what}: {is_} for {should}")
    return wrong


def main() -> int:
    """Make an estate, scan it twice, and print the figures."""
    words = argparse.ArgumentParser()
    words.add_argument("--jobs", type=int, default=10_000)
    jobs = words.parse_args().jobs
    text, truth = make_estate(jobs)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "estate.jil"
        file.write_text(text, encoding="utf-8")
        first, peak, found = scan(file, Path(folder))
        again, _, unchanged = scan(file, Path(folder))
    wrong = mistakes(found, truth)
    waits = sum(map(len, truth.waits.values()))
    print(f"{jobs:,} jobs, {len(text) / 1e6:.1f} MB, {waits:,} dependencies, {len(wrong)} differences from the truth")
    print(
        f"scan {first:.1f} s (budget {_BUDGET_SECONDS:g}), again {again:.1f} s, {peak:.0f} MB (budget {_BUDGET_MB:g})"
    )
    for one in wrong[:10]:
        print(one)
    as_before = unchanged["scan"]["unchanged"]  # type: ignore[index] - as above
    return 1 if wrong or as_before != jobs else 0


if __name__ == "__main__":
    sys.exit(main())
