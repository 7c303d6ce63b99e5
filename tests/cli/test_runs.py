"""What `runs` and `lineage --columns` print."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import factories as make
from tests.commands import Ask, url_of
from tests.factories import action, app, at, dataset, field, run_event, run_uuid, transformation

HEAD = "STARTED (UTC)        STATUS      DURATION  ROWS WRITTEN  JOB\n"
DERIVED = (
    "* derived: FAILED* reported COMPLETE, but its last action failed; UNKNOWN* reported no end before its application"
    " ended\n"
)
MORE = "… results truncated: raise --limit\n"
WRITTEN = dataset("t", output_facets={"outputStatistics": make.facet(rowCount=12)})
FAILED = [
    app("START", 0), action("START", 1, run=3, job_type="RDD_JOB"), action("COMPLETE", 2, run=4, outputs=[WRITTEN]),
    action("FAIL", 3, "\n boom\tin \x1b[31mred\nat line 7"), app("COMPLETE", 4.25),
]  # fmt: skip
LATER = [run_event("START", 10, run=9, job="load"), run_event("RUNNING", 12, run=9, job="load")]

RUNNING = "2026-01-01 00:00:10  running                             jobs load   (last activity 2026-01-01 00:00:12)\n"
APP_FAILED = (
    "2026-01-01 00:00:00  FAILED*         4.2s            12  jobs app1\n"
    "    boom\\tin \\x1b[31mred\n"
)  # fmt: skip
STEPS = (
    "2026-01-01 00:00:03  FAILED          0.0s                  2\n"
    "    boom\\tin \\x1b[31mred\n"
    "2026-01-01 00:00:02  SUCCESS         0.0s            12    write t\n"
    "2026-01-01 00:00:01  UNKNOWN*        3.2s                  3\n"
)


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ("runs", HEAD + RUNNING + APP_FAILED + DERIVED),
        ("runs --limit 1", HEAD + RUNNING + MORE),
        ("runs --failed", HEAD + APP_FAILED + DERIVED),
        ("runs jobs load", HEAD + RUNNING),
        ("runs jobs app1 --steps", HEAD + APP_FAILED + STEPS + DERIVED),
        ("runs jobs app1 --steps --limit 2", HEAD + APP_FAILED + STEPS[: STEPS.rindex("2026")] + MORE + DERIVED),
        ("runs jobs load --failed", ""),
    ],
)
def test_runs_are_a_table(ask: Ask, words: str, printed: str) -> None:
    done = ask(words, *FAILED, *LATER)
    assert (done.exit_code, done.stdout) == (0, printed)


def test_runs_are_json_lines_with_the_whole_error(ask: Ask) -> None:
    shown = ask("runs jobs app1 --steps --limit 1 --output json", *FAILED)
    (run,) = map(json.loads, shown.stdout.splitlines())
    (step,) = run.pop("steps")
    assert run == {
        "run_id": run_uuid(1), "namespace": "jobs", "job": "app1", "step": None, "more_steps": True,
        "status": "FAILED", "status_derived": True, "start_ts": at(0), "end_ts": at(4.25), "duration_seconds": 4.25,
        "last_activity_ts": at(4.25), "rows_written": 12, "error_message": "\n boom\tin \x1b[31mred\nat line 7",
    }  # fmt: skip
    assert (step["job"], step["step"], step["status"], step["steps"]) == ("app1.2", "2", "FAILED", [])


@pytest.mark.parametrize(
    ("end", "lasted"), [(0.04, "0.0s"), (59.96, "59.9s"), (60, "1m00s"), (3_725, "1h02m"), (93_600, "1d02h")]
)
def test_a_duration_is_told_in_two_units(ask: Ask, end: float, lasted: str) -> None:
    ended = app("COMPLETE", 0)
    ended["eventTime"] = f"2026-01-0{1 + int(end) // 86_400}T{int(end) // 3600 % 24:02}:{int(end) // 60 % 60:02}:{end % 60:09.6f}Z"  # fmt: skip
    assert f"SUCCESS     {lasted:>8}  " in ask("runs", app("START", 0), ended).stdout


def test_an_empty_store_has_no_runs(ask: Ask) -> None:
    shown = ask("runs")
    assert (shown.exit_code, shown.stdout, shown.stderr) == (0, "", "no runs\n")
    assert ask("runs --output json").output == ""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("runs jobs nothing", 1, "error: no job 'nothing' in namespace 'jobs' in the store"),
        (["runs", "jobs", "a\nb"], 1, r"error: no job 'a\nb' in namespace 'jobs' in the store"),
        ("runs jobs", 2, "specify both NAMESPACE and NAME of a job, or neither"),
        ("runs --steps", 2, "--steps requires NAMESPACE and NAME of a job"),
        ("runs --limit 0", 2, "--limit"),
        ("lineage db nothing --columns", 1, "error: no dataset 'nothing' in namespace 'db' in the store"),
    ],
)
def test_a_mistake_is_told(ask: Ask, words: str | list[str], code: int, said: str) -> None:
    shown = ask(words, *LATER)
    assert (shown.exit_code, shown.stdout) == (code, "")
    assert said in shown.stderr


def test_names_with_control_characters_are_spelled_out(ask: Ask) -> None:
    name = "a\nb\x1b[2J"
    made = make.columns({name: [field(name, name, transformation(name, ""))]})
    event = run_event(job=name, outputs=[dataset(name + "!", columnLineage=made)], inputs=[dataset(name)])
    assert ask("runs", event).stdout.splitlines()[1].endswith(r"  jobs a\nb\x1b[2J")
    shown = ask(["lineage", "db", name + "!", "--columns"], event)
    assert shown.stdout.splitlines()[-2:] == [
        r"columns of db a\nb\x1b[2J!", r"  a\nb\x1b[2J  <- db a\nb\x1b[2J.a\nb\x1b[2J  A\nB\x1b[2J",
    ]  # fmt: skip


@pytest.mark.system
def test_an_error_is_cut_to_the_width_of_a_terminal(tmp_path: Path) -> None:
    given = {**os.environ, "COLUMNS": "60", "LINEAGE_BRIDGE__STORE__URL": url_of(tmp_path, app("FAIL", 0, "x" * 500))}
    ours, theirs = os.openpty()
    with os.fdopen(ours, encoding="utf-8") as screen:
        subprocess.run([sys.executable, "-m", "bridge", "runs"], stdout=theirs, env=given, check=True, timeout=60)
        lines = [screen.readline() for _ in range(3)]
        os.close(theirs)
    assert lines[2] == "    " + "x" * 55 + "…\n"


# -- lineage --columns


MADE_BY_TWO = [
    run_event(job="first", inputs=[dataset("a")], outputs=[dataset("b", columnLineage=make.columns(
        {"y": [field("a", "y", transformation(subtype="TRANSFORMATION", masking=True)), field("a", "x", transformation())]},
        [field("a", "k", transformation("INDIRECT", "JOIN"))],
    ))]),
    run_event(second=1, run=2, job="second", inputs=[dataset("b")], outputs=[dataset("c", columnLineage=make.columns(
        {"z": [field("b", "y")], "other": [field("elsewhere", "x", transformation())]}
    ))]),
]  # fmt: skip
OF_B = [
    "", "columns of db b",
    "  (whole dataset)  <- db a.k  INDIRECT/JOIN",
    "  y  <- db a.x  DIRECT/IDENTITY",
    "  y  <- db a.y  DIRECT/TRANSFORMATION [masked]",
]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "sections"),
    [
        ("db b", OF_B),
        ("db a --direction downstream", [*OF_B, "", "columns of db c", "  z  <- db b.y  DIRECT"]),
        ("db a --direction downstream --depth 1", OF_B),
        (
            "db c --depth 1",
            ["", "columns of db c", "  other  <- db elsewhere.x  DIRECT/IDENTITY", "  z  <- db b.y  DIRECT"],
        ),
        ("db a", ["no column lineage between these datasets"]),
    ],
)
def test_columns_are_told_beneath_the_tree(ask: Ask, words: str, sections: list[str]) -> None:
    tree = ask(f"lineage {words}", *MADE_BY_TWO).stdout
    shown = ask(f"lineage {words} --columns", *MADE_BY_TWO)
    assert shown.exit_code == 0
    assert shown.stdout.removeprefix(tree).splitlines() == sections


def test_columns_that_a_newer_run_no_longer_makes_are_not_shown(ask: Ask) -> None:
    older, newer = (
        run_event(second=n, run=n, inputs=[dataset("a")], outputs=[dataset("b", columnLineage=make.columns({name: [field("a", name)]}))])
        for n, name in ((1, "old"), (2, "new"))
    )  # fmt: skip
    assert ask("lineage db b --columns", older, newer).stdout.splitlines()[-1] == "  new  <- db a.new  DIRECT"
