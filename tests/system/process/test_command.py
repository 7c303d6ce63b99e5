"""`lineage-bridge process run` as users run it: what the screen says, with which code it ends, and what the store knows."""

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
from tests.system.process.works import TRADES, check, process
from tests.system.service import ROOT, Service, environment, new_store

pytestmark = [pytest.mark.system("java", "spark"), pytest.mark.timeout(400)]

_LIMIT = 48 << 20
MANY = "SELECT id, uuid() AS text FROM (SELECT explode(sequence(1, 3000000)) AS id)"


class Desk:
    """A folder with a lake and process files, a store, and the command."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.store = new_store(base)
        self.url: str | None = None
        (base / "lake" / "raw").mkdir(parents=True)
        (base / "lake" / "raw" / "a.csv").write_text(TRADES, encoding="utf-8")

    def file(self, text: str, name: str = "p") -> Path:
        path = self.base / f"{name}.yaml"
        path.write_text(f"process: {{name: {name}}}\n{text}", encoding="utf-8")
        return path

    def start(self, *words: str, before: Callable[[], None] | None = None, **more: str) -> "subprocess.Popen[str]":
        settings = {"PROCESS__LAKE": f"{self.base}/lake", "PROCESS__WORK": f"{self.base}/work"}
        env = environment(self.store, **settings) | more
        return subprocess.Popen(
            [sys.executable, "-m", "bridge", *words, *(["--url", self.url] if self.url else [])],
            cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=before,  # noqa: PLW1509 - the limits of one child; no thread of ours runs meanwhile
            start_new_session=True,
        )  # fmt: skip

    def done(self, *words: str, **given: Any) -> tuple[int, str, str]:
        process = self.start(*words, **given)
        out, said = process.communicate(timeout=200)
        return process.returncode, out, said

    def run(self, text: str, *words: str, name: str = "p", **given: Any) -> tuple[int, str, str]:
        conf = ("--conf", "spark.sql.shuffle.partitions=2", "--master", "local[2]")
        return self.done("process", "run", str(self.file(text, name)), *conf, *words, **given)

    def answer(self, *words: str) -> Any:
        """Give what a command answers, one object a line."""
        code, out, said = self.done(*words, "--output", "json")
        assert code == 0, said
        return [json.loads(line) for line in out.splitlines()]

    def versions(self) -> list[dict[str, Any]]:
        (found,) = self.answer("dataset", "versions", f"{self.base}/lake/positions")
        items: list[dict[str, Any]] = found["items"]
        return items


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    try:
        find_spark()
    except MissingDependency as missing:
        pytest.skip(str(missing))
    return Desk(tmp_path)


@pytest.fixture
def served(desk: Desk) -> Iterator[Desk]:
    with Service(desk.store) as service:
        desk.url = f"http://127.0.0.1:{service.port}"
        yield desk


def test_a_run_shows_up_whole_with_its_steps_its_version_and_its_lineage(served: Desk) -> None:
    code, out, said = served.run(process(", partition_by: [day]", quality=check("check: unique, column: id")))
    assert code == 0, said
    assert out.splitlines()[0].startswith("p: published  run ")
    assert [line.split(" ", 1)[1] for line in said.splitlines() if " wrote " in line] == [
        next(line.split(" ", 1)[1] for line in said.splitlines() if " wrote positions: 3 rows" in line)
    ]
    (version,) = served.versions()
    assert (version["rows"], version["published"], version["partitions"]) == (
        3,
        True,
        ["day=2026-01-30", "day=2026-01-31"],
    )
    (run,) = served.answer("runs", "processes", "p", "--steps")
    steps = [(one["step"], one["status"]) for one in run["steps"]]
    assert (run["status"], steps) == ("SUCCESS", [("write lake.positions", "SUCCESS")])
    known = [one["job"] for one in served.answer("runs")]
    assert known == ["p"], "the application in which it runs is not another job"
    (walked,) = served.answer("lineage", f"{served.base}/lake/positions")
    edges = walked["edges"]
    assert [(one["source"]["name"], one["job"]["name"], one["evidence"]) for one in edges] == [
        (f"{served.base}/lake/raw", "p", "explicit")
    ]
    assert not list((served.base / "work" / "spool").iterdir()), "what the listener told has been sent"


def test_every_way_to_fail_has_its_words_and_its_code(served: Desk) -> None:
    fine = process()
    served.run(fine)
    (before,) = served.versions()
    ways = {
        "a mistyped key": (fine.replace("outputs:", "outptus:"), (), 2, "unknown key outptus; did you mean outputs?"),
        "a missing parameter": ("params: {d: {type: date, required: true}}\n" + fine, (), 2, "--param d: is required, e.g. d=2026-01-31"),
        "a missing input": (fine.replace("pin: live", "pin: published"), (), 9, "check its name and whether its job ran"),
        "a column that is not there": (fine.replace("SELECT *", "SELECT amout"), (), 9, "steps.made: line 1, column 8"),
        "a check that does not hold": (fine + check("check: row_count, min: 9"), ("--rerun",), 7, "row_count on positions: 3 rows; expected at least 9"),
        "a job that breaks": (fine.replace("SELECT *", "SELECT raise_error('no rates') AS id"), (), 8, "no rates"),
    }  # fmt: skip
    for way, (text, words, code, said) in ways.items():
        ended = served.run(text, *words)
        assert (ended[0], said in ended[2].splitlines()[-1]) == (code, True), (way, ended)
        assert ended[1] == ""
    failed = [one["error_message"] for one in served.answer("runs", "--failed")]
    assert len(failed) == 2, "what fails before it begins is no run"
    assert [one["tag"] for one in served.versions()] == [before["tag"]]


def test_a_bridge_that_is_down_is_told_before_anything_is_written(desk: Desk) -> None:
    desk.url = "http://127.0.0.1:9"
    code, _, said = desk.run(process())
    assert (code, "http://127.0.0.1:9 does not respond" in said) == (3, True)
    assert not (desk.base / "lake" / "positions").exists()


def test_a_bridge_that_goes_down_in_the_middle_publishes_nothing_and_the_next_run_everything(desk: Desk) -> None:
    with Service(desk.store) as service:
        desk.url = f"http://127.0.0.1:{service.port}"
        conf = ("--master", "local[2]", "--conf", "spark.sql.shuffle.partitions=2")
        running = desk.start("process", "run", str(desk.file(process())), *conf)
        _read_until(running, "read raw")
        service.kill()
        _, said = running.communicate(timeout=200)
    assert (running.returncode, "does not respond" in said.splitlines()[-1]) == (3, True), said
    spooled = list((desk.base / "work" / "spool").glob("*.ndjson"))
    assert len(spooled) == 1
    assert f"unsent listener events remain in {spooled[0]}" in said
    with Service(desk.store) as service:
        desk.url = f"http://127.0.0.1:{service.port}"
        code, _, said = desk.run(process())
        assert (code, "sent unsent events of 1 earlier runs" in said) == (0, True), said
        assert [one["published"] for one in desk.versions()] == [True]


@pytest.mark.parametrize("moment", ["read raw", "wrote positions", "check passed"])
def test_a_driver_that_is_killed_leaves_what_was_published_and_runs_clean_again(desk: Desk, moment: str) -> None:
    text = process(", mode: append", quality=check("check: unique, column: id"))
    assert desk.run(text)[0] == 0
    (desk.base / "lake" / "raw" / "a.csv").write_text("id,account,amount,day\n7,g,1,2026-02-01\n", encoding="utf-8")
    running = desk.start("process", "run", str(desk.file(text)), "--master", "local[2]")
    _read_until(running, moment)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate(timeout=60)
    before = [one["published"] for one in desk.versions()]
    code, _, said = desk.run(text)
    assert code == 0, said
    after = desk.versions()
    assert (before.count(True), [one["published"] for one in after].count(True), len(after)) == (1, 1, 2)
    rows = json.loads((Path(after[0]["path"]) / "_lineage_bridge.json").read_bytes())["rows"]
    assert rows == 4, "appended once"


def test_a_full_disk_is_told_with_the_place(served: Desk) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (_LIMIT, _LIMIT))

    code, _, said = served.run(process(sql=MANY), before=limited)
    assert code == 8, said
    last = said.splitlines()[-1]
    assert last.startswith(f"error: outputs.positions ({served.base}/lake/positions/_version=")
    assert "File too large" in last
    assert served.done("dataset", "resolve", f"{served.base}/lake/positions")[0] == 1


def test_interrupted_is_aborted(served: Desk) -> None:
    slow = process(sql="SELECT id, java_method('java.lang.Thread', 'sleep', 60000L) AS slept FROM raw")
    running = served.start("process", "run", str(served.file(slow)), "--master", "local[2]")
    _read_until(running, "read raw")
    running.send_signal(signal.SIGTERM)
    _, said = running.communicate(timeout=100)
    assert running.returncode == 130, said
    assert [one["status"] for one in served.answer("runs")] == ["CANCELLED"]


def test_spark_submit_runs_it_as_well(served: Desk) -> None:
    file = str(served.file(process()))
    code, out, said = served.done(
        "process", "submit", file, "--master", "local[2]", "--lake", f"{served.base}/lake", "--start"
    )
    assert code == 0, said
    assert any(line.startswith("p: published") for line in out.splitlines())
    (run,) = served.answer("runs", "processes", "p", "--steps")
    assert [one["step"] for one in run["steps"]] == ["write lake.positions"]


def _read_until(running: "subprocess.Popen[str]", words: str) -> None:
    assert running.stderr is not None
    for line in running.stderr:
        if words in line:
            return
    raise AssertionError(f"{words!r} was never said")
