"""The agent as jobs run it: exit codes, signals, streams, spool and delivery."""

import ast
import fcntl
import hashlib
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import termios
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from connectors.agent import lineage_bridge_agent as agent
from tests.system.service import Service, new_store, until

pytestmark = [pytest.mark.system, pytest.mark.timeout(120)]

AGENT = Path(agent.__file__)
UNREACHABLE_URL = "http://127.0.0.1:9"


class StubService:
    """HTTP server that records what it accepts, with a configurable status and delay."""

    def __init__(self) -> None:
        self.received: list[tuple[str, dict[str, Any]]] = []
        self.status = 201
        self.delay = 0.0
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                threading.Event().wait(stub.delay)
                if stub.status < 300:
                    stub.received.append((self.path, json.loads(body)))
                self.send_response(stub.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def event_types(self) -> list[str]:
        return [body["eventType"] for _, body in self.received]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def service() -> Iterator[StubService]:
    stub = StubService()
    yield stub
    stub.close()


class AgentRunner:
    """Runs the agent with its own spool; by default the service is not reachable."""

    def __init__(self, directory: Path) -> None:
        self.spool_root = directory / "spool"
        self.url = UNREACHABLE_URL
        self.wrapper: tuple[str, ...] = ()
        self._processes: list[subprocess.Popen[str]] = []

    @property
    def spool(self) -> Path:
        return self.spool_root / f"lineage-bridge-spool-{os.geteuid()}"

    @property
    def variables(self) -> dict[str, str]:
        return {"LINEAGE_BRIDGE_URL": self.url, "LINEAGE_BRIDGE_SPOOL": str(self.spool_root)}

    def start(
        self, *arguments: str, preexec: Callable[[], None] | None = None, **variables: str
    ) -> "subprocess.Popen[str]":
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AUTO", "LINEAGE"))}
        process = subprocess.Popen(
            [*self.wrapper, sys.executable, "-I", "-S", str(AGENT), *arguments],
            env=inherited | self.variables | variables,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=preexec,  # noqa: PLW1509 - sets limits of this child only
        )  # fmt: skip
        self._processes.append(process)
        return process

    def close(self) -> None:
        """Kill agents that a failed test left running, with their process group if they lead one."""
        for process in self._processes:
            if process.returncode is None and process.poll() is None:
                leads_group = os.getpgid(process.pid) == process.pid
                (os.killpg if leads_group else os.kill)(process.pid, signal.SIGKILL)
                process.communicate(timeout=30)

    def call(self, *arguments: str, stdin: str = "", **start_options: Any) -> tuple[int, str, str]:
        """Run the agent to its end; return exit code, stdout and stderr."""
        process = self.start(*arguments, **start_options)
        stdout, stderr = process.communicate(stdin, timeout=60)
        return process.returncode, stdout, stderr

    def run(self, script: str, *options: str, **start_options: Any) -> tuple[int, str, str]:
        return self.call("run", *options, "--", "sh", "-c", script, **start_options)

    def pending(self) -> list[dict[str, Any]]:
        spool = agent.Spool(str(self.spool_root))
        bodies = [spool.read(name) for name in spool.pending_names()]
        return [json.loads(body) for body in bodies if body is not None]  # a sender may have delivered some meanwhile

    def pending_types(self) -> list[str]:
        return [event["eventType"] for event in self.pending()]


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[AgentRunner]:
    runner = AgentRunner(tmp_path)
    yield runner
    runner.close()


def test_agent_needs_python_3_6_and_standard_library_only() -> None:
    tree = ast.parse(AGENT.read_text(encoding="utf-8"), feature_version=(3, 6))
    imported = {
        (node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert imported <= sys.stdlib_module_names


@pytest.mark.parametrize("file_name", ["", "agent"])
def test_install_replaces_old_copy_with_executable_file(runner: AgentRunner, tmp_path: Path, file_name: str) -> None:
    directory = tmp_path / "bin"
    directory.mkdir()
    installed = directory / (file_name or "lineage-bridge-agent")
    installed.write_text("old")
    umask = os.umask(0o077)
    try:
        code, _, stderr = runner.call("install", str(directory / file_name))
    finally:
        os.umask(umask)
    assert (code, stderr) == (0, f"lineage-bridge-agent: installed as {installed}\n")
    assert (installed.stat().st_mode & 0o777, list(directory.iterdir())) == (0o755, [installed])
    process = subprocess.run(
        [installed, "run", "--", "sh", "-c", "exit 3"], env=os.environ | runner.variables, check=False, timeout=60
    )
    assert process.returncode == 3
    assert runner.pending_types() == ["START", "FAIL"]


def test_install_prints_why_it_failed(runner: AgentRunner) -> None:
    code, _, stderr = runner.call("install", "/proc/none/x")
    assert (code, stderr) == (1, "lineage-bridge-agent: /proc/none/x: No such file or directory\n")


def test_agent_file_is_executable() -> None:
    assert os.access(AGENT, os.X_OK)


@pytest.mark.parametrize("code", [0, 1, 3, 126, 255])
def test_exit_code_and_streams_are_those_of_the_command(runner: AgentRunner, code: int) -> None:
    result = runner.run(f"cat; echo out; echo err >&2; exit {code}", stdin="in\n")
    assert result == (code, "in\nout\n", "err\n")


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSEGV", "SIGPIPE"])
def test_agent_dies_by_the_signal_that_killed_the_command(runner: AgentRunner, name: str) -> None:
    number = getattr(signal, name)
    assert runner.run(f"kill -{number} $$")[0] == -number
    assert runner.pending_types()[-1] == "ABORT"


@pytest.mark.parametrize(("command", "code"), [("no-such-command", 127), ("/etc/passwd", 126)])
def test_exit_code_of_command_that_cannot_start(runner: AgentRunner, command: str, code: int) -> None:
    exit_code, _, stderr = runner.call("run", "--", command)
    assert (exit_code, command in stderr) == (code, True)
    assert runner.pending_types() == ["START", "FAIL"]


#: Writes its process id, then the number of each signal as one byte when it arrives; exits with 7 on SIGALRM.
SIGNAL_LOGGER = """
import os, signal
os.set_blocking(1, False)
signal.set_wakeup_fd(1)
for name in ("TERM", "INT", "HUP", "QUIT", "USR1", "CONT", "WINCH"):
    signal.signal(getattr(signal, "SIG" + name), lambda *_: None)
signal.signal(signal.SIGALRM, lambda *_: os._exit(7))
os.write(1, b"%d\\n" % os.getpid())
while True:
    signal.pause()
"""


class SignalLogger:
    """An agent in its own session that runs SIGNAL_LOGGER."""

    def __init__(self, runner: AgentRunner, preexec: Callable[[], object] = lambda: None) -> None:
        def new_session() -> None:
            os.setsid()
            preexec()

        self.agent = runner.start("run", "--", sys.executable, "-I", "-S", "-c", SIGNAL_LOGGER, preexec=new_session)
        assert self.agent.stdout is not None
        self._stdout = self.agent.stdout.buffer.raw  # type: ignore[attr-defined] - read byte by byte
        self.command_pid = int(b"".join(iter(lambda: self._stdout.read(1), b"\n")))

    def next_signal(self) -> int:
        return int(self._stdout.read(1)[0])

    def has_no_more_signals(self) -> bool:
        # The agent takes pending signals in ascending order, so SIGWINCH comes after all tested signals.
        os.kill(self.agent.pid, signal.SIGWINCH)
        return self.next_signal() == signal.SIGWINCH

    def exits_on_alarm(self) -> bool:
        os.kill(self.agent.pid, signal.SIGALRM)
        return self.next_signal() == signal.SIGALRM and self.agent.communicate(timeout=30)[0] == ""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGCONT"])
@pytest.mark.parametrize("kill", [os.kill, os.killpg])
def test_signal_reaches_command_once(runner: AgentRunner, name: str, kill: Callable[[int, int], None]) -> None:
    number = getattr(signal, name)
    logger = SignalLogger(runner)
    for repetitions in (1, 1, 20):
        for _ in range(repetitions):
            kill(logger.agent.pid, number)
            assert logger.next_signal() == number
        assert logger.has_no_more_signals()
    assert logger.exits_on_alarm()
    assert logger.agent.returncode == 7


def test_terminal_interrupt_reaches_command_once(runner: AgentRunner) -> None:
    controller, terminal = os.openpty()
    logger = SignalLogger(runner, lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 0))
    os.write(controller, b"\x03")
    assert logger.next_signal() == signal.SIGINT
    assert logger.has_no_more_signals()
    assert logger.exits_on_alarm()
    os.close(controller)
    os.close(terminal)


@pytest.mark.parametrize("name", ["SIGSTOP", "SIGKILL"])
def test_signal_is_forwarded_without_group_signal_probe(runner: AgentRunner, name: str) -> None:
    logger = SignalLogger(runner)
    children = Path(f"/proc/{logger.agent.pid}/task/{logger.agent.pid}/children")

    def probes() -> list[int]:
        pids = [int(pid) for pid in children.read_text().split()]
        return [pid for pid in pids if pid != logger.command_pid and os.getpgid(pid) == logger.agent.pid]

    until(lambda: len(children.read_text().split()) == 3 and len(probes()) == 1, "the sender to be detached")
    os.kill(probes()[0], getattr(signal, name))
    logger.agent.terminate()
    assert logger.next_signal() == signal.SIGTERM
    assert probes() == []
    assert logger.has_no_more_signals()
    assert logger.exits_on_alarm()


def test_start_end_and_output_details_are_delivered(
    runner: AgentRunner, service: StubService, tmp_path: Path
) -> None:
    output = tmp_path / "out.csv"
    runner.url = service.url
    code, _, _ = runner.run(
        f"printf 'a\\nb\\nc' > {output}; exit 0", "--output", str(output), "--input", "s3://lake/in", "--count", "--checksum",
        "--log", "/logs/a.log", AUTO_JOB_NAME="JobA", AUTOSERV="PRD", AUTORUN="1261419",
    )  # fmt: skip
    assert code == 0
    until(lambda: len(service.received) == 3, "start, end and output details")
    start, end, details = (body for _, body in service.received)
    assert {path for path, _ in service.received} == {"/api/v1/run_event"}
    assert (start["eventType"], end["eventType"]) == ("START", "COMPLETE")
    assert start["job"] == {"namespace": "AUTOSYS:PRD", "name": "JobA"}
    assert {body["run"]["runId"] for _, body in service.received} == {"1261419/1"}
    assert end["run"]["facets"]["exitCode"] == 0
    assert end["outputs"][0]["facets"] == {"path": str(output)}
    assert (details["outputs"][0]["facets"]["size"], details["outputs"][0]["facets"]["rows"]) == (5, 3)
    assert details["outputs"][0]["facets"]["checksum"].startswith("sha256:")
    until(lambda: runner.pending() == [], "an empty spool")


def test_second_try_of_a_run_is_a_new_attempt(runner: AgentRunner) -> None:
    for _ in range(2):
        runner.run("exit 1", AUTO_JOB_NAME="JobA", AUTORUN="7")
    assert [event["run"]["runId"] for event in runner.pending()] == ["7/1", "7/1", "7/2", "7/2"]


def test_nested_agent_reports_child_run_not_new_attempt(runner: AgentRunner) -> None:
    nested = f"{sys.executable} -I -S {AGENT} run"
    runner.run(f"{nested} --job BOX/STEP -- {nested} -- true", AUTO_JOB_NAME="JobA", AUTORUN="7")
    runner.run("exit 1", AUTO_JOB_NAME="JobA", AUTORUN="7")
    starts = [event for event in runner.pending() if event["eventType"] == "START"]
    outer, step, innermost, second_try = starts
    assert [event["run"]["runId"] for event in (outer, second_try)] == ["7/1", "7/2"]
    assert [event["job"]["name"] for event in starts] == ["JobA", "BOX/STEP", "true", "JobA"]
    assert "parent" not in outer["run"]["facets"]
    for child, parent in ((step, outer), (innermost, step)):
        assert child["run"]["facets"]["parent"] == {"run": {"runId": parent["run"]["runId"]}, "job": parent["job"]}


def test_parent_run_of_another_autosys_job_is_ignored(runner: AgentRunner) -> None:
    stale = '{"autosys": ["JobA", null, "7"], "parent": {"run": {"runId": "7/1"}, "job": {}}}'
    for value in (stale, "{broken", "[1]"):
        runner.run("exit 0", AUTO_JOB_NAME="JobB", AUTORUN="9", LINEAGE_BRIDGE_PARENT_RUN=value)
    assert {event["run"]["runId"] for event in runner.pending()} == {"9/1", "9/2", "9/3"}
    assert all("parent" not in event["run"]["facets"] for event in runner.pending())


EXIT_CODES = [
    ((), 4, "FAIL"), (("--max-exit-success", "4"), 4, "COMPLETE"), (("--success-codes", "0,4-8"), 6, "COMPLETE"),
    (("--success-codes", "4-8"), 0, "FAIL"), (("--fail-codes", "9", "--success-codes", "0"), 4, "COMPLETE"),
    (("--fail-codes", "4"), 4, "FAIL"), (("--success-codes", ""), 4, "FAIL"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "code", "event_type"), EXIT_CODES)
def test_success_options_decide_event_type_not_exit_code(
    runner: AgentRunner, options: tuple[str, ...], code: int, event_type: str
) -> None:
    assert runner.run(f"exit {code}", *options)[0] == code
    assert runner.pending_types()[-1] == event_type


def test_manifest_is_reported(runner: AgentRunner, tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    content = {
        "outputs": [{"namespace": "DB2", "name": "S.T", "rows": 5, "version": "v1"}],
        "inputs": [{"path": "/in"}],
    }
    runner.run(f"echo '{json.dumps(content)}' > {manifest}", "--manifest", str(manifest))
    until(lambda: len(runner.pending()) == 3, "the manifest to be reported")
    end = runner.pending()[-1]
    assert end["outputs"] == [{"namespace": "DB2", "name": "S.T", "facets": {"rows": 5, "version": "v1"}}]
    assert end["inputs"][0]["name"] == "/in"


INVALID_MANIFESTS = [
    (None, "does not exist"), ("", "cannot be read: Expecting value"), ("{broken", "cannot be read: Expecting property name"),
    ("3", "has neither inputs nor outputs"), ('{"output": []}', "has neither inputs nor outputs"),
    ("[1]", "outputs[0] is not a valid dataset"), ('{"outputs": 5}', "outputs is not a list"),
    ('{"outputs": ["s3://a/b", {"rows": 5}, {"name": "x", "namespace": 5}]}', "outputs[1] is not a valid dataset; outputs[2] is not a valid dataset"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "problems"), INVALID_MANIFESTS)
def test_invalid_manifest_is_printed_and_reported(
    runner: AgentRunner, tmp_path: Path, content: str | None, problems: str
) -> None:
    manifest = tmp_path / "manifest.json"
    if content is not None:
        manifest.write_text(content)
    code, _, stderr = runner.run("exit 3", "--manifest", str(manifest))
    assert (code, stderr.count(f"{manifest}: {problems}"), stderr.count("\n")) == (3, 1, 1)
    until(lambda: len(runner.pending()) == 3, "the problems to be reported")
    end = runner.pending()[-1]
    assert end["eventType"] == "FAIL"
    facet = end["run"]["facets"]["manifest"]
    assert (facet["path"], "; ".join(facet["problems"]).startswith(problems)) == (str(manifest), True)
    valid_outputs = ["s3://a/b"] if "s3" in (content or "") else []
    assert [output["name"] for output in end["outputs"]] == valid_outputs


def test_valid_manifest_prints_nothing(runner: AgentRunner, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text('["s3://a/b", {"path": "/x", "rows": 1}]')
    assert runner.run("exit 0", "--manifest", str(tmp_path / "m.json")) == (0, "", "")


@pytest.mark.parametrize("status", [500, 503, 401, 404])
def test_undelivered_events_wait_for_the_next_flush(runner: AgentRunner, service: StubService, status: int) -> None:
    runner.url, service.status = service.url, status
    assert runner.run("exit 0")[0] == 0
    code, _, stderr = runner.call("flush")
    assert (code, f": {status} " in stderr or "another sender" in stderr) == (1, True)
    service.status = 201
    until(lambda: (runner.call("flush"), not runner.pending())[1], "an empty spool")
    assert service.event_types() == ["START", "COMPLETE"]


def test_flush_names_the_service_of_pending_events(runner: AgentRunner, service: StubService) -> None:
    agent.Spool(str(runner.spool_root)).add("run_event", {"n": 1})
    code, _, stderr = runner.call("flush")
    assert (code, f"0 delivered, 0 rejected, 1 pending for {runner.url}: " in stderr) == (1, True)
    runner.url = service.url
    assert runner.call("flush") == (0, "", "lineage-bridge-agent: 1 delivered, 0 rejected, 0 pending\n")


def test_rejected_events_are_kept_with_the_reason(runner: AgentRunner, service: StubService) -> None:
    runner.url, service.status = service.url, 400
    assert runner.run("exit 0")[0] == 0
    until(lambda: len(list(runner.spool.glob("refused/*.json"))) == 2, "both events to be rejected")
    assert all(reason.read_text().startswith("400") for reason in runner.spool.glob("refused/*.reason"))


def test_slow_service_does_not_delay_the_command(runner: AgentRunner, service: StubService) -> None:
    runner.url, service.delay = service.url, 30.0
    started = time.monotonic()
    assert runner.run("exit 0")[0] == 0
    assert time.monotonic() - started < 10


def test_events_are_sent_when_spool_is_not_writable(runner: AgentRunner, service: StubService) -> None:
    runner.url = service.url
    runner.spool_root = Path("/proc/none")
    assert runner.run("exit 3")[0] == 3
    until(lambda: service.event_types() == ["START", "FAIL"], "both events")


def test_full_disk_does_not_affect_the_command(runner: AgentRunner) -> None:
    def forbid_writing() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    assert runner.run("exit 3", preexec=forbid_writing)[0] == 3
    assert runner.pending() == []


def test_sender_reports_a_killed_agent(runner: AgentRunner, service: StubService) -> None:
    runner.url = service.url
    process = runner.start("run", "--", "sh", "-c", "echo $$; exec sleep 60")
    assert process.stdout is not None
    command_pid = int(process.stdout.readline())
    until(lambda: service.event_types() == ["START"], "the start")
    process.kill()
    process.wait(30)
    until(lambda: service.event_types()[:2] == ["START", "ABORT"], "the end")
    assert service.received[-1][1]["run"]["facets"]["errorMessage"]["message"] == "the agent was killed"
    os.kill(command_pid, signal.SIGKILL)
    process.communicate(timeout=30)


def test_long_run_sends_heartbeats(runner: AgentRunner, service: StubService) -> None:
    runner.url = service.url
    process = runner.start("run", "--heartbeat", "0.1", "--", "sh", "-c", "read line")
    until(lambda: service.event_types().count("RUNNING") >= 2, "two heartbeats")
    process.communicate("\n", timeout=30)
    until(lambda: service.event_types()[-1] == "COMPLETE", "the end")


def test_concurrent_flushes_deliver_ten_thousand_events(runner: AgentRunner, service: StubService) -> None:
    def add_events(thread: int) -> None:
        spool_of_thread = agent.Spool(str(runner.spool_root))
        for index in range(1250):
            spool_of_thread.add("run_event", {"eventType": "START", "n": [thread, index]})

    spool = agent.Spool(str(runner.spool_root))
    threads = [threading.Thread(target=add_events, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(spool.pending_names()) == 10_000
    runner.url = service.url
    flushes = [runner.start("flush") for _ in range(4)]
    for flush in flushes:
        flush.communicate(timeout=100)
    until(lambda: not spool.pending_names(), "an empty spool")
    assert len({tuple(body["n"]) for _, body in service.received}) == 10_000


def test_full_spool_keeps_its_events(runner: AgentRunner) -> None:
    spool = agent.Spool(str(runner.spool_root), max_files=3)
    assert [spool.add("run_event", {"n": number}) for number in range(5)] == [True, True, True, False, False]
    assert [event["n"] for event in runner.pending()] == [0, 1, 2]


# The name must not contain "dropped": it is part of the spool's path, which flush prints.
@pytest.mark.parametrize(("status", "dropped"), [(201, 0), (503, 2)])
def test_overflow_is_reported_once_by_flush_and_by_next_run(
    runner: AgentRunner, service: StubService, status: int, dropped: int
) -> None:
    spool, connection = agent.Spool(str(runner.spool_root), max_files=0), agent.ServiceConnection(service.url, None)
    service.status = status
    for _ in range(2):
        assert not spool.add("run_event", {})
        agent.send_or_drop(spool, connection, {"eventType": "LATE"})
    connection.close()
    service.status = 201
    for reported in (dropped, 0):
        flusher = AgentRunner(runner.spool_root.parent)
        flusher.url = service.url
        code, _, stderr = flusher.call("flush")
        assert (code, stderr.count(f", {reported} dropped earlier"), "dropped" in stderr) == (
            int(reported > 0),
            int(reported > 0),
            reported > 0,
        )
    for _ in range(2):
        runner.run("exit 0")
    starts = [event for event in runner.pending() if event["eventType"] == "START"]
    assert [event["run"]["facets"].get("droppedEvents", 0) for event in starts] == [dropped, 0]


def test_dropped_registration_returns_false_and_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_SPOOL", str(tmp_path))
    monkeypatch.setattr(agent.Spool, "_is_full", lambda self: True)
    assert not agent.register_process("BOX/J", "SUCCESS")
    assert agent.Spool(str(tmp_path)).dropped_count(".dropped") == 1


def test_runs_and_registrations_reach_the_real_service(runner: AgentRunner, tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with Service(store) as real_service:
        runner.url = f"http://127.0.0.1:{real_service.port}"
        assert runner.run("exit 0", AUTO_JOB_NAME="JobA", AUTORUN="7")[0] == 0
        until(lambda: not runner.pending(), "the run to be delivered")
        assert runner.call("register_dataset", "s3://bucket/out/v1", "2026-01-31", "SUCCESS")[0] == 0
        assert runner.call("register_dataset", "/lake/positions.csv", "v1")[0] == 0
        assert runner.call("register_dataset", "postgres://h=db.s.t", "v1")[0] == 0
        assert runner.call("register_process", "BOX/JobB", "SUCCESS")[0] == 0
        script = "import sys; sys.path.insert(0, sys.argv[1]); import lineage_bridge_agent as a; sys.exit(not a.register_process('BOX/JobC', 'FAILURE'))"
        command = [sys.executable, "-c", script, str(AGENT.parent)]
        subprocess.run(command, env=os.environ | runner.variables, check=True, timeout=60)
        until(lambda: not runner.pending(), "an empty spool")
    with closing(sqlite3.connect(store)) as db:
        runs = db.execute(
            "SELECT j.name, r.event_type FROM ol_run r JOIN ol_job j ON j.job_id = r.job_id ORDER BY 1"
        ).fetchall()
        datasets = db.execute(
            "SELECT n.namespace_uri, d.name FROM ol_dataset d JOIN ol_namespace n USING (namespace_id) ORDER BY 1"
        ).fetchall()
    assert runs == [("JobA", "COMPLETE"), ("JobB", "COMPLETE"), ("JobC", "FAIL")]
    assert datasets == [("file", "/lake/positions.csv"), ("postgres://h", "db.s.t"), ("s3://bucket", "out/v1")]


def test_check_reports_url_and_key(runner: AgentRunner, tmp_path: Path) -> None:
    store = new_store(tmp_path)
    keys = [
        {"name": name, "sha256": hashlib.sha256(name.encode()).hexdigest(), "scopes": [scope]}
        for name, scope in (("writer", "ingest"), ("reader", "read"))
    ]
    with Service(store, SERVER__API_KEYS=json.dumps(keys)) as real_service:
        runner.url = f"http://127.0.0.1:{real_service.port}"
        for key, code, message in (
            ("writer", 0, "responds and accepts the API key"),
            ("reader", 1, "lacks the scope ingest"),
            ("nobody", 1, "check LINEAGE_BRIDGE_API_KEY"),
        ):
            result = runner.call("check", LINEAGE_BRIDGE_API_KEY=key)
            assert (result[0], message in result[2]) == (code, True)
    with closing(sqlite3.connect(store)) as db:
        assert db.execute("SELECT count(*) FROM rejected_event").fetchone() == (0,)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (UNREACHABLE_URL, f"{UNREACHABLE_URL} does not respond (ConnectionRefusedError"),
        ("bridge:8090", "bridge:8090 is not a URL: set LINEAGE_BRIDGE_URL"),
        ("stub", "is not a lineage-bridge that can receive events (status 404)"),
    ],
)
def test_check_reports_wrong_url(runner: AgentRunner, service: StubService, url: str, message: str) -> None:
    service.status = 404
    runner.url = service.url if url == "stub" else url
    code, _, stderr = runner.call("check")
    assert (code, message in stderr) == (1, True)


def test_command_runs_with_closed_standard_streams(runner: AgentRunner) -> None:
    command = f"{sys.executable} -I -S {AGENT} run -- sh -c 'exit 7'"
    for redirections in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        process = subprocess.run(
            ["sh", "-c", f"{command} {redirections}"], env=os.environ | runner.variables, check=False, timeout=60
        )
        assert process.returncode == 7, redirections
    assert set(runner.pending_types()) == {"START", "FAIL"}


def test_command_runs_with_ignored_sigchld_or_without_shebang(runner: AgentRunner, tmp_path: Path) -> None:
    assert runner.run("exit 3", preexec=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN) and None)[0] == 3
    script = tmp_path / "plain.sh"
    script.write_text("exit 9\n")
    script.chmod(0o755)
    assert runner.call("run", "--", str(script))[0] == 9


def test_sender_does_not_hold_locks_of_the_job(runner: AgentRunner, tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    script = f"exec 9>{lock}; flock -n 9; {sys.executable} -I -S {AGENT} run -- true; exec 9>&-; flock -n {lock} true"
    process = subprocess.run(["sh", "-c", script], env=os.environ | runner.variables, check=False, timeout=60)
    assert process.returncode == 0


def test_sender_leaves_the_working_directory_of_the_job(
    runner: AgentRunner, service: StubService, tmp_path: Path
) -> None:
    nested = f"{sys.executable} -I -S {AGENT} run --output out.csv --manifest m.json --log l.txt --heartbeat 0.1"
    script = f"""cd work; echo a > out.csv; echo '["two.csv"]' > m.json; {nested} -- sh -c 'read line'"""
    (tmp_path / "work").mkdir()
    environment = os.environ | {"LINEAGE_BRIDGE_URL": service.url, "LINEAGE_BRIDGE_SPOOL": "spool"}
    with subprocess.Popen(
        ["sh", "-c", script], stdin=subprocess.PIPE, cwd=tmp_path, env=environment, text=True
    ) as process:
        until(lambda: service.event_types()[-1:] == ["RUNNING"], "the first heartbeat")
        work_dir = tmp_path / "work"
        cwd_links = [link for link in Path("/proc").glob("[0-9]*/cwd") if link_target(link) == str(work_dir)]
        commands = [(link.parent / "cmdline").read_bytes() for link in cwd_links]
        sessions = {os.getsid(int(link.parent.name)) for link in cwd_links}
        assert (sessions, len(commands) >= 2) == ({os.getsid(0)}, True)
        process.communicate("\n", timeout=30)
    until(lambda: service.event_types()[-2:] == ["COMPLETE", "COMPLETE"], "the manifest to be reported")
    end = service.received[-1][1]
    assert [output["name"] for output in end["outputs"]] == [str(work_dir / "out.csv"), str(work_dir / "two.csv")]
    assert end["outputs"][0]["facets"] == {"path": str(work_dir / "out.csv"), "size": 2}
    assert end["run"]["facets"]["log"] == {"path": str(work_dir / "l.txt")}


def link_target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


SH = ("sh", "-c", "echo ran; exit 4")
INVALID_OPTIONS = [
    (("--nope", "--", *SH), "unknown option: --nope"),
    (("--nope", "value", "--", *SH), "unknown option: --nope"),
    (("--nope", *SH), "unknown option: --nope"),
    (("--success-codes", "abc", *SH), "invalid value for --success-codes: 'abc'"),
    (("--fail-codes", "8-4", "--", *SH), "invalid value for --fail-codes: '8-4'"),
    (("--attempt", "", "--", *SH), "invalid value for --attempt: ''"),
    (("--heartbeat", "often", *SH), "invalid value for --heartbeat: 'often'"),
    (("--count=5", "--", *SH), "ignored explicit argument"),
]


@pytest.mark.parametrize(("arguments", "message"), INVALID_OPTIONS)
def test_command_runs_unreported_after_invalid_option(
    runner: AgentRunner, arguments: tuple[str, ...], message: str
) -> None:
    code, stdout, stderr = runner.call("run", *arguments)
    assert (code, stdout, message in stderr) == (4, "ran\n", True)
    assert "running the command without reporting it" in stderr
    assert runner.pending() == []


def test_missing_command_or_unknown_option_of_flush_is_usage_error(runner: AgentRunner) -> None:
    assert [runner.call("run", *options)[0] for options in ((), ("--nope",), ("--attempt", "x"))] == [2, 2, 2]
    assert runner.call("flush", "--nope")[0] == 2


def test_named_pipe_as_manifest_does_not_block(runner: AgentRunner, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    started = time.monotonic()
    assert runner.run("exit 0", "--manifest", str(tmp_path / "fifo"), "--linger", "60")[0] == 0
    assert runner.pending_types() == ["START", "COMPLETE", "COMPLETE"]
    assert runner.pending()[-1]["run"]["facets"]["manifest"]["problems"] == ["is not a regular file"]
    assert time.monotonic() - started < 30


def replace_by_link(directory: Path) -> None:
    directory.rename(directory.with_name("moved"))
    directory.symlink_to(directory.with_name("moved"))


UNSAFE_CHANGES: list[Callable[[Path], None]] = [
    replace_by_link,
    lambda directory: directory.chmod(0o777),
    lambda directory: directory.chmod(0o720),
]
if os.geteuid() == 0:
    UNSAFE_CHANGES.append(lambda directory: os.chown(directory, 12345, 12345))


@pytest.mark.parametrize("make_unsafe", UNSAFE_CHANGES)
def test_spool_that_other_users_can_write_to_is_not_used(
    runner: AgentRunner, service: StubService, make_unsafe: Callable[[Path], None]
) -> None:
    runner.spool.mkdir(0o700, parents=True)
    (runner.spool / "1-1-1.run_event.json").write_text('{"eventType": "INJECTED"}')
    make_unsafe(runner.spool)
    runner.url = service.url
    assert runner.run("exit 3", AUTO_JOB_NAME="J", AUTORUN="7")[0] == 3
    until(lambda: service.event_types() == ["START", "FAIL"], "events sent without a spool")
    code, _, stderr = runner.call("flush")
    assert (code, "writable by other users" in stderr) == (1, True)
    assert service.event_types() == ["START", "FAIL"]
    assert sorted(path.name for path in runner.spool.iterdir()) == ["1-1-1.run_event.json"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to act as several users")
def test_flush_of_root_delivers_events_of_all_users(service: StubService) -> None:
    with TemporaryDirectory() as root:
        Path(root).chmod(0o1777)
        users = [(12345, 12345), (12346, 12345)]

        def add_event(number: int) -> int:
            agent.Spool(root).reject(f"{number}.run_event.json", "")
            return 0 if agent.Spool(root).add("run_event", {"eventType": "START", "n": number}) else 1

        for number, user in enumerate(users):
            assert agent.run_as_user(user, lambda number=number: add_event(number)) == 0
        assert add_event(2) == 0
        options = Namespace(spool=root, url=service.url, api_key=None)
        assert agent.run_as_user(users[0], lambda: agent.flush(options)) == 0
        assert [body["n"] for _, body in service.received] == [0]
        assert agent.flush(options) == 0
        assert [body["n"] for _, body in service.received] == [0, 2, 1]


#: Runs flush as root; after setuid no further module can be imported, as if Python were not readable for the user.
FLUSH_WITHOUT_LATER_IMPORTS = """
import os, sys
sys.path.insert(0, sys.argv[1])
import lineage_bridge_agent as agent
setuid = os.setuid
os.setuid = lambda user: (sys.meta_path.clear(), setuid(user))
sys.exit(agent.main(["flush"]))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to act as several users")
def test_flush_of_root_imports_nothing_as_another_user(service: StubService) -> None:
    with TemporaryDirectory() as root:
        Path(root).chmod(0o1777)
        user = (12345, 12345)
        for number in (1, 2):
            body = {"eventType": "START", "n": number}
            assert agent.run_as_user(user, lambda body=body: int(not agent.Spool(root).add("run_event", body))) == 0
        for status, code in ((400, 1), (201, 0)):
            service.status = status
            environment = os.environ | {"LINEAGE_BRIDGE_URL": service.url, "LINEAGE_BRIDGE_SPOOL": root}
            command = [sys.executable, "-I", "-S", "-c", FLUSH_WITHOUT_LATER_IMPORTS, str(AGENT.parent)]
            assert subprocess.run(command, env=environment, check=False, timeout=60).returncode == code
        spool = Path(root) / "lineage-bridge-spool-12345"
        assert (len(list(spool.glob("refused/*.json"))), list(spool.glob("*.json"))) == (2, [])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to act as several users")
def test_failure_as_another_user_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise ImportError("no fcntl")

    assert agent.run_as_user((12345, 12345), fail) == 1
    assert "user 12345: ImportError: no fcntl" in capfd.readouterr().err


def test_sender_deletes_old_attempt_counters(runner: AgentRunner) -> None:
    attempts = runner.spool / "attempts"
    runner.spool.mkdir(0o700, parents=True)
    attempts.mkdir()
    (attempts / "old").write_text(".")
    os.utime(attempts / "old", (0, 0))
    runner.run("exit 0", AUTO_JOB_NAME="J", AUTORUN="7")
    until(lambda: not (attempts / "old").exists(), "the old counter to be deleted")
    assert len(list(attempts.glob("[0-9a-f]*"))) == 1


def test_linger_waits_until_the_end_is_delivered(runner: AgentRunner, service: StubService) -> None:
    runner.url = service.url
    assert runner.run("exit 3", "--linger", "60")[0] == 3
    assert (service.event_types(), runner.pending()) == (["START", "FAIL"], [])


def run_as_pid_1(runner: AgentRunner) -> None:
    runner.wrapper = ("unshare", "--pid", "--fork", "--kill-child")
    if shutil.which("unshare") is None or runner.call("--help")[0] != 0:
        pytest.skip("cannot create a PID namespace on this machine")


def test_pid_1_delivers_the_end_before_it_exits(runner: AgentRunner, service: StubService) -> None:
    run_as_pid_1(runner)
    runner.url = service.url
    assert runner.run("exit 3")[0] == 3
    assert service.event_types() == ["START", "FAIL"]
    assert runner.run("kill -15 $$")[0] == 128 + 15
    assert service.event_types() == ["START", "FAIL", "START", "ABORT"]


def test_pid_1_does_not_wait_for_a_service_that_hangs(runner: AgentRunner, service: StubService) -> None:
    run_as_pid_1(runner)
    runner.url, service.delay = service.url, 60.0
    started = time.monotonic()
    assert runner.run("exit 3")[0] == 3
    assert time.monotonic() - started < 20
    assert runner.pending_types() == ["START", "FAIL"]


def test_flush_skips_and_reports_unreadable_files(runner: AgentRunner, service: StubService) -> None:
    runner.url = service.url
    runner.spool.mkdir(0o700, parents=True)
    (runner.spool / "1-1-1.run_event.json").symlink_to("/nowhere")
    os.mkfifo(runner.spool / "1-1-2.run_event.json")
    assert agent.Spool(str(runner.spool_root)).add("run_event", {"eventType": "START"})
    code, _, stderr = runner.call("flush")
    assert code == 1
    assert "1 delivered, 0 rejected" in stderr
    assert "2 events cannot be read" in stderr
    assert service.event_types() == ["START"]


def test_events_contain_no_credentials_and_valid_utf_8(runner: AgentRunner) -> None:
    runner.run("exit 0", "--output", "s3://ann:secret@bucket/x?sig=token", "--input", os.fsdecode(b"/in/caf\xe9"))
    text = json.dumps(runner.pending())
    assert "secret" not in text
    assert "token" not in text
    assert "s3://bucket/x" in text


def test_register_succeeds_while_service_is_down(runner: AgentRunner) -> None:
    assert runner.call("register_process", "BOX/J", "SUCCESS")[0] == 0
    assert len(runner.pending()) == 1
