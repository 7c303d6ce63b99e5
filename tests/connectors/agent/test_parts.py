"""Parts of the agent: names, datasets, success, time that somebody sets back."""

import os
import signal
import threading
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest

from connectors.agent import lineage_bridge_agent as agent

JOBS = [
    ("BOX/JOB", {}, ("AUTOSYS", "BOX/JOB")),
    ("RUNMGR=RunMgmt/X", {}, ("RUNMGR", "RunMgmt/X")),
    (None, {"AUTO_JOB_NAME": "J"}, ("AUTOSYS", "J")),
    (None, {"AUTO_JOB_NAME": "J", "AUTOSERV": "PRD"}, ("AUTOSYS:PRD", "J")),
    ("X", {"AUTO_JOB_NAME": "J"}, ("AUTOSYS", "X")),
]
DATASETS = [
    ("/data/a", {"namespace": "FILE", "name": "/data/a", "facets": {"path": "/data/a"}}),
    ("s3://b/k", {"namespace": "S3", "name": "s3://b/k"}),
    ("DB2=S.T", {"namespace": "DB2", "name": "S.T"}),
    ("db2://h:50000=D.S.T", {"namespace": "db2://h:50000", "name": "D.S.T"}),
    ("/data/day=1/a", {"namespace": "FILE", "name": "/data/day=1/a", "facets": {"path": "/data/day=1/a"}}),
]


@pytest.mark.parametrize(("given", "environment", "named"), JOBS)
def test_a_job_is_named_as_it_is_told(given: str | None, environment: dict[str, str], named: tuple[str, str]) -> None:
    assert agent.job_name(given, environment, ["x"]) == named


@pytest.mark.parametrize(("text", "found"), DATASETS)
def test_a_dataset_is_a_path_an_address_or_both_names(text: str, found: dict[str, object]) -> None:
    assert agent.dataset(text) == found


def options(**more: object) -> Namespace:
    given = {
        "job": "J",
        "command": ["x"],
        "run_id": None,
        "attempt": None,
        "log": None,
        "input": None,
        "output": None,
    }
    return Namespace(**{**given, "manifest": None, **more})


def test_a_clock_that_is_set_back_makes_no_run_end_before_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent.time, "time", lambda: 1_000_000.0)
    ticks = iter([10.0, 15.5])
    monkeypatch.setattr(agent.time, "monotonic", lambda: next(ticks))
    one = agent.Run(options(), {}, agent.Spool(str(tmp_path)))
    monkeypatch.setattr(agent.time, "time", lambda: 5.0)
    run = one.ended("COMPLETE", 0, None)["run"]
    assert (run["startTime"], run["endTime"]) == (
        "1970-01-12T13:46:40.000000+00:00",
        "1970-01-12T13:46:45.500000+00:00",
    )
    assert run["facets"]["durationSeconds"] == 5.5


def test_a_run_without_a_number_has_an_id_of_its_own(tmp_path: Path) -> None:
    spool = agent.Spool(str(tmp_path))
    assert agent.Run(options(), {}, spool).run_id != agent.Run(options(), {}, spool).run_id
    assert agent.Run(options(run_id="12/3"), {"AUTORUN": "9"}, spool).run_id == "12/3"
    assert agent.Run(options(attempt=4), {"AUTORUN": "9"}, spool).run_id == "9/4"


DAY = 86400
#: How many days ago each was counted on, how many may be, which are left.
SWEPT = [
    ([1, 8, 3], 10, [1, 3]),
    ([1, 4, 3, 2], 2, [1, 2]),
    ([8, 9], 10, []),
    ([], 10, []),
]


def counters(spool: agent.Spool, days: list[int]) -> Path:
    folder = Path(spool.folder) / "attempts"
    spool.attempt("J", "7")
    for one in folder.iterdir():
        one.unlink()
    for day in days:
        (folder / str(day)).write_text(".")
        os.utime(folder / str(day), (time.time() - day * DAY,) * 2)
    return folder


@pytest.mark.parametrize(("days", "most", "left"), SWEPT)
def test_counters_of_tries_have_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: list[int], most: int, left: list[int]
) -> None:
    monkeypatch.setattr(agent, "MOST_ATTEMPTS", most)
    spool = agent.Spool(str(tmp_path))
    folder = counters(spool, days)
    spool.sweep()
    assert sorted(int(one.name) for one in folder.glob("[0-9]*")) == left
    (folder / "9").write_text(".")
    os.utime(folder / "9", (0, 0))
    spool.sweep()  # so soon again nobody looks
    assert (folder / "9").exists()


def meanwhile(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Let something happen once, just before a counter is locked."""
    locked, left = agent._locked, [happens]

    def first(descriptor: int, *, shared: bool) -> bool:
        if left:
            left.pop()()
        return bool(locked(descriptor, shared))

    monkeypatch.setattr(agent, "_locked", first)


def test_a_counter_that_is_removed_while_it_is_counted_on_loses_no_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = agent.Spool(str(tmp_path))
    assert [spool.attempt("J", "7") for _ in range(2)] == [1, 2]
    (counter,) = (Path(spool.folder) / "attempts").iterdir()
    meanwhile(monkeypatch, counter.unlink)
    assert [spool.attempt("J", "7") for _ in range(2)] == [1, 2]


def test_a_counter_that_is_counted_on_while_it_is_to_be_removed_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = agent.Spool(str(tmp_path))
    counter = counters(spool, [9]) / "9"
    meanwhile(monkeypatch, lambda: counter.write_text(".."))
    spool.sweep()
    assert counter.read_text() == ".."


@pytest.mark.parametrize(("to_group", "to_us", "heard", "left"), [(1, 1, True, 0), (2, 2, True, 0), (0, 2, False, 1)])
def test_the_witness_tells_what_the_group_got_though_it_keeps_two_as_one(
    to_group: int, to_us: int, heard: bool, left: int
) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    witness = agent.Witness()
    try:
        for _ in range(to_group):
            os.kill(witness._child, signal.SIGUSR1)
        for number in range(to_us):
            signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
            if not number:
                signal.sigwait([signal.SIGUSR1])
        assert witness.heard(signal.SIGUSR1) == heard
        assert len(signal.sigpending() & {signal.SIGUSR1}) == left
    finally:
        witness.leave()
        if signal.SIGUSR1 in signal.sigpending():
            signal.sigwait([signal.SIGUSR1])
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
