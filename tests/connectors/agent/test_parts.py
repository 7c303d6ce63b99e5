"""Parts of the agent that need no process: names, datasets, run ids, attempt counters, group signals."""

import fcntl
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
    ("day=1/a", {"namespace": "FILE", "name": "/cwd/day=1/a", "facets": {"path": "/cwd/day=1/a"}}),
    ("2026=a", {"namespace": "FILE", "name": "/cwd/2026=a", "facets": {"path": "/cwd/2026=a"}}),
    ("s3://b/day=1", {"namespace": "S3", "name": "s3://b/day=1"}),
    ("file=/lake/p.csv", {"namespace": "file", "name": "/lake/p.csv", "facets": {"path": "/lake/p.csv"}}),
    ("NFS=p.csv", {"namespace": "NFS", "name": "/cwd/p.csv", "facets": {"path": "/cwd/p.csv"}}),
    ("hive=db.t", {"namespace": "hive", "name": "db.t"}),
    ("s3://AK:SK@b/y", {"namespace": "S3", "name": "s3://b/y"}),
    ("s3://AK:S/K@b/y?sig=1", {"namespace": "S3", "name": "s3://b/y"}),
    ("hdfs://nn:8020/a@b", {"namespace": "HDFS", "name": "hdfs://nn:8020/a@b"}),
    ("abfss://c@a.net/x", {"namespace": "ABFSS", "name": "abfss://c@a.net/x"}),
]  # fmt: skip
#: Option values, a manifest entry, and the merged (namespace, name) pairs.
MERGES = [
    ([], {"namespace": "file", "name": "/m/1"}, [("file", "/m/1")]),
    ([], {"namespace": "hive", "name": "day=1"}, [("hive", "day=1")]),
    ([], {"namespace": "s3://AK:SK@b", "name": "y"}, [("s3://b", "y")]),
    (["/m/1"], {"namespace": "file", "name": "/m/1"}, [("FILE", "/m/1")]),
    (["DB2=S.T"], {"name": "S.T"}, [("DB2", "S.T"), ("FILE", "/cwd/S.T")]),
    (["DB2=S.T"], {"namespace": "db2", "name": "S.T"}, [("DB2", "S.T")]),
    (["DB2=S.T"], {"namespace": "TERADATA", "name": "S.T"}, [("DB2", "S.T"), ("TERADATA", "S.T")]),
    (["out.csv"], {"path": "out.csv"}, [("FILE", "/cwd/out.csv")]),
]
#: Name, further fields, and the expected namespace, name and path.
REGISTRATIONS = [
    ("s3://AK:SK@b/y", {}, ("S3", "s3://b/y", None)),
    ("/lake/p.csv", {}, ("FILE", "/lake/p.csv", "/lake/p.csv")),
    ("DB2=S.T", {}, ("DB2", "S.T", None)),
    ("day=1", {"namespace": "hive"}, ("hive", "day=1", None)),
    ("DB2=S.T", {"path": "s3://AK:SK@b/y"}, ("DB2", "S.T", "s3://b/y")),
]


@pytest.mark.parametrize(("job_option", "environment", "expected"), JOBS)
def test_job_name_prefers_option_over_autosys_variables(
    job_option: str | None, environment: dict[str, str], expected: tuple[str, str]
) -> None:
    assert agent.job_name(job_option, environment, ["x"]) == expected


@pytest.mark.parametrize(("text", "expected"), DATASETS)
def test_dataset_is_path_url_or_namespace_and_name(text: str, expected: dict[str, object]) -> None:
    assert agent.parse_dataset(text, "/cwd") == expected


@pytest.mark.parametrize(("option_values", "entry", "expected"), MERGES)
def test_manifest_namespace_is_used_unchanged(
    option_values: list[str], entry: dict[str, object], expected: list[tuple[str, str]]
) -> None:
    datasets = [agent.parse_dataset(value, "/cwd") for value in option_values]
    merged = agent.merge_datasets(datasets, [entry], "/cwd")
    assert [(dataset["namespace"], dataset["name"]) for dataset in merged] == expected
    assert "SK" not in str(merged)


@pytest.mark.parametrize(("name", "fields", "expected"), REGISTRATIONS)
def test_registered_dataset_is_named_like_an_option(
    name: str, fields: dict[str, str], expected: tuple[str, str, str | None]
) -> None:
    body = agent.normalize_registration({"name": name, "version": "v1", **fields})
    assert (body["namespace"], body["name"], body.get("path")) == expected
    assert body["version"] == "v1"
    assert "SK" not in str(body)


def options(**overrides: object) -> Namespace:
    defaults = {
        "job": "J",
        "command": ["x"],
        "run_id": None,
        "attempt": None,
        "log": None,
        "input": None,
        "output": None,
        "manifest": None,
    }
    return Namespace(**{**defaults, **overrides})


def test_end_follows_start_when_clock_is_set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent.time, "time", lambda: 1_000_000.0)
    ticks = iter([10.0, 15.5])
    monkeypatch.setattr(agent.time, "monotonic", lambda: next(ticks))
    command_run = agent.CommandRun(options(), {}, agent.Spool(str(tmp_path)))
    monkeypatch.setattr(agent.time, "time", lambda: 5.0)
    run = command_run.end_event("COMPLETE", 0, None)["run"]
    assert (run["startTime"], run["endTime"]) == (
        "1970-01-12T13:46:40.000000+00:00",
        "1970-01-12T13:46:45.500000+00:00",
    )
    assert run["facets"]["durationSeconds"] == 5.5


def test_run_id_is_option_run_number_with_attempt_or_new(tmp_path: Path) -> None:
    spool = agent.Spool(str(tmp_path))
    assert agent.CommandRun(options(), {}, spool).run_id != agent.CommandRun(options(), {}, spool).run_id
    assert agent.CommandRun(options(run_id="12/3"), {"AUTORUN": "9"}, spool).run_id == "12/3"
    assert agent.CommandRun(options(attempt=4), {"AUTORUN": "9"}, spool).run_id == "9/4"


DAY_SECONDS = 86400
#: Age of each counter in days, maximum number of counters, ages of those that remain.
CLEANUPS = [
    ([1, 8, 3], 10, [1, 3]),
    ([1, 4, 3, 2], 2, [1, 2]),
    ([8, 9], 10, []),
    ([], 10, []),
]


def create_counters(spool: agent.Spool, ages: list[int]) -> Path:
    directory = Path(spool.directory) / "attempts"
    spool.next_attempt("J", "7")
    for counter in directory.iterdir():
        counter.unlink()
    for age in ages:
        (directory / str(age)).write_text(".")
        os.utime(directory / str(age), (time.time() - age * DAY_SECONDS,) * 2)
    return directory


@pytest.mark.parametrize(("ages", "max_files", "remaining"), CLEANUPS)
def test_cleanup_deletes_old_and_excess_attempt_counters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ages: list[int], max_files: int, remaining: list[int]
) -> None:
    monkeypatch.setattr(agent, "MAX_ATTEMPT_FILES", max_files)
    spool = agent.Spool(str(tmp_path))
    directory = create_counters(spool, ages)
    spool.remove_old_attempts()
    assert sorted(int(counter.name) for counter in directory.glob("[0-9]*")) == remaining
    (directory / "9").write_text(".")
    os.utime(directory / "9", (0, 0))
    spool.remove_old_attempts()  # skipped: too soon after the first cleanup
    assert (directory / "9").exists()


def run_before_next_lock(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> None:
    try_lock, actions = agent._try_lock, [action]

    def act_and_lock(descriptor: int, *, shared: bool) -> bool:
        if actions:
            actions.pop()()
        return bool(try_lock(descriptor, shared))

    monkeypatch.setattr(agent, "_try_lock", act_and_lock)


def test_attempt_is_counted_when_cleanup_deletes_the_counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = agent.Spool(str(tmp_path))
    assert [spool.next_attempt("J", "7") for _ in range(2)] == [1, 2]
    (counter,) = (Path(spool.directory) / "attempts").iterdir()
    run_before_next_lock(monkeypatch, counter.unlink)
    assert [spool.next_attempt("J", "7") for _ in range(2)] == [1, 2]


def test_cleanup_keeps_counter_that_is_used_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = agent.Spool(str(tmp_path))
    counter = create_counters(spool, [9]) / "9"
    run_before_next_lock(monkeypatch, lambda: counter.write_text(".."))
    spool.remove_old_attempts()
    assert counter.read_text() == ".."


@pytest.mark.parametrize(
    ("signals_to_group", "signals_to_agent", "sent_to_group", "still_pending"),
    [(1, 1, True, 0), (2, 2, True, 0), (0, 2, False, 1)],
)
def test_probe_detects_group_signal_that_was_merged(
    signals_to_group: int, signals_to_agent: int, sent_to_group: bool, still_pending: int
) -> None:
    original_mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    probe = agent.GroupSignalProbe()
    try:
        for _ in range(signals_to_group):
            os.kill(probe._child, signal.SIGUSR1)
        for index in range(signals_to_agent):
            signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
            if index == 0:
                signal.sigwait([signal.SIGUSR1])
        assert probe.was_sent_to_group(signal.SIGUSR1) == sent_to_group
        assert len(signal.sigpending() & {signal.SIGUSR1}) == still_pending
    finally:
        probe.stop()
        if signal.SIGUSR1 in signal.sigpending():
            signal.sigwait([signal.SIGUSR1])
        signal.pthread_sigmask(signal.SIG_SETMASK, original_mask)


def test_wait_readable_accepts_descriptors_above_1023() -> None:
    reader, writer = os.pipe()
    high = fcntl.fcntl(reader, fcntl.F_DUPFD_CLOEXEC, 1024)
    try:
        assert not agent.wait_readable(high, 0)
        os.write(writer, b"x")
        assert agent.wait_readable(high, 0)
    finally:
        for descriptor in (reader, writer, high):
            os.close(descriptor)
