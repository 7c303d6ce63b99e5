"""The demo: starts a service, runs processes and a plain Spark job, then queries their lineage."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from bridge.cli.main import EXIT_BAD_DATA
from bridge.process.launcher import require_process_extra
from bridge.settings.model import PREFIX
from connectors.errors import MissingDependency
from connectors.openlineage.files import find_event_files, open_event_file, read_records
from connectors.openlineage.http import BridgeClient
from connectors.spark.conf import ConfOptions, build_conf
from connectors.spark.releases import find_release
from connectors.spark.submit import LOCAL_CONF, SparkInstallation, find_spark, submit_job

_ROOT = Path(__file__).parent.parent
_FILES = _ROOT / "configs" / "demo"
_RECORDED_EVENTS = _ROOT / "tests" / "data" / "events" / "spark-4.1.4"
_HOME = _ROOT / ".demo"
_START_SECONDS = 20
_MAX_LINES = 10
#: Log lines that explain a failure, and log lines with the results of a process.
_ERROR_LINE = re.compile(r"^\S*(Error|Exception)\b|^error:|UNRESOLVED|FAILED|unresolved dependency|ERROR")
_RESULT_LINE = re.compile(r"^error: |^  (passed|warn|fail)|^  \S+  version ")


class DemoStep(NamedTuple):
    """A process to run, and its expected exit code."""

    args: tuple[str, ...]
    description: str
    expected_code: int = 0


_PROCESSES = (
    DemoStep(("clean.yaml",), "raw CSV files become two checked datasets"),
    DemoStep(("report.yaml",), "both are joined and aggregated, addresses masked, and the checks pass"),
)
_FAILING_CHECK = DemoStep(
    ("report.yaml", "--param", "least=50"),
    "a check fails, so nothing is published",
    EXIT_BAD_DATA,
)
_SPARK_JOB = "top.py"
_QUERIES_WITHOUT_SPARK = (
    ("lineage", "file", "/data/out/bands", "--granularity", "step", "--columns"),
    ("lineage", "file", "/data/lake/customers", "--direction", "downstream", "--depth", "3"),
    ("runs", "--limit", "8"),
)
_NEXT_STEPS = """
Next steps:
  {command} process run {report} --lake {lake} --url {url}
                                      run again: inputs are unchanged, so nothing is written
  {command} process plan {report} --lake {lake} --url {url}
                                      show what a run would read and write
  {command} spark conf --url {url}    configuration for your own Spark jobs
  {command} spark check --url {url}   run a small job with that configuration and report problems
  {command} lineage --help            lineage of any dataset, up or down, by column
  {command} doctor                    check the installation and account for every event
  docs/guides/spark.md, docs/guides/command-line.md, configs/bridge.yaml
To use the demo's store with these commands, set {variable} to
  {store}
The service keeps running on {url}. Press Ctrl-C to stop it."""


def main(home: Path = _HOME) -> int:
    """Run the demo in a folder until Ctrl-C."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it for background processes
    port = os.environ.get(f"{PREFIX}SERVER__PORT", "8090")
    url = f"http://127.0.0.1:{port}"
    with BridgeClient(url) as client:
        if client.is_ready():
            print(f"Another service is running on {url}: stop it, or set {PREFIX}SERVER__PORT.", file=sys.stderr)
            return 1
        if home == _HOME:
            shutil.rmtree(home, ignore_errors=True)
        elif home.exists():
            print(f"{home} exists: choose a new folder.", file=sys.stderr)
            return 1
        home.mkdir()
        os.environ[f"{PREFIX}STORE__URL"] = f"sqlite:///{home / 'store.db'}"
        log = home / "service.log"
        with log.open("wb") as log_file:
            service = subprocess.Popen(
                _bridge_command("serve", "--host", "127.0.0.1", "--port", port), stderr=log_file
            )
        try:
            return _run_demo(client, service, url, home)
        except KeyboardInterrupt:
            return 0
        finally:
            service.terminate()
            service.wait()


def _run_demo(client: BridgeClient, service: "subprocess.Popen[bytes]", url: str, home: Path) -> int:
    """Wait for the service, run the jobs and print their lineage. Return the exit code of the demo."""
    log = home / "service.log"
    deadline = time.monotonic() + _START_SECONDS
    while not client.is_ready():
        if service.poll() is not None or time.monotonic() > deadline:
            print(f"The service did not start:\n{log.read_text(errors='replace')}", file=sys.stderr)
            return 1
        time.sleep(0.05)
    print(f"The service is up on {url}; its log is {log}.\n", flush=True)
    queries = _run_jobs(client, url, home)
    if queries is None:
        return 1
    for query in queries:
        print(f"\n$ lineage-bridge {' '.join(query)}", flush=True)
        subprocess.run(_bridge_command(*query), check=True)
    print(_next_steps_text(url, home), flush=True)
    return service.wait()


def _next_steps_text(url: str, home: Path) -> str:
    return _NEXT_STEPS.format(
        command=_display_path(Path(sys.executable).with_name("lineage-bridge")),
        report=_display_path(_FILES / "report.yaml"),
        lake=_display_path(home / "lake"),
        url=url,
        variable=f"{PREFIX}STORE__URL",
        store=os.environ[f"{PREFIX}STORE__URL"],
    )


def _display_path(path: Path) -> str:
    """Return the relative or the absolute path, whichever is shorter."""
    return min(os.path.relpath(path), str(path), key=len)


def _run_jobs(client: BridgeClient, url: str, home: Path) -> tuple[tuple[str, ...], ...] | None:
    """Run the jobs, or replay events if Spark is missing. Return the queries to run, or None after a failure."""
    try:
        spark = find_spark()
        require_process_extra()
    except MissingDependency as error:
        print(f"Spark cannot run here: {error}.", flush=True)
        print("Sending recorded events of a real Spark instead:", flush=True)
        _replay_recorded_events(client)
        return _QUERIES_WITHOUT_SPARK
    lake = home / "lake"
    raw = lake / "raw"
    raw.mkdir(parents=True)
    for file in _FILES.glob("*.csv"):
        shutil.copy(file, raw)
    succeeded = all(_run_process(step, url, home) for step in _PROCESSES)
    if not (succeeded and _run_spark_job(spark, url, home) and _run_process(_FAILING_CHECK, url, home)):
        return None
    return (
        ("lineage", f"{lake / 'revenue'}", "--columns"),
        ("lineage", f"{raw / 'customers.csv'}", "--direction", "downstream"),
        ("dataset", "history", f"{lake / 'revenue'}"),
        ("runs",),
    )


def _run_process(step: DemoStep, url: str, home: Path) -> bool:
    """Run a process and print its check results. Return True if the exit code is as expected."""
    name, *options = step.args
    log = home / f"{'-'.join(step.args)}.log"
    args = ["process", "run", str(_FILES / name), *options, "--lake", str(home / "lake"), "--url", url]
    for key, value in LOCAL_CONF.items():
        args += ["--conf", f"{key}={value}"]
    environment = os.environ | {f"{PREFIX}PROCESS__WORK": str(home / "work")}
    started_at = _print_command(f"lineage-bridge process run {' '.join(step.args)}", step.description)
    with log.open("wb") as log_file:
        process = subprocess.run(
            _bridge_command(*args), stdout=log_file, stderr=log_file, env=environment, check=False
        )
    is_as_expected = _print_outcome(started_at, process.returncode, step.expected_code, log)
    if is_as_expected:
        _print_matching_lines(log, _RESULT_LINE)
    return is_as_expected


def _run_spark_job(spark: SparkInstallation, url: str, home: Path) -> bool:
    """Run a plain Spark job on the published version of a dataset. Return True if the job succeeds."""
    lake = home / "lake"
    resolve_args = ("dataset", "resolve", str(lake / "revenue"), "--output", "json")
    resolved_json = subprocess.run(_bridge_command(*resolve_args), stdout=subprocess.PIPE, check=True).stdout
    path = json.loads(resolved_json)["path"]
    folder = home / "top"
    folder.mkdir()
    log = folder / "spark.log"
    conf = build_conf(ConfOptions(find_release(spark.version), url=url, namespace="demo")) | LOCAL_CONF
    started_at = _print_command(
        f"spark-submit {_SPARK_JOB} $(lineage-bridge dataset resolve …)", "a plain Spark job reads it"
    )
    process = submit_job(spark, _FILES / _SPARK_JOB, [path, str(lake)], conf, folder, log)
    try:
        exit_code = process.wait()
    finally:
        process.kill()
        process.wait()
    return _print_outcome(started_at, exit_code, 0, log)


def _print_command(command: str, description: str) -> float:
    """Print a command that is about to start. Return the current time, from which its duration is measured."""
    print(f"$ {command}   # {description} … ", end="", flush=True)
    return time.monotonic()


def _print_outcome(started_at: float, exit_code: int, expected_code: int, log: Path) -> bool:
    """Print the outcome and duration of a command. Return True if the exit code is as expected.

    If it is not, also print the errors from the log.
    """
    outcome = f"exit {exit_code}" if exit_code else "done"
    if expected_code and exit_code == expected_code:
        outcome += ", as expected"
    print(f"{outcome} ({time.monotonic() - started_at:.0f} s)", flush=True)
    if exit_code != expected_code:
        _print_matching_lines(log, _ERROR_LINE)
        print(f"Unexpected exit code; the full output is in {log}.", file=sys.stderr)
    return exit_code == expected_code


def _print_matching_lines(log: Path, pattern: "re.Pattern[str]") -> None:
    lines = [line for line in log.read_text(errors="replace").splitlines() if pattern.search(line)]
    print("\n".join(lines[:_MAX_LINES]), flush=True)


def _replay_recorded_events(client: BridgeClient) -> None:
    payloads = []
    for path in find_event_files([_RECORDED_EVENTS]):
        with open_event_file(path) as file:
            payloads += [record.payload for record in read_records(file)]
    accepted_count = sum(response.status == 201 for response in client.send_all(payloads))
    print(f"{accepted_count} of {len(payloads)} events accepted.", flush=True)


def _bridge_command(*args: str) -> list[str]:
    return [sys.executable, "-m", "bridge", *args]


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
