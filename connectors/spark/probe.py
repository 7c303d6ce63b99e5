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
from connectors.spark.submit import ClusterSubmit, SparkInstallation, submit_job
from connectors.spark.value_check import value_problem
from mappers.counts import count_of

_EVENT_ENDPOINT = "/api/v1/lineage"


def check_services(conf: Mapping[str, str]) -> Iterator[ConfProblem]:
    """Check that every service in a conf is ready."""
    for key in transport_keys(conf, "http", "url"):
        url = conf[key]
        if value_problem(KeySpec(ValueType.url), url):
            continue  # reported by the checks of the conf
        endpoint = conf.get(f"{key.removesuffix('url')}endpoint", "")
        try:
            with BridgeClient(_service_url(url, endpoint)) as service:
                status = service.fetch_readiness_status()
        except Unreachable:
            yield ConfProblem(key, ProblemEffect.events_lost, *SERVICE_NOT_RUNNING)
            continue
        if status == 503:
            yield ConfProblem(
                key, ProblemEffect.events_lost, "points to a service that is not ready", "check its /readyz"
            )


def _service_url(url: str, endpoint: str) -> str:
    parts = urlsplit(url)
    base_path = (endpoint or parts.path).rstrip("/").removesuffix(_EVENT_ENDPOINT)
    return f"{parts.scheme}://{parts.netloc}{base_path}"


_HERE = Path(__file__).parent
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
#: What the listener logs for an event: delivered, the transport failed, one of several transports failed.
_SENT = re.compile(r"Emitting lineage completed successfully")
_NOT_SENT = re.compile(r"Could not emit lineage w/ exception")
_TRANSPORT_FAILED = re.compile(r"^java\.lang\.RuntimeException: Transport \w+ failed to emit event", re.MULTILINE)
_HTTP_FAILED = re.compile(
    r"^(?:java\.util\.concurrent\.ExecutionException: )?java\.lang\.RuntimeException: "
    r"Transport HttpTransport failed to emit event",
    re.MULTILINE,
)


class ProbeResult(NamedTuple):
    """The number of emitted events, the number of received events by destination (conf key), and problems."""

    emitted_count: int
    received_counts: dict[str, int]
    problems: list[ConfProblem]


def probe(
    spark: SparkInstallation | ClusterSubmit, conf: Mapping[str, str], folder: Path, log: Path, seconds: float
) -> ProbeResult:
    """Run a small job with the conf, and count its events in the driver log and in the event files."""
    files = {key: Path(conf[key].strip()) for key in transport_keys(conf, "file", "location")}
    sizes_before = {key: _file_size(path) for key, path in files.items()}
    job = submit_job(spark, _HERE / "probe_job.py", [], _job_conf(conf), folder, log)
    try:
        exit_code: int | None = job.wait(seconds)
    except subprocess.TimeoutExpired:
        exit_code = None
    finally:
        _kill(job)
    log_text = log.read_text(encoding="utf-8", errors="replace")
    emitted_count = sum(len(pattern.findall(log_text)) for pattern in (_SENT, _NOT_SENT, _TRANSPORT_FAILED))
    failed_count = len(_NOT_SENT.findall(log_text)) + len(_HTTP_FAILED.findall(log_text))
    received_counts = {key: _count_new_events(path, sizes_before[key], folder.name) for key, path in files.items()}
    received_counts |= {key: max(0, emitted_count - failed_count) for key in transport_keys(conf, "http", "url")}
    problems = [*diagnose_job(conf, log_text, exit_code, emitted_count, seconds), *diagnose_delivery(conf, log_text)]
    reported_sections = {problem.key.rpartition(".")[0] for problem in problems}
    problems += _delivery_problems(received_counts, emitted_count, reported_sections)
    return ProbeResult(emitted_count, received_counts, list(dict.fromkeys(problems)))


def _job_conf(conf: Mapping[str, str]) -> dict[str, str]:
    """Adapt a conf to a small local job that always logs what the listener does."""
    logging_option = f'"-Dlog4j2.configurationFile={(_HERE / "log4j2.properties").as_uri()}"'
    return dict(conf) | {
        "spark.master": "local[1]",
        "spark.submit.deployMode": "client",
        "spark.ui.enabled": "false",
        "spark.app.name": "lineage-bridge check",
        _JAVA_OPTIONS: f"{conf.get(_JAVA_OPTIONS, '')} {logging_option}".strip(),
    }


def _kill(job: "subprocess.Popen[bytes]") -> None:
    """Kill a job and its child processes; do nothing if the job has ended."""
    if job.poll() is None:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def _file_size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _count_new_events(path: Path, offset: int, folder: str) -> int:
    """Count the events that the job appended.

    Runs are recognized by an event that contains the name of the job's folder; all events of such a run and of its
    parent run are counted.
    """
    if not path.is_file():
        return 0
    with path.open("rb") as file:
        file.seek(offset)
        lines = file.readlines()
    job_run_ids = {run_id for line in lines if folder.encode() in line for run_id in _run_ids(line)}
    event_run_ids = [next(iter(_run_ids(line)), None) for line in lines]
    return sum(run_id in job_run_ids for run_id in event_run_ids)


def _run_ids(line: bytes) -> list[str]:
    """Return the id of an event's run, followed by the id of its parent run, if any."""
    try:
        run = json.loads(line)["run"]
        parent = run.get("facets", {}).get("parent", {}).get("run", {})
        return [str(reference["runId"]) for reference in (run, parent) if "runId" in reference]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []


def _delivery_problems(
    received_counts: Mapping[str, int], emitted_count: int, reported_sections: set[str]
) -> Iterator[ConfProblem]:
    """Report destinations that lack events, unless a reason has already been reported."""
    for key, count in received_counts.items():
        transport = key.rpartition(".")[0]
        if count < emitted_count and not any(section.startswith(transport) for section in reported_sections):
            problem = f"received only {count} of {count_of(emitted_count, 'event')}"
            yield ConfProblem(
                key,
                ProblemEffect.events_lost,
                problem,
                "check whether another process truncates or replaces the file",
            )
