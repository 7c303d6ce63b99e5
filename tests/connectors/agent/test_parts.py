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
    ("/lake/day=2026-01-01", {"namespace": "FILE", "name": "/lake/day=2026-01-01", "facets": {"path": "/lake/day=2026-01-01"}}),
    ("day=1/a", {"namespace": "FILE", "name": "/here/day=1/a", "facets": {"path": "/here/day=1/a"}}),
    ("2026=a", {"namespace": "FILE", "name": "/here/2026=a", "facets": {"path": "/here/2026=a"}}),
    ("s3://b/day=1", {"namespace": "S3", "name": "s3://b/day=1"}),
    ("file=/lake/p.csv", {"namespace": "file", "name": "/lake/p.csv", "facets": {"path": "/lake/p.csv"}}),
    ("NFS=p.csv", {"namespace": "NFS", "name": "/here/p.csv", "facets": {"path": "/here/p.csv"}}),
    ("hive=db.t", {"namespace": "hive", "name": "db.t"}),
    ("s3://AK:SK@b/y", {"namespace": "S3", "name": "s3://b/y"}),
    ("s3://AK:S/K@b/y?sig=1", {"namespace": "S3", "name": "s3://b/y"}),
    ("hdfs://nn:8020/a@b", {"namespace": "HDFS", "name": "hdfs://nn:8020/a@b"}),
    ("abfss://c@a.net/x", {"namespace": "ABFSS", "name": "abfss://c@a.net/x"}),
]  # fmt: skip
#: What an option names, what a manifest says, which datasets there are then.
MERGED = [
    ([], {"namespace": "file", "name": "/m/1"}, [("file", "/m/1")]),
    ([], {"namespace": "hive", "name": "day=1"}, [("hive", "day=1")]),
    ([], {"namespace": "s3://AK:SK@b", "name": "y"}, [("s3://b", "y")]),
    (["/m/1"], {"namespace": "file", "name": "/m/1"}, [("FILE", "/m/1")]),
    (["DB2=S.T"], {"name": "S.T"}, [("DB2", "S.T"), ("FILE", "/here/S.T")]),
    (["DB2=S.T"], {"namespace": "db2", "name": "S.T"}, [("DB2", "S.T")]),
    (["DB2=S.T"], {"namespace": "TERADATA", "name": "S.T"}, [("DB2", "S.T"), ("TERADATA", "S.T")]),
    (["out.csv"], {"path": "out.csv"}, [("FILE", "/here/out.csv")]),
]
REGISTERED = [
    ("s3://AK:SK@b/y", {}, ("S3", "s3://b/y", None)),
    ("/lake/p.csv", {}, ("FILE", "/lake/p.csv", "/lake/p.csv")),
    ("DB2=S.T", {}, ("DB2", "S.T", None)),
    ("day=1", {"namespace": "hive"}, ("hive", "day=1", None)),
    ("DB2=S.T", {"path": "s3://AK:SK@b/y"}, ("DB2", "S.T", "s3://b/y")),
]


@pytest.mark.parametrize(("given", "environment", "named"), JOBS)
def test_a_job_is_named_as_it_is_told(given: str | None, environment: dict[str, str], named: tuple[str, str]) -> None:
    assert agent.job_name(given, environment, ["x"]) == named


@pytest.mark.parametrize(("text", "found"), DATASETS)
def test_a_dataset_is_a_path_an_address_or_both_names(text: str, found: dict[str, object]) -> None:
    assert agent.dataset(text, "/here") == found


@pytest.mark.parametrize(("named", "told", "found"), MERGED)
def test_a_namespace_that_a_manifest_tells_is_taken_as_it_is(
    named: list[str], told: dict[str, object], found: list[tuple[str, str]]
) -> None:
    merged = agent.merge_datasets([agent.dataset(one, "/here") for one in named], [told], "/here")
    assert [(one["namespace"], one["name"]) for one in merged] == found
    assert "SK" not in str(merged)


@pytest.mark.parametrize(("name", "more", "found"), REGISTERED)
def test_what_is_registered_is_named_as_an_option_names_it(
    name: str, more: dict[str, str], found: tuple[str, str, str | None]
) -> None:
    body = agent.registered_dataset({"name": name, "version": "v1", **more})
    assert (body["namespace"], body["name"], body.get("path")) == found
    assert body["version"] == "v1"
    assert "SK" not in str(body)


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
