"""The agent as jobs run it: they end as they would without it, and what happened is told, now or later."""

import ast
import fcntl
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
DEAD = "http://127.0.0.1:9"


class Taker:
    """A service that takes what it is sent, as it is told to."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, dict[str, Any]]] = []
        self.status = 201
        self.delay = 0.0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                threading.Event().wait(outer.delay)
                if outer.status < 300:
                    outer.taken.append((self.path, json.loads(body)))
                self.send_response(outer.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def states(self) -> list[str]:
        return [body["eventType"] for _, body in self.taken]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def taker() -> Iterator[Taker]:
    one = Taker()
    yield one
    one.close()


class Agent:
    """The command, with a spool of its own."""

    def __init__(self, folder: Path) -> None:
        self.place = folder / "spool"
        self.url = DEAD
        self.within: tuple[str, ...] = ()
        self._started: list[subprocess.Popen[str]] = []

    @property
    def spool(self) -> Path:
        return self.place / f"lineage-bridge-spool-{os.geteuid()}"

    def start(
        self, *words: str, before: Callable[[], None] | None = None, **variables: str
    ) -> "subprocess.Popen[str]":
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("AUTO", "LINEAGE"))}
        process = subprocess.Popen(
            [*self.within, sys.executable, "-I", "-S", str(AGENT), *words],
            env=clean | {"LINEAGE_BRIDGE_URL": self.url, "LINEAGE_BRIDGE_SPOOL": str(self.place)} | variables,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=before,  # noqa: PLW1509 - the limits of one child
        )  # fmt: skip
        self._started.append(process)
        return process

    def close(self) -> None:
        """End what a test that failed left behind, with its command where both are in a group of their own."""
        for one in self._started:
            if one.returncode is None and one.poll() is None:
                (os.killpg if os.getpgid(one.pid) == one.pid else os.kill)(one.pid, signal.SIGKILL)
                one.communicate(timeout=30)

    def done(self, *words: str, text: str = "", **given: Any) -> tuple[int, str, str]:
        process = self.start(*words, **given)
        out, said = process.communicate(text, timeout=60)
        return process.returncode, out, said

    def run(self, script: str, *options: str, **given: Any) -> tuple[int, str, str]:
        return self.done("run", *options, "--", "sh", "-c", script, **given)

    def waiting(self) -> list[dict[str, Any]]:
        spool = agent.Spool(str(self.place))
        found = [spool.read(name) for name in spool.waiting()]
        return [json.loads(one) for one in found if one is not None]  # a courier may take one meanwhile


@pytest.fixture
def sent(tmp_path: Path) -> Iterator[Agent]:
    one = Agent(tmp_path)
    yield one
    one.close()


def test_it_runs_on_old_pythons_and_needs_nothing() -> None:
    tree = ast.parse(AGENT.read_text(encoding="utf-8"), feature_version=(3, 6))
    imported = {
        (one.module or "" if isinstance(one, ast.ImportFrom) else one.names[0].name).partition(".")[0]
        for one in ast.walk(tree)
        if isinstance(one, ast.Import | ast.ImportFrom)
    }
    assert imported <= sys.stdlib_module_names


@pytest.mark.parametrize("named", ["", "agent"])
def test_it_is_installed_by_itself_for_everybody_to_run(sent: Agent, tmp_path: Path, named: str) -> None:
    place = tmp_path / "bin"
    place.mkdir()
    old = place / (named or "lineage-bridge-agent")
    old.write_text("old")
    before = os.umask(0o077)
    try:
        assert sent.done("install", str(place / named))[::2] == (0, f"lineage-bridge-agent: installed as {old}\n")
    finally:
        os.umask(before)
    assert (old.stat().st_mode & 0o777, list(place.iterdir())) == (0o755, [old])
    clean = {"LINEAGE_BRIDGE_URL": DEAD, "LINEAGE_BRIDGE_SPOOL": str(sent.place)}
    done = subprocess.run([old, "run", "--", "sh", "-c", "exit 3"], env=os.environ | clean, check=False, timeout=60)
    assert done.returncode == 3
    assert [one["eventType"] for one in sent.waiting()] == ["START", "FAIL"]


def test_what_cannot_be_installed_is_told(sent: Agent) -> None:
    assert sent.done("install", "/proc/none/x")[::2] == (
        1, "lineage-bridge-agent: /proc/none/x: No such file or directory\n"
    )  # fmt: skip


def test_the_file_can_be_run_as_it_lies_here() -> None:
    assert os.access(AGENT, os.X_OK)


@pytest.mark.parametrize("code", [0, 1, 3, 126, 255])
def test_a_command_ends_as_it_would_alone_and_its_streams_are_its_own(sent: Agent, code: int) -> None:
    done = sent.run(f"cat; echo out; echo err >&2; exit {code}", text="in\n")
    assert done == (code, "in\nout\n", "err\n")


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSEGV", "SIGPIPE"])
def test_a_command_that_is_killed_kills_the_agent_by_the_same_signal(sent: Agent, name: str) -> None:
    number = getattr(signal, name)
    assert sent.run(f"kill -{number} $$")[0] == -number
    assert sent.waiting()[-1]["eventType"] == "ABORT"


@pytest.mark.parametrize(("command", "code"), [("no-such-command", 127), ("/etc/passwd", 126)])
def test_a_command_that_cannot_be_started_ends_as_in_a_shell(sent: Agent, command: str, code: int) -> None:
    done = sent.done("run", "--", command)
    assert (done[0], command in done[2]) == (code, True)
    assert [one["eventType"] for one in sent.waiting()] == ["START", "FAIL"]


#: Says who it is, and then the number of each signal that it gets, as soon as it gets it; SIGALRM ends it.
HEARS = """
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


class Hearing:
    """A command behind the agent, in a session of its own, that says what it gets."""

    def __init__(self, sent: Agent, before: Callable[[], object] = lambda: None) -> None:
        def start() -> None:
            os.setsid()
            before()

        self.agent = sent.start("run", "--", sys.executable, "-I", "-S", "-c", HEARS, before=start)
        assert self.agent.stdout is not None
        self._stdout = self.agent.stdout.buffer.raw  # type: ignore[attr-defined] - a pipe that is read byte by byte
        self.command = int(line_of(self._stdout))

    def heard(self) -> int:
        return int(self._stdout.read(1)[0])

    def is_all(self) -> bool:
        """Tell whether nothing else is on its way: the agent takes the greatest number last."""
        os.kill(self.agent.pid, signal.SIGWINCH)
        return self.heard() == signal.SIGWINCH

    def ends(self) -> bool:
        os.kill(self.agent.pid, signal.SIGALRM)
        return self.heard() == signal.SIGALRM and self.agent.communicate(timeout=30)[0] == ""


def line_of(pipe: Any) -> bytes:
    return b"".join(iter(lambda: pipe.read(1), b"\n"))


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGCONT"])
@pytest.mark.parametrize("tell", [os.kill, os.killpg])
def test_a_signal_reaches_the_command_once(sent: Agent, name: str, tell: Callable[[int, int], None]) -> None:
    number = getattr(signal, name)
    hearing = Hearing(sent)
    for times in (1, 1, 20):
        for _ in range(times):
            tell(hearing.agent.pid, number)
            assert hearing.heard() == number
        assert hearing.is_all()
    assert hearing.ends()
    assert hearing.agent.returncode == 7


def test_a_key_that_a_terminal_makes_a_signal_reaches_the_command_once(sent: Agent) -> None:
    ours, theirs = os.openpty()
    hearing = Hearing(sent, lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0))
    os.write(ours, b"\x03")
    assert hearing.heard() == signal.SIGINT
    assert hearing.is_all()
    assert hearing.ends()
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize("name", ["SIGSTOP", "SIGKILL"])
def test_without_its_witness_no_signal_is_lost(sent: Agent, name: str) -> None:
    hearing = Hearing(sent)
    children = Path(f"/proc/{hearing.agent.pid}/task/{hearing.agent.pid}/children")

    def witnesses() -> list[int]:
        found = [int(one) for one in children.read_text().split()]
        return [one for one in found if one != hearing.command and os.getpgid(one) == hearing.agent.pid]

    until(lambda: len(children.read_text().split()) == 3 and len(witnesses()) == 1, "the courier to be detached")
    os.kill(witnesses()[0], getattr(signal, name))
    hearing.agent.terminate()
    assert hearing.heard() == signal.SIGTERM
    assert witnesses() == []
    assert hearing.is_all()
    assert hearing.ends()


def test_what_happened_is_told_once_the_service_answers(sent: Agent, taker: Taker, tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    sent.url = taker.url
    code, _, _ = sent.run(
        f"printf 'a\\nb\\nc' > {output}; exit 0", "--output", str(output), "--input", "s3://lake/in", "--count", "--checksum",
        "--log", "/logs/a.log", AUTO_JOB_NAME="JobA", AUTOSERV="PRD", AUTORUN="1261419",
    )  # fmt: skip
    assert code == 0
    until(lambda: len(taker.taken) == 3, "start, end and what was counted")
    start, end, counted = (body for _, body in taker.taken)
    assert {path for path, _ in taker.taken} == {"/api/v1/run_event"}
    assert (start["eventType"], end["eventType"]) == ("START", "COMPLETE")
    assert start["job"] == {"namespace": "AUTOSYS:PRD", "name": "JobA"}
    assert {one["run"]["runId"] for _, one in taker.taken} == {"1261419/1"}
    assert end["run"]["facets"]["exitCode"] == 0
    assert end["outputs"][0]["facets"] == {"path": str(output)}
    assert (counted["outputs"][0]["facets"]["size"], counted["outputs"][0]["facets"]["rows"]) == (5, 3)
    assert counted["outputs"][0]["facets"]["checksum"].startswith("sha256:")
    until(lambda: sent.waiting() == [], "nothing to wait")


def test_a_second_try_of_a_run_is_another_attempt(sent: Agent) -> None:
    for _ in range(2):
        sent.run("exit 1", AUTO_JOB_NAME="JobA", AUTORUN="7")
    assert [one["run"]["runId"] for one in sent.waiting()] == ["7/1", "7/1", "7/2", "7/2"]


def test_a_run_within_a_run_is_no_try_of_it(sent: Agent) -> None:
    inner = f"{sys.executable} -I -S {AGENT} run"
    sent.run(f"{inner} --job BOX/STEP -- {inner} -- true", AUTO_JOB_NAME="JobA", AUTORUN="7")
    sent.run("exit 1", AUTO_JOB_NAME="JobA", AUTORUN="7")
    began = [one for one in sent.waiting() if one["eventType"] == "START"]
    outer, step, innermost, again = began
    assert [one["run"]["runId"] for one in (outer, again)] == ["7/1", "7/2"]
    assert [one["job"]["name"] for one in began] == ["JobA", "BOX/STEP", "true", "JobA"]
    assert "parent" not in outer["run"]["facets"]
    for one, parent in ((step, outer), (innermost, step)):
        assert one["run"]["facets"]["parent"] == {"run": {"runId": parent["run"]["runId"]}, "job": parent["job"]}


def test_a_job_of_autosys_that_got_the_variable_of_another_is_its_own(sent: Agent) -> None:
    stale = '{"autosys": ["JobA", null, "7"], "parent": {"run": {"runId": "7/1"}, "job": {}}}'
    for given in (stale, "{broken", "[1]"):
        sent.run("exit 0", AUTO_JOB_NAME="JobB", AUTORUN="9", LINEAGE_BRIDGE_PARENT_RUN=given)
    assert {one["run"]["runId"] for one in sent.waiting()} == {"9/1", "9/2", "9/3"}
    assert all("parent" not in one["run"]["facets"] for one in sent.waiting())


CODES = [
    ((), 4, "FAIL"), (("--max-exit-success", "4"), 4, "COMPLETE"), (("--success-codes", "0,4-8"), 6, "COMPLETE"),
    (("--success-codes", "4-8"), 0, "FAIL"), (("--fail-codes", "9", "--success-codes", "0"), 4, "COMPLETE"),
    (("--fail-codes", "4"), 4, "FAIL"), (("--success-codes", ""), 4, "FAIL"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "code", "state"), CODES)
def test_success_is_what_the_definition_calls_so_and_the_exit_code_stays(
    sent: Agent, options: tuple[str, ...], code: int, state: str
) -> None:
    assert sent.run(f"exit {code}", *options)[0] == code
    assert sent.waiting()[-1]["eventType"] == state


def test_a_manifest_tells_what_files_do_not(sent: Agent, tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    told = {"outputs": [{"namespace": "DB2", "name": "S.T", "rows": 5, "version": "v1"}], "inputs": [{"path": "/in"}]}
    sent.run(f"echo '{json.dumps(told)}' > {manifest}", "--manifest", str(manifest))
    until(lambda: len(sent.waiting()) == 3, "what the manifest tells")
    end = sent.waiting()[-1]
    assert end["outputs"] == [{"namespace": "DB2", "name": "S.T", "facets": {"rows": 5, "version": "v1"}}]
    assert end["inputs"][0]["name"] == "/in"


MANIFESTS = [
    (None, "is not there"), ("", "cannot be read: Expecting value"), ("{broken", "cannot be read: Expecting property name"),
    ("3", "names neither inputs nor outputs"), ('{"output": []}', "names neither inputs nor outputs"),
    ("[1]", "outputs[0] names no dataset"), ('{"outputs": 5}', "outputs is no list"),
    ('{"outputs": ["s3://a/b", {"rows": 5}, {"name": "x", "namespace": 5}]}', "outputs[1] names no dataset; outputs[2] names no dataset"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), MANIFESTS)
def test_a_manifest_that_is_none_harms_nothing_and_is_told(
    sent: Agent, tmp_path: Path, text: str | None, said: str
) -> None:
    manifest = tmp_path / "manifest.json"
    if text is not None:
        manifest.write_text(text)
    code, _, words = sent.run("exit 3", "--manifest", str(manifest))
    assert (code, words.count(f"{manifest}: {said}"), words.count("\n")) == (3, 1, 1)
    until(lambda: len(sent.waiting()) == 3, "what is wrong with it")
    told = sent.waiting()[-1]
    assert told["eventType"] == "FAIL"
    facet = told["run"]["facets"]["manifest"]
    assert (facet["path"], "; ".join(facet["problems"]).startswith(said)) == (str(manifest), True)
    assert [one["name"] for one in told["outputs"]] == (["s3://a/b"] if "s3" in (text or "") else [])


def test_a_manifest_that_says_it_well_is_no_word_worth(sent: Agent, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text('["s3://a/b", {"path": "/x", "rows": 1}]')
    assert sent.run("exit 0", "--manifest", str(tmp_path / "m.json")) == (0, "", "")


@pytest.mark.parametrize("status", [500, 503, 401, 404])
def test_what_a_service_does_not_take_now_waits_for_the_next_call(sent: Agent, taker: Taker, status: int) -> None:
    sent.url, taker.status = taker.url, status
    assert sent.run("exit 0")[0] == 0
    code, _, said = sent.done("flush")
    assert (code, f": {status} " in said or "another courier" in said) == (1, True)
    taker.status = 201
    until(lambda: (sent.done("flush"), not sent.waiting())[1], "all to be brought")
    assert taker.states() == ["START", "COMPLETE"]


def test_what_a_service_refuses_for_good_is_put_aside_with_its_words(sent: Agent, taker: Taker) -> None:
    sent.url, taker.status = taker.url, 400
    assert sent.run("exit 0")[0] == 0
    until(lambda: len(list(sent.spool.glob("refused/*.json"))) == 2, "both to be refused")
    assert all(one.read_text().startswith("400") for one in sent.spool.glob("refused/*.reason"))


def test_a_slow_service_delays_nothing(sent: Agent, taker: Taker) -> None:
    sent.url, taker.delay = taker.url, 30.0
    began = time.monotonic()
    assert sent.run("exit 0")[0] == 0
    assert time.monotonic() - began < 10


def test_a_spool_that_cannot_be_written_harms_nothing_and_the_service_is_told_all_the_same(
    sent: Agent, taker: Taker
) -> None:
    sent.url = taker.url
    sent.place = Path("/proc/none")
    assert sent.run("exit 3")[0] == 3
    until(lambda: taker.states() == ["START", "FAIL"], "both events")


def test_a_full_disk_harms_nothing(sent: Agent) -> None:
    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    assert sent.run("exit 3", before=full)[0] == 3
    assert sent.waiting() == []


def test_an_agent_that_is_killed_is_told_of_by_its_courier(sent: Agent, taker: Taker) -> None:
    sent.url = taker.url
    running = sent.start("run", "--", "sh", "-c", "echo $$; exec sleep 60")
    assert running.stdout is not None
    child = int(running.stdout.readline())
    until(lambda: taker.states() == ["START"], "the start")
    running.kill()
    running.wait(30)
    until(lambda: taker.states()[:2] == ["START", "ABORT"], "the end")
    assert taker.taken[-1][1]["run"]["facets"]["errorMessage"]["message"] == "the agent was killed"
    os.kill(child, signal.SIGKILL)
    running.communicate(timeout=30)


def test_a_long_job_says_that_it_runs(sent: Agent, taker: Taker) -> None:
    sent.url = taker.url
    running = sent.start("run", "--heartbeat", "0.1", "--", "sh", "-c", "read line")
    until(lambda: taker.states().count("RUNNING") >= 2, "signs of life")
    running.communicate("\n", timeout=30)
    until(lambda: taker.states()[-1] == "COMPLETE", "the end")


def test_ten_thousand_that_wait_are_all_brought_by_whoever_comes(sent: Agent, taker: Taker) -> None:
    spool = agent.Spool(str(sent.place))
    threads = [
        threading.Thread(target=lambda at: [agent.Spool(str(sent.place)).add("run_event", {"eventType": "START", "n": [at, i]}) for i in range(1250)], args=(at,))
        for at in range(8)
    ]  # fmt: skip
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(spool.waiting()) == 10_000
    sent.url = taker.url
    couriers = [sent.start("flush") for _ in range(4)]
    for one in couriers:
        one.communicate(timeout=100)
    until(lambda: not spool.waiting(), "all to be brought")
    assert len({tuple(body["n"]) for _, body in taker.taken}) == 10_000


def test_a_spool_has_an_end_and_what_was_in_it_stays(sent: Agent) -> None:
    spool = agent.Spool(str(sent.place), most_files=3)
    assert [spool.add("run_event", {"n": i}) for i in range(5)] == [True, True, True, False, False]
    assert [one["n"] for one in sent.waiting()] == [0, 1, 2]


@pytest.mark.parametrize(("status", "lost"), [(201, 0), (503, 2)])
def test_what_found_no_room_and_was_not_taken_at_once_is_told_once_by_flush_and_by_the_next_run(
    sent: Agent, taker: Taker, monkeypatch: pytest.MonkeyPatch, status: int, lost: int
) -> None:
    spool, service = agent.Spool(str(sent.place), most_files=0), agent.Service(taker.url, None)
    taker.status = status
    for _ in range(2):
        assert not spool.add("run_event", {})
        agent.send_now(spool, service, {"eventType": "LATE"})
    service.close()
    taker.status = 201
    for wanted in (lost, 0):
        flushed = Agent(sent.place.parent)
        flushed.url = taker.url
        code, _, said = flushed.done("flush")
        assert (code, said.count(f", {wanted} lost before"), "lost" in said) == (
            int(wanted > 0),
            int(wanted > 0),
            wanted > 0,
        )
    for _ in range(2):
        sent.run("exit 0")
    starts = [one for one in sent.waiting() if one["eventType"] == "START"]
    assert [one["run"]["facets"].get("droppedEvents", 0) for one in starts] == [lost, 0]


def test_an_old_script_that_finds_no_room_is_told_so_and_so_is_flush(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_SPOOL", str(tmp_path))
    monkeypatch.setattr(agent.Spool, "_full", lambda self: True)
    assert not agent.register_process("BOX/J", "SUCCESS")
    assert agent.Spool(str(tmp_path)).lost(".dropped") == 1


def test_it_speaks_to_a_real_service_and_old_scripts_register(sent: Agent, tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with Service(store) as service:
        sent.url = f"http://127.0.0.1:{service.port}"
        assert sent.run("exit 0", AUTO_JOB_NAME="JobA", AUTORUN="7")[0] == 0
        until(lambda: not sent.waiting(), "the run to be brought")
        assert sent.done("register_dataset", "s3://bucket/out/v1", "2026-01-31", "SUCCESS")[0] == 0
        assert sent.done("register_dataset", "/lake/positions.csv", "v1")[0] == 0
        assert sent.done("register_dataset", "postgres://h=db.s.t", "v1")[0] == 0
        assert sent.done("register_process", "BOX/JobB", "SUCCESS")[0] == 0
        script = "import sys; sys.path.insert(0, sys.argv[1]); import lineage_bridge_agent as a; sys.exit(not a.register_process('BOX/JobC', 'FAILURE'))"
        clean = {"LINEAGE_BRIDGE_URL": sent.url, "LINEAGE_BRIDGE_SPOOL": str(sent.place)}
        subprocess.run(
            [sys.executable, "-c", script, str(AGENT.parent)], env=os.environ | clean, check=True, timeout=60
        )
        until(lambda: not sent.waiting(), "all to be brought")
    with closing(sqlite3.connect(store)) as db:
        runs = db.execute(
            "SELECT j.name, r.event_type FROM ol_run r JOIN ol_job j ON j.job_id = r.job_id ORDER BY 1"
        ).fetchall()
        datasets = db.execute(
            "SELECT n.namespace_uri, d.name FROM ol_dataset d JOIN ol_namespace n USING (namespace_id) ORDER BY 1"
        ).fetchall()
    assert runs == [("JobA", "COMPLETE"), ("JobB", "COMPLETE"), ("JobC", "FAIL")]
    assert datasets == [("file", "/lake/positions.csv"), ("postgres://h", "db.s.t"), ("s3://bucket", "out/v1")]


def test_closed_streams_are_no_reason_not_to_run(sent: Agent) -> None:
    words = f"{sys.executable} -I -S {AGENT} run -- sh -c 'exit 7'"
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        done = subprocess.run(
            ["sh", "-c", f"{words} {closed}"],
            env=os.environ | {"LINEAGE_BRIDGE_SPOOL": str(sent.place), "LINEAGE_BRIDGE_URL": DEAD},
            check=False,
            timeout=60,
        )
        assert done.returncode == 7, closed
    assert {one["eventType"] for one in sent.waiting()} == {"START", "FAIL"}


def test_ignored_children_and_scripts_without_a_shell_are_run_as_they_would_be(sent: Agent, tmp_path: Path) -> None:
    assert sent.run("exit 3", before=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN) and None)[0] == 3
    script = tmp_path / "plain.sh"
    script.write_text("exit 9\n")
    script.chmod(0o755)
    assert sent.done("run", "--", str(script))[0] == 9


def test_nobody_waits_for_what_the_courier_holds(sent: Agent, tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    words = f"exec 9>{lock}; flock -n 9; {sys.executable} -I -S {AGENT} run -- true; exec 9>&-; flock -n {lock} true"
    given = os.environ | {"LINEAGE_BRIDGE_SPOOL": str(sent.place), "LINEAGE_BRIDGE_URL": DEAD}
    assert subprocess.run(["sh", "-c", words], env=given, check=False, timeout=60).returncode == 0


def test_the_courier_stands_in_no_folder_of_the_jobs(sent: Agent, taker: Taker, tmp_path: Path) -> None:
    sent.url = taker.url
    inner = f"{sys.executable} -I -S {AGENT} run --output out.csv --manifest m.json --log l.txt --heartbeat 0.1"
    script = f"""cd work; echo a > out.csv; echo '["two.csv"]' > m.json; {inner} -- sh -c 'read line'"""
    (tmp_path / "work").mkdir()
    clean = os.environ | {"LINEAGE_BRIDGE_URL": sent.url, "LINEAGE_BRIDGE_SPOOL": "spool"}
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, cwd=tmp_path, env=clean, text=True) as running:
        until(lambda: taker.states()[-1:] == ["RUNNING"], "the courier to be at work")
        job = tmp_path / "work"
        standing = [one for one in Path("/proc").glob("[0-9]*/cwd") if folder_of(one) == str(job)]
        commands = [(one.parent / "cmdline").read_bytes() for one in standing]
        groups = {os.getsid(int(one.parent.name)) for one in standing}
        assert (groups, len(commands) >= 2) == ({os.getsid(0)}, True)
        running.communicate("\n", timeout=30)
    until(lambda: taker.states()[-2:] == ["COMPLETE", "COMPLETE"], "what the manifest tells")
    end = taker.taken[-1][1]
    assert [one["name"] for one in end["outputs"]] == [str(job / "out.csv"), str(job / "two.csv")]
    assert end["outputs"][0]["facets"] == {"path": str(job / "out.csv"), "size": 2}
    assert end["run"]["facets"]["log"] == {"path": str(job / "l.txt")}


def folder_of(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


SH = ("sh", "-c", "echo ran; exit 4")
MISTAKES = [
    (("--nope", "--", *SH), "--nope is not known"), (("--nope", "value", "--", *SH), "--nope is not known"),
    (("--nope", *SH), "--nope is not known"), (("--success-codes", "abc", *SH), "--success-codes cannot be 'abc'"),
    (("--fail-codes", "8-4", "--", *SH), "--fail-codes cannot be '8-4'"), (("--attempt", "", "--", *SH), "--attempt cannot be ''"),
    (("--heartbeat", "often", *SH), "--heartbeat cannot be 'often'"), (("--count=5", "--", *SH), "ignored explicit argument"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "said"), MISTAKES)
def test_a_mistake_in_the_options_is_said_and_runs_the_command_all_the_same(
    sent: Agent, words: tuple[str, ...], said: str
) -> None:
    code, out, told = sent.done("run", *words)
    assert (code, out, said in told, "is run all the same" in told) == (4, "ran\n", True, True)
    assert sent.waiting() == []


def test_a_mistake_without_a_command_is_said(sent: Agent) -> None:
    assert [sent.done("run", *words)[0] for words in ((), ("--nope",), ("--attempt", "x"))] == [2, 2, 2]
    assert sent.done("flush", "--nope")[0] == 2


def test_a_manifest_that_cannot_be_read_to_its_end_delays_nothing(sent: Agent, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    began = time.monotonic()
    assert sent.run("exit 0", "--manifest", str(tmp_path / "fifo"), "--linger", "60")[0] == 0
    assert [one["eventType"] for one in sent.waiting()] == ["START", "COMPLETE", "COMPLETE"]
    assert sent.waiting()[-1]["run"]["facets"]["manifest"]["problems"] == ["is no file"]
    assert time.monotonic() - began < 30


def link_away(folder: Path) -> None:
    folder.rename(folder.with_name("away"))
    folder.symlink_to(folder.with_name("away"))


FOREIGN: list[Callable[[Path], None]] = [
    link_away,
    lambda folder: folder.chmod(0o777),
    lambda folder: folder.chmod(0o720),
]
if os.geteuid() == 0:
    FOREIGN.append(lambda folder: os.chown(folder, 12345, 12345))


@pytest.mark.parametrize("open_it", FOREIGN)
def test_a_spool_into_which_others_can_write_is_not_used(
    sent: Agent, taker: Taker, open_it: Callable[[Path], None]
) -> None:
    sent.spool.mkdir(0o700, parents=True)
    (sent.spool / "1-1-1.run_event.json").write_text('{"eventType": "INJECTED"}')
    open_it(sent.spool)
    sent.url = taker.url
    assert sent.run("exit 3", AUTO_JOB_NAME="J", AUTORUN="7")[0] == 3
    until(lambda: taker.states() == ["START", "FAIL"], "what is told without a spool")
    code, _, said = sent.done("flush")
    assert (code, "others may write there" in said) == (1, True)
    assert taker.states() == ["START", "FAIL"]
    assert sorted(one.name for one in sent.spool.iterdir()) == ["1-1-1.run_event.json"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be several users")
def test_users_who_share_a_place_do_not_stand_in_each_others_way(taker: Taker) -> None:
    with TemporaryDirectory() as place:
        Path(place).chmod(0o1777)
        users = [(12345, 12345), (12346, 12345)]

        def leave(number: int) -> int:
            agent.Spool(place).refuse(f"{number}.run_event.json", "")
            return 0 if agent.Spool(place).add("run_event", {"eventType": "START", "n": number}) else 1

        for number, one in enumerate(users):
            assert agent.as_user(one, lambda number=number: leave(number)) == 0
        assert leave(2) == 0
        given = Namespace(spool=place, url=taker.url, api_key=None)
        assert agent.as_user(users[0], lambda: agent.flush(given)) == 0
        assert [body["n"] for _, body in taker.taken] == [0]
        assert agent.flush(given) == 0
        assert [body["n"] for _, body in taker.taken] == [0, 2, 1]


#: The agent as root has it, to whom nothing more of its Python is there once it is somebody else.
UNREADABLE = """
import os, sys
sys.path.insert(0, sys.argv[1])
import lineage_bridge_agent as agent
become = os.setuid
os.setuid = lambda user: (sys.meta_path.clear(), become(user))
sys.exit(agent.main(["flush"]))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be several users")
def test_root_brings_what_others_left_though_they_cannot_read_its_python(taker: Taker) -> None:
    with TemporaryDirectory() as place:
        Path(place).chmod(0o1777)
        user = (12345, 12345)
        for number in (1, 2):
            body = {"eventType": "START", "n": number}
            assert agent.as_user(user, lambda body=body: int(not agent.Spool(place).add("run_event", body))) == 0
        for status, code in ((400, 1), (201, 0)):
            taker.status = status
            given = os.environ | {"LINEAGE_BRIDGE_URL": taker.url, "LINEAGE_BRIDGE_SPOOL": place}
            words = [sys.executable, "-I", "-S", "-c", UNREADABLE, str(AGENT.parent)]
            assert subprocess.run(words, env=given, check=False, timeout=60).returncode == code
        folder = Path(place) / "lineage-bridge-spool-12345"
        assert (len(list(folder.glob("refused/*.json"))), list(folder.glob("*.json"))) == (2, [])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be several users")
def test_what_goes_wrong_in_the_name_of_another_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise ImportError("no fcntl")

    assert agent.as_user((12345, 12345), fail) == 1
    assert "user 12345: ImportError: no fcntl" in capfd.readouterr().err


def test_the_tries_of_runs_long_ago_are_forgotten_by_the_courier(sent: Agent) -> None:
    attempts = sent.spool / "attempts"
    sent.spool.mkdir(0o700, parents=True)
    attempts.mkdir()
    (attempts / "old").write_text(".")
    os.utime(attempts / "old", (0, 0))
    sent.run("exit 0", AUTO_JOB_NAME="J", AUTORUN="7")
    until(lambda: not (attempts / "old").exists(), "it to be forgotten")
    assert len(list(attempts.glob("[0-9a-f]*"))) == 1


def test_who_waits_for_the_end_to_be_sent_finds_it_sent(sent: Agent, taker: Taker) -> None:
    sent.url = taker.url
    assert sent.run("exit 3", "--linger", "60")[0] == 3
    assert (taker.states(), sent.waiting()) == (["START", "FAIL"], [])


def first_process(sent: Agent) -> None:
    sent.within = ("unshare", "--pid", "--fork", "--kill-child")
    if shutil.which("unshare") is None or sent.done("--help")[0] != 0:
        pytest.skip("this machine gives nobody a first process")


def test_the_first_process_of_a_container_sends_the_end_before_it_leaves(sent: Agent, taker: Taker) -> None:
    first_process(sent)
    sent.url = taker.url
    assert sent.run("exit 3")[0] == 3
    assert taker.states() == ["START", "FAIL"]
    assert sent.run("kill -15 $$")[0] == 128 + 15
    assert taker.states() == ["START", "FAIL", "START", "ABORT"]


def test_the_first_process_waits_for_no_service_that_does_not_answer(sent: Agent, taker: Taker) -> None:
    first_process(sent)
    sent.url, taker.delay = taker.url, 60.0
    began = time.monotonic()
    assert sent.run("exit 3")[0] == 3
    assert time.monotonic() - began < 20
    assert [one["eventType"] for one in sent.waiting()] == ["START", "FAIL"]


def test_what_cannot_be_read_is_not_tried_for_ever(sent: Agent, taker: Taker) -> None:
    sent.url = taker.url
    sent.spool.mkdir(0o700, parents=True)
    (sent.spool / "1-1-1.run_event.json").symlink_to("/nowhere")
    os.mkfifo(sent.spool / "1-1-2.run_event.json")
    assert agent.Spool(str(sent.place)).add("run_event", {"eventType": "START"})
    code, _, said = sent.done("flush")
    assert (code, "1 brought, 0 refused" in said, "2 cannot be read" in said) == (1, True, True)
    assert taker.states() == ["START"]


def test_passwords_and_odd_letters_do_not_get_into_what_is_told(sent: Agent) -> None:
    sent.run("exit 0", "--output", "s3://ann:secret@bucket/x?sig=token", "--input", os.fsdecode(b"/in/caf\xe9"))
    text = json.dumps(sent.waiting())
    assert "secret" not in text
    assert "token" not in text
    assert "s3://bucket/x" in text


def test_registering_never_ends_an_old_script(sent: Agent) -> None:
    assert sent.done("register_process", "BOX/J", "SUCCESS")[0] == 0
    assert len(sent.waiting()) == 1
