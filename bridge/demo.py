"""The demonstration: a service of its own, real Spark jobs with the real listener, and the lineage they make."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from bridge.settings import PREFIX
from connectors.openlineage.files import event_files, open_events, read_records
from connectors.openlineage.http import EventClient
from connectors.spark.conf import Wanted, make_conf
from connectors.spark.lines import find_line
from connectors.spark.submit import SMALL_AND_LOCAL, Spark, find_spark, start
from mappers.errors import MissingPart

_ROOT = Path(__file__).parent.parent
_JOBS = _ROOT / "configs" / "demo"
_CAPTURED = _ROOT / "tests" / "data" / "events" / "spark-4.1.4"
_HOME = _ROOT / ".demo"
_START_SECONDS = 20
_WRONG = re.compile(r"^\S*(Error|Exception)\b|UNRESOLVED|FAILED|unresolved dependency|ERROR")


class Job(NamedTuple):
    """One of the jobs, and whether it is meant to fail."""

    name: str
    tells: str
    fails: bool = False


_PIPELINE = (
    Job("clean", "raw CSV files become typed, cleaned tables"),
    Job("report", "joined, added up, addresses masked"),
    Job("broken", "fails, as jobs do", fails=True),
)
_AFTER_CAPTURED = (
    ("lineage", "file", "/data/out/bands", "--granularity", "step", "--columns"),
    ("lineage", "file", "/data/lake/customers", "--direction", "downstream", "--depth", "3"),
    ("runs", "--limit", "8"),
)
_NEXT = """
Look further:
  {command} spark conf --url {url}    what your own Spark needs to report to this service
  {command} spark check --url {url}   tries that conf with a small job, and says what is wrong
  {command} lineage --help            any dataset, either direction, down to columns
  {command} doctor                    is everything that came in accounted for?
  docs/spark.md, docs/cli.md, configs/bridge.yaml
The commands above use this demonstration's store when {variable} is
  {store}
The service stays up on {url}. Ctrl-C ends it."""


def main(home: Path = _HOME) -> int:
    """Run the demonstration in a folder of its own, until Ctrl-C."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    port = os.environ.get(f"{PREFIX}SERVER__PORT", "8090")
    url = f"http://127.0.0.1:{port}"
    with EventClient(url) as client:
        if client.ready():
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


def _show(client: EventClient, service: "subprocess.Popen[bytes]", url: str, home: Path) -> int:
    log = home / "service.log"
    deadline = time.monotonic() + _START_SECONDS
    while not client.ready():
        if service.poll() is not None or time.monotonic() > deadline:
            print(f"The service did not start:\n{log.read_text(errors='replace')}", file=sys.stderr)
            return 1
        time.sleep(0.05)
    print(f"The service is up on {url}; its log is {log}.\n", flush=True)
    questions = _feed(client, url, home)
    if questions is None:
        return 1
    for question in questions:
        print(f"\n$ lineage-bridge {' '.join(question)}", flush=True)
        subprocess.run(_command(*question), check=True)
    store = os.environ[f"{PREFIX}STORE__URL"]
    command = os.path.relpath(Path(sys.executable).with_name("lineage-bridge"))
    print(_NEXT.format(command=command, variable=f"{PREFIX}STORE__URL", store=store, url=url), flush=True)
    return service.wait()


def _feed(client: EventClient, url: str, home: Path) -> tuple[tuple[str, ...], ...] | None:
    """Let events come in; gives what to ask about them, or None when a job ended other than it should."""
    try:
        spark = find_spark()
    except MissingPart as missing:
        print(f"Spark cannot run here: {missing}.", flush=True)
        print("Instead, events that a real Spark sent before are taken:", flush=True)
        _replay(client)
        return _AFTER_CAPTURED
    if not all(_run(spark, job, url, home) for job in _PIPELINE):
        return None
    return (
        ("lineage", "file", f"{home / 'lake' / 'revenue'}", "--granularity", "step", "--columns"),
        ("lineage", "file", f"{_JOBS / 'customers.csv'}", "--direction", "downstream"),
        ("runs",),
        ("runs", "demo", "clean", "--steps"),
    )


def _run(spark: Spark, job: Job, url: str, home: Path) -> bool:
    """Run a job with the conf that `lineage-bridge spark conf` makes; tells whether it ended as it should."""
    print(f"$ spark-submit {job.name}.py   # {job.tells} … ", end="", flush=True)
    folder = home / job.name
    folder.mkdir()
    log = folder / "spark.log"
    conf = make_conf(Wanted(find_line(spark.version), url=url, namespace="demo")) | SMALL_AND_LOCAL
    begun = time.monotonic()
    process = start(spark, _JOBS / f"{job.name}.py", [str(_JOBS), str(home / "lake")], conf, folder, log)
    try:
        code = process.wait()
    finally:
        process.kill()
        process.wait()
    ended = "failed, as it should" if code and job.fails else f"exit {code}" if code else "done"
    print(f"{ended} ({time.monotonic() - begun:.0f} s)", flush=True)
    if bool(code) != job.fails:
        wrong = [line for line in log.read_text(errors="replace").splitlines() if _WRONG.search(line)]
        print("\n".join(wrong[:10]), file=sys.stderr)
        print(f"This job should have ended otherwise: all that it said is in {log}.", file=sys.stderr)
    return bool(code) == job.fails


def _replay(client: EventClient) -> None:
    payloads = []
    for path in event_files([_CAPTURED]):
        with open_events(path) as file:
            payloads += [record.payload for record in read_records(file)]
    taken = sum(answer.status == 201 for answer in client.send_all(payloads))
    print(f"{taken} of {len(payloads)} taken.", flush=True)


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "bridge", *words]


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
