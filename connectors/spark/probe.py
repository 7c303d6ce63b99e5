"""Runs a small job through a conf, and says whether its events arrived and, if not, why."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from connectors.spark.conf import PREFIX
from connectors.spark.findings import Effect, Finding
from connectors.spark.submit import Spark, start
from connectors.spark.symptoms import job_findings, sending_findings

_HERE = Path(__file__).parent
_SENT = re.compile(r"Emitting lineage completed successfully\s+with run id: ([0-9a-f-]{36})")
_NOT_SENT = "Could not emit lineage w/ exception"
_OPTIONS = "spark.driver.extraJavaOptions"


class Probe(NamedTuple):
    """What became of the events of a job."""

    made: int
    arrived: int
    findings: list[Finding]


def probe(spark: Spark, conf: Mapping[str, str], folder: Path, log: Path, seconds: float) -> Probe:
    """Run the job in a folder of its own and judge by what its driver said and by the files of events."""
    before = {path: _size(path) for path in event_files(conf).values()}
    job = start(spark, _HERE / "check_job.py", [], _job_conf(conf), folder, log)
    try:
        code: int | None = job.wait(seconds)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        _end(job)
    said = log.read_text(encoding="utf-8", errors="replace")
    runs = _SENT.findall(said)
    made = len(runs) + said.count(_NOT_SENT)
    kept = {key: _events(path, before[path], set(runs)) for key, path in event_files(conf).items()}
    findings = [*job_findings(conf, said, code, made, seconds), *sending_findings(conf, said)]
    findings += _missing_in_files(kept, len(runs), findings)
    return Probe(made, min([len(runs), *kept.values()]), list(dict.fromkeys(findings)))


def event_files(conf: Mapping[str, str]) -> dict[str, Path]:
    """Give the files that events are appended to, by the key that names them."""
    wanted = re.compile(re.escape(PREFIX) + r"transport\.(?:transports\.[^.]+\.)?location")
    named = {key: Path(value.strip()) for key, value in conf.items() if wanted.fullmatch(key) and value.strip()}
    kinds = {key: conf.get(f"{key.removesuffix('location')}type", "").lower() for key in named}
    return {key: path for key, path in named.items() if kinds[key] == "file"}


def _job_conf(conf: Mapping[str, str]) -> dict[str, str]:
    """Add what makes a small local job of it; what the listener says is kept whatever the log level is."""
    settings = f'"-Dlog4j2.configurationFile={(_HERE / "log4j2.properties").as_uri()}"'
    return dict(conf) | {
        "spark.master": "local[1]",
        "spark.submit.deployMode": "client",
        "spark.ui.enabled": "false",
        "spark.app.name": "lineage-bridge check",
        _OPTIONS: f"{conf.get(_OPTIONS, '')} {settings}".strip(),
    }


def _end(job: "subprocess.Popen[bytes]") -> None:
    """End a job and what it started; one that has ended by itself has nobody left."""
    if job.poll() is None:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _events(path: Path, start_at: int, runs: set[str]) -> int:
    """Count the events that were appended and are of these runs: other jobs may write into the same file."""
    if not path.is_file():
        return 0
    with path.open("rb") as file:
        file.seek(start_at)
        return sum(_run_of(line) in runs for line in file)


def _run_of(line: bytes) -> str | None:
    try:
        run: str = json.loads(line)["run"]["runId"]
    except (ValueError, KeyError, TypeError):
        return None
    return run


def _missing_in_files(kept: Mapping[str, int], sent: int, told: list[Finding]) -> Iterator[Finding]:
    for key, count in kept.items():
        if count < sent and not any(finding.key == key for finding in told):
            problem = f"holds {count} of the {sent} events that the listener says it wrote"
            yield Finding(key, Effect.silent, problem, "see whether something empties or replaces the file")
