"""Parts of the agent: names, datasets, success, time that somebody sets back."""

from argparse import Namespace
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
