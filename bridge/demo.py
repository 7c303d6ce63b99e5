"""The demonstration: a service, processes and a plain job on a real Spark, and what is known of them afterwards."""

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
_CAPTURED = _ROOT / "tests" / "data" / "events" / "spark-4.1.4"
_HOME = _ROOT / ".demo"
_START_SECONDS = 20
_MAX_LINES = 10
#: Lines that say why something failed, and those by which a process says what it made and found.
_ERROR_LINE = re.compile(r"^\S*(Error|Exception)\b|^error:|UNRESOLVED|FAILED|unresolved dependency|ERROR")
_RESULT_LINE = re.compile(r"^error: |^  (passed|warn|fail)|^  \S+  version ")


class DemoStep(NamedTuple):
    """A process that is run, and whether its gate is meant to refuse what it makes."""

    words: tuple[str, ...]
    tells: str
    code: int = 0


_PROCESSES = (
    DemoStep(("clean.yaml",), "raw CSV files become two checked datasets"),
    DemoStep(("report.yaml",), "both are joined, added up, addresses masked, and passed by the gate"),
)
_REFUSED = DemoStep(
    ("report.yaml", "--param", "least=50"),
    "asked for more than is true, the gate publishes nothing",
    EXIT_BAD_DATA,
)
_JOB = "top.py"
_AFTER_CAPTURED = (
    ("lineage", "file", "/data/out/bands", "--granularity", "step", "--columns"),
    ("lineage", "file", "/data/lake/customers", "--direction", "downstream", "--depth", "3"),
    ("runs", "--limit", "8"),
)
_NEXT = """
Look further:
  {command} process run {report} --lake {lake} --url {url}
                                      once more: nothing has changed, so nothing is made
  {command} process plan {report} --lake {lake} --url {url}
                                      what a run would read and write
  {command} spark conf --url {url}    what your own Spark needs to report to this service
  {command} spark check --url {url}   tries that conf with a small job, and says what is wrong
  {command} lineage --help            any dataset, either direction, down to columns
  {command} doctor                    is everything that came in accounted for?
  docs/guides/spark.md, docs/guides/command-line.md, configs/bridge.yaml
The commands above use this demonstration's store when {variable} is
  {store}
The service stays up on {url}. Ctrl-C ends it."""


def main(home: Path = _HOME) -> int:
    """Run the demonstration in a folder of its own, until Ctrl-C."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    port = os.environ.get(f"{PREFIX}SERVER__PORT", "8090")
    url = f"http://127.0.0.1:{port}"
    with BridgeClient(url) as client:
        if client.is_ready():
            print(f"Something already answers on {url}: stop it, or set {PREFIX}SERVER__PORT.", file=sys.stderr)
            return 1
        if home == _HOME:
            shutil.rmtree(home, ignore_errors=True)
        elif home.exists():
            print(f"{home} is there already: name a new folder.", file=sys.stderr)
            return 1
        home.mkdir()
        os.environ[f"{PREFIX}STORE__URL"] = f"sqlite:///{home / 'store.db'}"
        log = home / "service.log"
        with log.open("wb") as said:
            service = subprocess.Popen(_command("serve", "--host", "127.0.0.1", "--port", port), stderr=said)
        try:
            return _show(client, service, url, home)
        except KeyboardInterrupt:
            return 0
        finally:
            service.terminate()
            service.wait()


def _show(client: BridgeClient, service: "subprocess.Popen[bytes]", url: str, home: Path) -> int:
    log = home / "service.log"
    deadline = time.monotonic() + _START_SECONDS
    while not client.is_ready():
        if service.poll() is not None or time.monotonic() > deadline:
            print(f"The service did not start:\n{log.read_text(errors='replace')}", file=sys.stderr)
            return 1
        time.sleep(0.05)
    print(f"The service is up on {url}; its log is {log}.\n", flush=True)
    questions = _run_jobs(client, url, home)
    if questions is None:
        return 1
    for question in questions:
        print(f"\n$ lineage-bridge {' '.join(question)}", flush=True)
        subprocess.run(_command(*question), check=True)
    print(_next(url, home), flush=True)
    return service.wait()


def _next(url: str, home: Path) -> str:
    return _NEXT.format(
        command=_shorter_path(Path(sys.executable).with_name("lineage-bridge")),
        report=_shorter_path(_FILES / "report.yaml"),
        lake=_shorter_path(home / "lake"),
        url=url,
        variable=f"{PREFIX}STORE__URL",
        store=os.environ[f"{PREFIX}STORE__URL"],
    )


def _shorter_path(path: Path) -> str:
    """Write a path as it is typed from here, where that is shorter."""
    return min(os.path.relpath(path), str(path), key=len)


def _run_jobs(client: BridgeClient, url: str, home: Path) -> tuple[tuple[str, ...], ...] | None:
    """Let events come in; gives what to ask about them, or None when a job ended other than it should."""
    try:
        spark = find_spark()
        require_process_extra()
    except MissingDependency as missing:
        print(f"Spark cannot run here: {missing}.", flush=True)
        print("Instead, events that a real Spark sent before are taken:", flush=True)
        _replay(client)
        return _AFTER_CAPTURED
    lake = home / "lake"
    raw = lake / "raw"
    raw.mkdir(parents=True)
    for file in _FILES.glob("*.csv"):
        shutil.copy(file, raw)
    well = all(_process(step, url, home) for step in _PROCESSES)
    if not (well and _submit(spark, url, home) and _process(_REFUSED, url, home)):
        return None
    return (
        ("lineage", f"{lake / 'revenue'}", "--columns"),
        ("lineage", f"{raw / 'customers.csv'}", "--direction", "downstream"),
        ("dataset", "history", f"{lake / 'revenue'}"),
        ("runs",),
    )


def _process(step: DemoStep, url: str, home: Path) -> bool:
    """Run a process; tells whether it ended as it should, and shows what its checks found."""
    name, *more = step.words
    log = home / f"{'-'.join(step.words)}.log"
    conf = [word for key, value in LOCAL_CONF.items() for word in ("--conf", f"{key}={value}")]
    words = ["process", "run", str(_FILES / name), *more, "--lake", str(home / "lake"), "--url", url, *conf]
    environment = os.environ | {f"{PREFIX}PROCESS__WORK": str(home / "work")}
    begun = _start_step(f"lineage-bridge process run {' '.join(step.words)}", step.tells)
    with log.open("wb") as said:
        code = subprocess.run(_command(*words), stdout=said, stderr=said, env=environment, check=False).returncode
    well = _finish_step(begun, code, step.code, log)
    if well:
        _show_lines(log, _RESULT_LINE)
    return well


def _submit(spark: SparkInstallation, url: str, home: Path) -> bool:
    """Run a plain job on the published version of a dataset, with the conf that `lineage-bridge spark conf` makes."""
    lake = home / "lake"
    asked = ("dataset", "resolve", str(lake / "revenue"), "--output", "json")
    path = json.loads(subprocess.run(_command(*asked), stdout=subprocess.PIPE, check=True).stdout)["path"]
    folder = home / "top"
    folder.mkdir()
    log = folder / "spark.log"
    conf = build_conf(ConfOptions(find_release(spark.version), url=url, namespace="demo")) | LOCAL_CONF
    begun = _start_step(
        f"spark-submit {_JOB} $(lineage-bridge dataset resolve …)", "a job without the framework reads it"
    )
    process = submit_job(spark, _FILES / _JOB, [path, str(lake)], conf, folder, log)
    try:
        code = process.wait()
    finally:
        process.kill()
        process.wait()
    return _finish_step(begun, code, 0, log)


def _start_step(command: str, tells: str) -> float:
    print(f"$ {command}   # {tells} … ", end="", flush=True)
    return time.monotonic()


def _finish_step(begun: float, code: int, wanted: int, log: Path) -> bool:
    """Say how something ended, and for how long it ran; where that is not as wanted, what its log says of it."""
    said = "done" if not code else f"exit {code}"
    print(
        f"{said}{', as it should' if wanted and code == wanted else ''} ({time.monotonic() - begun:.0f} s)",
        flush=True,
    )
    if code != wanted:
        _show_lines(log, _ERROR_LINE)
        print(f"This should have ended otherwise: all that it said is in {log}.", file=sys.stderr)
    return code == wanted


def _show_lines(log: Path, pattern: "re.Pattern[str]") -> None:
    found = [line for line in log.read_text(errors="replace").splitlines() if pattern.search(line)]
    print("\n".join(found[:_MAX_LINES]), flush=True)


def _replay(client: BridgeClient) -> None:
    payloads = []
    for path in find_event_files([_CAPTURED]):
        with open_event_file(path) as file:
            payloads += [record.payload for record in read_records(file)]
    taken = sum(answer.status == 201 for answer in client.send_all(payloads))
    print(f"{taken} of {len(payloads)} taken.", flush=True)


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "bridge", *words]


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
