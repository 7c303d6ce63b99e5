"""Runs a small job with a conf, and checks whether its events arrive."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from connectors.errors import Unreachable
from connectors.openlineage.http import BridgeClient
from connectors.spark.conf_problem import SERVICE_NOT_RUNNING, ConfProblem, ProblemEffect
from connectors.spark.listener_keys import KeySpec, ValueType
from connectors.spark.log_diagnosis import diagnose_delivery, diagnose_job, transport_keys
from connectors.spark.submit import SparkInstallation, submit_job
from connectors.spark.value_check import value_problem

_TAKES_EVENTS = "/api/v1/lineage"


def check_services(conf: Mapping[str, str]) -> Iterator[ConfProblem]:
    """Ask every service that a conf sends events to."""
    for key in transport_keys(conf, "http", "url"):
        if value_problem(KeySpec(ValueType.url), url := conf[key]):
            continue
        try:
            with BridgeClient(_base(url, conf.get(f"{key.removesuffix('url')}endpoint", ""))) as service:
                status = service.readiness_status()
        except Unreachable:
            yield ConfProblem(key, ProblemEffect.silent, *SERVICE_NOT_RUNNING)
            continue
        if status == 503:
            yield ConfProblem(key, ProblemEffect.silent, "is of a service that is not ready", "its /readyz says why")


def _base(url: str, endpoint: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{(endpoint or parts.path).rstrip('/').removesuffix(_TAKES_EVENTS)}"


_HERE = Path(__file__).parent
_OPTIONS = "spark.driver.extraJavaOptions"
#: What the listener says of an event: it went out, its transport failed, or one of several transports did.
_SENT = re.compile(r"Emitting lineage completed successfully")
_NOT_SENT = re.compile(r"Could not emit lineage w/ exception")
_BROKEN_OFF = re.compile(r"^java\.lang\.RuntimeException: Transport \w+ failed to emit event", re.MULTILINE)
_HTTP_FAILED = re.compile(
    r"^(?:java\.util\.concurrent\.ExecutionException: )?java\.lang\.RuntimeException: "
    r"Transport HttpTransport failed to emit event",
    re.MULTILINE,
)


class ProbeResult(NamedTuple):
    """What became of the events of a job: how many it made, and how many arrived where the conf sends them."""

    made: int
    arrived: dict[str, int]
    findings: list[ConfProblem]


def probe(spark: SparkInstallation, conf: Mapping[str, str], folder: Path, log: Path, seconds: float) -> ProbeResult:
    """Run the job in a folder of its own and judge by what its driver said and by the files of events."""
    files = {key: Path(conf[key].strip()) for key in transport_keys(conf, "file", "location")}
    before = {key: _size(path) for key, path in files.items()}
    job = submit_job(spark, _HERE / "probe_job.py", [], _job_conf(conf), folder, log)
    try:
        code: int | None = job.wait(seconds)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        _end(job)
    said = log.read_text(encoding="utf-8", errors="replace")
    made = sum(len(words.findall(said)) for words in (_SENT, _NOT_SENT, _BROKEN_OFF))
    lost = len(_NOT_SENT.findall(said)) + len(_HTTP_FAILED.findall(said))
    arrived = {key: _events(path, before[key], folder.name) for key, path in files.items()}
    arrived |= {key: max(0, made - lost) for key in transport_keys(conf, "http", "url")}
    findings = [*diagnose_job(conf, said, code, made, seconds), *diagnose_delivery(conf, said)]
    findings += list(_missing(arrived, made, {finding.key.rpartition(".")[0] for finding in findings}))
    return ProbeResult(made, arrived, list(dict.fromkeys(findings)))


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


def _events(path: Path, start_at: int, folder: str) -> int:
    """Count what the job appended: events that name its folder, and those of the same runs and their parents."""
    if not path.is_file():
        return 0
    with path.open("rb") as file:
        file.seek(start_at)
        lines = file.readlines()
    runs = {run for line in lines if folder.encode() in line for run in _run_ids(line)}
    return sum(not runs.isdisjoint(_run_ids(line)[:1]) for line in lines)


def _run_ids(line: bytes) -> list[str]:
    """Give the run of an event and the run that started it."""
    try:
        run = json.loads(line)["run"]
        parent = run.get("facets", {}).get("parent", {}).get("run", {})
        return [str(one["runId"]) for one in (run, parent) if "runId" in one]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []


def _missing(arrived: Mapping[str, int], made: int, told: set[str]) -> Iterator[ConfProblem]:
    """Tell of a place that lacks events for no reason that was told yet."""
    for key, count in arrived.items():
        transport = key.rpartition(".")[0]
        if count < made and not any(section.startswith(transport) for section in told):
            problem = f"has {count} of the {made} events that were made"
            yield ConfProblem(key, ProblemEffect.silent, problem, "see whether something empties or replaces it")
