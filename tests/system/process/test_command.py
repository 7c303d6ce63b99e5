"""`lineage-bridge process run` as users run it: output, exit codes and stored state."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors.errors import MissingDependency
from connectors.spark.submit import find_spark
from tests.system.process.spark_harness import TRADES, process_yaml, quality_yaml
from tests.system.service import ROOT, Service, environment, new_store

pytestmark = [pytest.mark.system("java", "spark"), pytest.mark.timeout(400)]

_LIMIT = 48 << 20
MANY = "SELECT id, uuid() AS text FROM (SELECT explode(sequence(1, 3000000)) AS id)"


class ProcessCli:
    """Runs commands on a folder with a store, a lake and process files."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.store = new_store(base)
        self.url: str | None = None
        (base / "lake" / "raw").mkdir(parents=True)
        (base / "lake" / "raw" / "a.csv").write_text(TRADES, encoding="utf-8")

    def write_process(self, text: str, name: str = "p") -> Path:
        path = self.base / f"{name}.yaml"
        path.write_text(f"process: {{name: {name}}}\n{text}", encoding="utf-8")
        return path

    def start(
        self, *arguments: str, preexec: Callable[[], None] | None = None, **variables: str
    ) -> "subprocess.Popen[str]":
        settings = {"PROCESS__LAKE": f"{self.base}/lake", "PROCESS__WORK": f"{self.base}/work"}
        env = environment(self.store, **settings) | variables
        return subprocess.Popen(
            [sys.executable, "-m", "bridge", *arguments, *(["--url", self.url] if self.url else [])],
            cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=preexec,  # noqa: PLW1509 - affects this child only
            start_new_session=True,
        )  # fmt: skip

    def call(self, *arguments: str, **options: Any) -> tuple[int, str, str]:
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=200)
        return process.returncode, out, err

    def run(self, text: str, *arguments: str, name: str = "p", **options: Any) -> tuple[int, str, str]:
        conf = ("--conf", "spark.sql.shuffle.partitions=2", "--master", "local[2]")
        return self.call("process", "run", str(self.write_process(text, name)), *conf, *arguments, **options)

    def query(self, *arguments: str) -> Any:
        """Run a command with JSON output; return the object of each line."""
        code, out, err = self.call(*arguments, "--output", "json")
        assert code == 0, err
        return [json.loads(line) for line in out.splitlines()]

    def versions(self) -> list[dict[str, Any]]:
        (listing,) = self.query("dataset", "versions", f"{self.base}/lake/positions")
        items: list[dict[str, Any]] = listing["items"]
        return items


@pytest.fixture
def cli(tmp_path: Path) -> ProcessCli:
    try:
        find_spark()
    except MissingDependency as missing:
        pytest.skip(str(missing))
    return ProcessCli(tmp_path)


@pytest.fixture
def cli_with_service(cli: ProcessCli) -> Iterator[ProcessCli]:
    with Service(cli.store) as service:
        cli.url = f"http://127.0.0.1:{service.port}"
        yield cli


def test_run_records_steps_version_and_lineage(cli_with_service: ProcessCli) -> None:
    code, out, err = cli_with_service.run(
        process_yaml(", partition_by: [day]", quality=quality_yaml("check: unique, column: id"))
    )
    assert code == 0, err
    assert out.splitlines()[0].startswith("p: published  run ")
    assert [line.split(" ", 1)[1] for line in err.splitlines() if " wrote " in line] == [
        next(line.split(" ", 1)[1] for line in err.splitlines() if " wrote positions: 3 rows" in line)
    ]
    (version,) = cli_with_service.versions()
    assert (version["rows"], version["published"], version["partitions"]) == (
        3,
        True,
        ["day=2026-01-30", "day=2026-01-31"],
    )
    (run,) = cli_with_service.query("runs", "processes", "p", "--steps")
    steps = [(step["step"], step["status"]) for step in run["steps"]]
    assert (run["status"], steps) == ("SUCCESS", [("write lake.positions", "SUCCESS")])
    jobs = [run["job"] for run in cli_with_service.query("runs")]
    assert jobs == ["p"], "the Spark application is not listed as a job"
    (lineage,) = cli_with_service.query("lineage", f"{cli_with_service.base}/lake/positions")
    edges = lineage["edges"]
    assert [(edge["source"]["name"], edge["job"]["name"], edge["evidence"]) for edge in edges] == [
        (f"{cli_with_service.base}/lake/raw", "p", "explicit")
    ]
    assert not list((cli_with_service.base / "work" / "spool").iterdir()), "all listener events were sent"


def test_failures_have_message_and_exit_code(cli_with_service: ProcessCli) -> None:
    valid = process_yaml()
    cli_with_service.run(valid)
    (before,) = cli_with_service.versions()
    cases = {
        "mistyped key": (valid.replace("outputs:", "outptus:"), (), 2, "unknown key outptus; did you mean outputs?"),
        "missing parameter": ("params: {d: {type: date, required: true}}\n" + valid, (), 2, "--param d: is required, e.g. d=2026-01-31"),
        "missing input": (valid.replace("pin: live", "pin: published"), (), 9, "check its name and whether its job ran"),
        "missing column": (valid.replace("SELECT *", "SELECT amout"), (), 9, "steps.made: line 1, column 8"),
        "failing check": (valid + quality_yaml("check: row_count, min: 9"), ("--rerun",), 7, "row_count on positions: 3 rows; expected at least 9"),
        "failing job": (valid.replace("SELECT *", "SELECT raise_error('no rates') AS id"), (), 8, "no rates"),
    }  # fmt: skip
    for case, (text, arguments, code, message) in cases.items():
        result = cli_with_service.run(text, *arguments)
        assert (result[0], message in result[2].splitlines()[-1]) == (code, True), (case, result)
        assert result[1] == ""
    failed = [run["error_message"] for run in cli_with_service.query("runs", "--failed")]
    assert len(failed) == 2, "failures before the start are not runs"
    assert [version["tag"] for version in cli_with_service.versions()] == [before["tag"]]


def test_version_that_fails_changed_checks_stays_published(cli_with_service: ProcessCli) -> None:
    cli_with_service.run(process_yaml())
    tightened = process_yaml(quality=quality_yaml("check: row_count, min: 9"))
    code, _, err = cli_with_service.run(tightened)
    failure = "row_count on positions: 3 rows; expected at least 9"
    assert (code, err.splitlines()[-1]) == (7, f"error: {failure} (published versions stay published)")
    _, listing, _ = cli_with_service.call("dataset", "versions", f"{cli_with_service.base}/lake/positions")
    assert f"published; failed check: {failure} (p))" in listing
    assert [run["status"] for run in cli_with_service.query("runs")] == ["SUCCESS"]
    _, plan, _ = cli_with_service.call("process", "plan", str(cli_with_service.base / "p.yaml"))
    assert "the checks have changed; a run would check the existing versions" in plan
    assert cli_with_service.run(process_yaml(quality=quality_yaml("check: row_count, min: 3")))[0] == 0
    _, listing, _ = cli_with_service.call("dataset", "versions", f"{cli_with_service.base}/lake/positions")
    assert "failed check" not in listing


def test_created_file_runs_as_it_is(cli: ProcessCli) -> None:
    file = cli.base / "new.yaml"
    assert cli.call("process", "init", "sales.daily", "--file", str(file))[0] == 0
    code, out, err = cli.call("process", "run", str(file), "--master", "local[2]")
    assert (code, "daily  version" in out, "2 rows" in out) == (0, True, True), err


def test_unreachable_service_fails_run_before_writing(cli: ProcessCli) -> None:
    cli.url = "http://127.0.0.1:9"
    code, _, err = cli.run(process_yaml())
    assert (code, "http://127.0.0.1:9 does not respond" in err) == (3, True)
    assert not (cli.base / "lake" / "positions").exists()


def test_run_during_outage_publishes_nothing_and_next_run_recovers(cli: ProcessCli) -> None:
    with Service(cli.store) as service:
        cli.url = f"http://127.0.0.1:{service.port}"
        conf = ("--master", "local[2]", "--conf", "spark.sql.shuffle.partitions=2")
        running = cli.start("process", "run", str(cli.write_process(process_yaml())), *conf)
        _read_until(running, "read raw")
        service.kill()
        _, err = running.communicate(timeout=200)
    assert (running.returncode, "does not respond" in err.splitlines()[-1]) == (3, True), err
    spooled = list((cli.base / "work" / "spool").glob("*.ndjson"))
    assert len(spooled) == 1
    assert f"unsent listener events remain in {spooled[0]}" in err
    with Service(cli.store) as service:
        cli.url = f"http://127.0.0.1:{service.port}"
        code, _, err = cli.run(process_yaml())
        assert (code, "sent leftover events of 1 earlier run" in err) == (0, True), err
        assert [version["published"] for version in cli.versions()] == [True]


@pytest.mark.parametrize("progress", ["read raw", "wrote positions", "check passed"])
def test_run_after_killed_driver_appends_once(cli: ProcessCli, progress: str) -> None:
    text = process_yaml(", mode: append", quality=quality_yaml("check: unique, column: id"))
    assert cli.run(text)[0] == 0
    (cli.base / "lake" / "raw" / "a.csv").write_text("id,account,amount,day\n7,g,1,2026-02-01\n", encoding="utf-8")
    running = cli.start("process", "run", str(cli.write_process(text)), "--master", "local[2]")
    _read_until(running, progress)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate(timeout=60)
    published_before = [version["published"] for version in cli.versions()]
    code, _, err = cli.run(text)
    assert code == 0, err
    versions = cli.versions()
    assert (
        published_before.count(True),
        [version["published"] for version in versions].count(True),
        len(versions),
    ) == (1, 1, 2)
    rows = json.loads((Path(versions[0]["path"]) / "_lineage_bridge.json").read_bytes())["rows"]
    assert rows == 4, "appended once"


def test_full_disk_is_reported_with_path(cli_with_service: ProcessCli) -> None:
    def limit_file_size() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (_LIMIT, _LIMIT))

    code, _, err = cli_with_service.run(process_yaml(sql=MANY), preexec=limit_file_size)
    assert code == 8, err
    last = err.splitlines()[-1]
    assert last.startswith(f"error: outputs.positions ({cli_with_service.base}/lake/positions/_version=")
    assert "File too large" in last
    assert cli_with_service.call("dataset", "resolve", f"{cli_with_service.base}/lake/positions")[0] == 1


def send_to_group(process: "subprocess.Popen[str]", number: signal.Signals) -> None:
    """Send a signal as a terminal does: to the process and to Spark."""
    os.killpg(process.pid, number)


def send_to_process(process: "subprocess.Popen[str]", number: signal.Signals) -> None:
    process.send_signal(number)


@pytest.mark.parametrize(
    ("send", "number", "code", "status"),
    [
        (send_to_group, signal.SIGINT, 130, "CANCELLED"),
        (send_to_process, signal.SIGTERM, 130, "CANCELLED"),
        (send_to_process, signal.SIGKILL, -9, "STARTED"),
    ],
    ids=["Ctrl-C", "SIGTERM", "SIGKILL"],
)
def test_stopped_run_ends_spark_without_traceback(
    cli_with_service: ProcessCli,
    send: Callable[["subprocess.Popen[str]", signal.Signals], None],
    number: signal.Signals,
    code: int,
    status: str,
) -> None:
    slow = process_yaml(sql="SELECT id, java_method('java.lang.Thread', 'sleep', 60000L) AS slept FROM raw")
    running = cli_with_service.start(
        "process", "run", str(cli_with_service.write_process(slow)), "--master", "local[2]"
    )
    _read_until(running, "read raw")
    send(running, number)
    _, err = running.communicate(timeout=100)  # returns once Spark, which has the same stderr, has ended too
    assert (running.returncode, "Traceback" in err) == (code, False), err
    assert [run["status"] for run in cli_with_service.query("runs")] == [status]


def test_spark_submit(cli_with_service: ProcessCli) -> None:
    file = str(cli_with_service.write_process(process_yaml()))
    code, out, err = cli_with_service.call(
        "process", "submit", file, "--master", "local[2]", "--lake", f"{cli_with_service.base}/lake", "--start"
    )
    assert code == 0, err
    assert any(line.startswith("p: published") for line in out.splitlines())
    (run,) = cli_with_service.query("runs", "processes", "p", "--steps")
    assert [step["step"] for step in run["steps"]] == ["write lake.positions"]


def _read_until(running: "subprocess.Popen[str]", text: str) -> None:
    assert running.stderr is not None
    for line in running.stderr:
        if text in line:
            return
    raise AssertionError(f"{text!r} was not printed")
