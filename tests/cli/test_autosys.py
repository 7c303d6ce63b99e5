"""`lineage-bridge autosys`: scans, lint, diff and history import."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bridge.cli.main import app
from bridge.errors import StateConflict
from connectors.errors import ConfigError
from tests.commands import create_store

ESTATE = """\
insert_job: BOX1   job_type: b
date_conditions: 1
days_of_week: all
start_times: "06:00"
must_complete_times: "08:00"
insert_job: LOAD   job_type: c
box_name: BOX1
command: cp /in/a.csv /lake/a.csv
insert_job: REPORT   job_type: c
box_name: BOX1
condition: s(LOAD)
command: spark-submit job.py --input /lake/a.csv --output /lake/b
"""
REPORT = """
Job Name             Last Start           Last End             ST Run/Ntry Pri/Xit
____________________ ____________________ ____________________ __ ________ _______
BOX1                 01/31/2026 06:00:00  01/31/2026 06:30:00  SU 12/1     0
 LOAD                01/31/2026 06:00:00  01/31/2026 06:10:00  SU 12/1     0
 REPORT              01/31/2026 06:10:00  01/31/2026 06:30:00  FA 12/2     8
"""


class Workspace:
    """A folder of files, a store, and a CLI runner."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = {"LINEAGE_BRIDGE__STORE__URL": create_store(folder)}

    def file(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def run(self, *args: str, **env: str) -> Result:
        return CliRunner(env=self._environment | env).invoke(app, list(args), catch_exceptions=False)

    def run_json(self, *args: str, code: int = 0) -> dict[str, object]:
        result = self.run(*args, "--output", "json")
        assert result.exit_code == code, result.output
        output: dict[str, object] = json.loads(result.stdout)
        return output


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def edges(workspace: Workspace) -> set[tuple[str, str]]:
    dag = workspace.run_json("process", "dag")
    names = {process["id"]: process["name"] for process in dag["processes"]}  # type: ignore[attr-defined]
    return {(names[process["before"]], names[process["after"]]) for process in dag["dependencies"]}  # type: ignore[attr-defined]


def test_scan_imports_new_and_changed_jobs_only(workspace: Workspace) -> None:
    file = workspace.file("a.jil", ESTATE)
    first = workspace.run_json("autosys", "scan", file, "--instance", "PRD")
    assert first["scan"] == {
        "new": ["BOX1", "LOAD", "REPORT"],
        "changed": [],
        "retired": [],
        "unchanged": 0,
        "refused": [],
    }
    assert edges(workspace) == {("LOAD", "REPORT")}
    second = workspace.run_json("autosys", "scan", file, "--instance", "PRD")
    assert second["scan"] == {"new": [], "changed": [], "retired": [], "unchanged": 3, "refused": []}
    workspace.file("a.jil", ESTATE.replace("job_type: c", "job_type: CMD").replace("ns: 1", "ns: y"))
    other_spelling = workspace.run_json("autosys", "scan", file, "--instance", "PRD")
    assert other_spelling["scan"] == second["scan"], "as autorep prints it"
    workspace.file(
        "a.jil",
        ESTATE.replace("condition: s(LOAD)\n", "")
        .replace(" --input /lake/a.csv", "")
        .partition("insert_job: LOAD")[0],
    )
    with pytest.raises(StateConflict, match="these files lack 2 jobs of PRD, more than half"):
        workspace.run("autosys", "scan", file, "--instance", "PRD")
    retiring = workspace.run_json("autosys", "scan", file, "--instance", "PRD", "--retire-most")
    assert retiring["scan"] == {
        "new": [],
        "changed": [],
        "retired": ["LOAD", "REPORT"],
        "unchanged": 1,
        "refused": [],
    }
    assert edges(workspace) == set()
    processes = workspace.run_json("process", "list")["items"]
    assert [process["name"] for process in processes] == ["BOX1"]  # type: ignore[attr-defined]


FOLDERS: dict[str, tuple[list[str], list[str], int]] = {
    "any case": (["a.JIL", "b.jil"], [], 0),
    "other extensions": (["a.jil", "b.txt", "c/d.md"], [": warning: skipped 2 files (hidden, or without the ending .jil): b.txt, c/d.md"], 0),
    "hidden files": (["a.jil", ".hidden.jil", ".git/x", ".git/y.jil"], [": warning: skipped 2 files (hidden, or without the ending .jil): .git/y.jil, .hidden.jil"], 0),
    "no JIL file": ([], [": error: contains no file with the suffix .jil"], 1),
}  # fmt: skip


@pytest.mark.parametrize(("names", "expected", "code"), FOLDERS.values(), ids=FOLDERS)
def test_lint_reports_skipped_files_of_folder(
    workspace: Workspace, names: list[str], expected: list[str], code: int
) -> None:
    folder = workspace.folder / "estate"
    folder.mkdir()
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"insert_job: J{number}\ncommand: x\nmachine: m\n", encoding="utf-8")
    problems = workspace.run_json("autosys", "lint", str(folder), code=code)["problems"]
    messages = [f": {problem['level']}: {problem['said']}" for problem in problems]  # type: ignore[attr-defined]
    assert messages == expected


NOTHING = {"CAUAJM_E_18400 no connection\n": 1, "": 1, "/* later */\n": 0}


@pytest.mark.parametrize(("text", "code"), NOTHING.items())
def test_scan_reports_files_without_statements(workspace: Workspace, text: str, code: int) -> None:
    file = workspace.file("err.txt", text)
    result = workspace.run("autosys", "scan", file, "--instance", "PRD")
    assert (result.exit_code, "contains no JIL statement" in result.stdout) == (code, True)
    workspace.run("autosys", "scan", workspace.file("a.jil", ESTATE), "--instance", "PRD")
    refused = CliRunner(env=workspace._environment).invoke(app, ["autosys", "scan", file, "--instance", "PRD"])
    assert isinstance(refused.exception, StateConflict)
    assert ("CAUAJM_E_18400" in refused.stderr, "contains no JIL statement" in refused.stderr) == (
        "CAUAJM" in text,
        True,
    )


def test_dry_run_of_scan_changes_nothing(workspace: Workspace) -> None:
    file = workspace.file("a.jil", ESTATE)
    assert workspace.run_json("autosys", "scan", file, "--dry-run")["scan"]["new"] == ["BOX1", "LOAD", "REPORT"]  # type: ignore[index]
    assert workspace.run_json("process", "list")["items"] == []


def test_scan_keeps_rejected_jobs_unchanged_and_retries_them(workspace: Workspace) -> None:
    file = workspace.file("a.jil", ESTATE + "owner: ann\ndescription: d\n")
    limit = {"LINEAGE_BRIDGE__INTAKE__MAX_FACETS": "5"}
    for _ in range(2):
        result = workspace.run("autosys", "scan", file, "--instance", "PRD", **limit)
        assert (result.exit_code, result.stdout.splitlines()[-2:]) == (
            1,
            [
                "rejected: REPORT: 7 facets on one entity; the limit is 5",
                "1 rejected: unchanged in the store, and reported again by the next scan",
            ],
        )
        assert edges(workspace) == set()
        assert [process["name"] for process in workspace.run_json("process", "list")["items"]] == ["BOX1", "LOAD"]  # type: ignore[attr-defined]
    retried = workspace.run_json("autosys", "scan", file, "--instance", "PRD")
    assert retried["scan"] == {"new": ["REPORT"], "changed": [], "retired": [], "unchanged": 2, "refused": []}
    assert edges(workspace) == {("LOAD", "REPORT")}
    workspace.file("a.jil", ESTATE.partition("insert_job: REPORT")[0])
    rejected_scan = workspace.run(
        "autosys", "scan", file, "--instance", "PRD", LINEAGE_BRIDGE__INTAKE__MAX_FACETS="2"
    )
    assert (
        rejected_scan.exit_code,
        "rejected: REPORT: " in rejected_scan.stdout,
        "1 retired" in rejected_scan.stdout,
    ) == (1, True, False)
    assert workspace.run_json("autosys", "scan", file, "--instance", "PRD")["scan"]["retired"] == ["REPORT"]  # type: ignore[index]


def test_scan_prints_jobs_as_tree(workspace: Workspace) -> None:
    result = workspace.run("autosys", "scan", workspace.file("a.jil", ESTATE), "--dry-run")
    assert result.stdout.splitlines() == [
        "BOX1  BOX; days_of_week all start_times 06:00 must_complete_times 08:00; SLA must_complete_times 08:00",
        "  LOAD  CMD",
        "  REPORT  CMD; after LOAD SUCCESS",
        "3 jobs of autosys://default: 1 BOX, 2 CMD",
        "3 new: BOX1, LOAD, REPORT",
        "0 unchanged",
    ]


def test_history_import_is_idempotent(workspace: Workspace) -> None:
    workspace.run("autosys", "scan", workspace.file("a.jil", ESTATE), "--instance", "PRD")
    report = workspace.file("autorep.txt", REPORT)
    for _ in range(2):
        result = workspace.run("autosys", "history", report, "--instance", "PRD", "--timezone", "Europe/London")
        assert (result.exit_code, result.stdout) == (0, "3 runs imported, 0 rejected, 0 problems\n")
    runs = [json.loads(line) for line in workspace.run("runs", "--output", "json").stdout.splitlines()]
    assert {(run["job"], run["status"]) for run in runs} == {
        ("REPORT", "FAILED"),
        ("LOAD", "SUCCESS"),
        ("BOX1", "SUCCESS"),
    }
    assert {run["start_ts"][:16] for run in runs} == {"2026-01-31T06:00", "2026-01-31T06:10"}


BOXES = """\
insert_job: A   job_type: c
insert_job: B   job_type: c
condition: s(A) | f(A) | e(A) = 5
insert_job: BOX   job_type: b
condition: s(B) & d(X^DR)
insert_job: M   job_type: c
box_name: BOX
insert_job: N   job_type: c
box_name: BOX
condition: s(M)
insert_job: LAST   job_type: c
condition: s(BOX)
"""
LEVELS = [
    "level 1", "  autosys://DR X", "  autosys://PRD A   version 1",
    "level 2", "  autosys://PRD B   version 1", "    waits for autosys://PRD A: SUCCESS, FAILURE, EXITCODE = 5",
    "level 3", "  autosys://PRD BOX   version 1", "    waits for autosys://DR X: DONE", "    waits for autosys://PRD B: SUCCESS",
    "  autosys://PRD M   version 1   in BOX",
    "level 4", "  autosys://PRD N   version 1   in BOX", "    waits for autosys://PRD M: SUCCESS",
    "level 5", "  autosys://PRD LAST   version 1", "    waits for autosys://PRD BOX: SUCCESS",
]  # fmt: skip


def test_dag_applies_conditions_of_boxes_to_their_members(workspace: Workspace) -> None:
    workspace.run("autosys", "scan", workspace.file("a.jil", BOXES), "--instance", "PRD")
    lines = workspace.run("process", "dag", "--namespace", "autosys://PRD").stdout.splitlines()
    levels = [re.sub(r"declared \((.*?)(; condition .*)?\)$", r"\1", line) for line in lines]
    assert levels == ["7 processes, 5 dependencies", *LEVELS]


def test_dag_accepts_member_waiting_for_its_own_box(workspace: Workspace) -> None:
    text = "insert_job: BOX   job_type: b\ninsert_job: M   job_type: c\nbox_name: BOX\ncondition: s(BOX)\n"
    workspace.run("autosys", "scan", workspace.file("a.jil", text), "--instance", "PRD")
    assert "level 1" in workspace.run("process", "dag").stdout


LOG = """\
[01/31/2026 06:00:00]  CAUAJM_I_40245 EVENT: STARTJOB         JOB: LOAD
[01/31/2026 06:00:01]  CAUAJM_I_40245 EVENT: CHANGE_STATUS    STATUS: STARTING        JOB: LOAD MACHINE: h
[01/31/2026 06:10:00]  CAUAJM_I_40245 EVENT: CHANGE_STATUS    STATUS: FAILURE         JOB: LOAD MACHINE: h EXITCODE:  3
[01/31/2026 06:10:01]  CAUAJM_I_40245 EVENT: ALARM            ALARM: JOBFAILURE       JOB: LOAD EXITCODE:  3
[01/31/2026 06:10:02]  the scheduler rests
"""


def test_history_counts_log_lines_without_run(workspace: Workspace) -> None:
    file = workspace.file("event_demon.PRD", LOG)
    expected = [
        "skipped 2 lines without a run: 1 STARTJOB, 1 another line",
        "1 run imported, 0 rejected, 0 problems",
    ]
    assert workspace.run("autosys", "history", file).stdout.splitlines() == expected
    assert workspace.run_json("autosys", "history", file) == {
        "runs": 1,
        "rejected": 0,
        "problems": [],
        "others": {"STARTJOB": 1, "another line": 1},
    }


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_history_joins_rotated_logs_in_any_order(workspace: Workspace, names: tuple[str, str]) -> None:
    lines = LOG.splitlines(keepends=True)
    parts = {"a": workspace.file("a.log", "".join(lines[:2])), "b": workspace.file("b.log", "".join(lines[2:]))}
    assert workspace.run_json("autosys", "history", *(parts[name] for name in names))["problems"] == []
    (run,) = (json.loads(line) for line in workspace.run("runs", "--output", "json").stdout.splitlines())
    assert (run["job"], run["status"]) == ("LOAD", "FAILED")


def test_history_derives_status_of_job_on_ice_from_jil(workspace: Workspace) -> None:
    report = workspace.file("autorep.txt", REPORT.replace("FA 12/2     8", "OI 12/2     8"))
    warning = f"{report}:6: warning: REPORT: is ON_ICE, but the outcome of its last run is not reported: imported as started"
    assert workspace.run("autosys", "history", report).stdout.splitlines()[0] == warning
    jil = workspace.file("a.jil", ESTATE + "max_exit_success: 8\n")
    assert (
        workspace.run("autosys", "history", report, "--jil", jil).stdout
        == "3 runs imported, 0 rejected, 0 problems\n"
    )
    runs = [json.loads(line) for line in workspace.run("runs", "--output", "json").stdout.splitlines()]
    assert {(run["job"], run["status"]) for run in runs if run["job"] == "REPORT"} == {("REPORT", "SUCCESS")}


def test_history_rejects_unknown_time_zone(workspace: Workspace) -> None:
    result = workspace.run("autosys", "history", workspace.file("a.txt", REPORT), "--timezone", "London")
    assert (result.exit_code, "unknown time zone" in result.stderr) == (2, True)


def test_history_reports_missing_file(workspace: Workspace) -> None:
    with pytest.raises(ConfigError, match=r"none.txt: cannot be read: No such file"):
        workspace.run("autosys", "history", str(workspace.folder / "none.txt"))


def test_lint_exits_with_1_on_errors(workspace: Workspace) -> None:
    result = workspace.run("autosys", "lint", workspace.file("a.jil", ESTATE + "condition: s(GONE)\n"))
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == "3 jobs, 2 errors, 3 warnings"
    assert workspace.run("autosys", "lint", workspace.file("b.jil", ESTATE)).exit_code == 0


def test_diff_exits_with_5_on_differences(workspace: Workspace) -> None:
    before, after = workspace.file("a.jil", ESTATE), workspace.file("b.jil", ESTATE.replace("06:00", "07:00"))
    result = workspace.run("autosys", "diff", before, after)
    assert (result.exit_code, result.stdout) == (5, "BOX1.start_times: 06:00 -> 07:00\n1 difference\n")
    assert workspace.run("autosys", "diff", before, before).exit_code == 0
