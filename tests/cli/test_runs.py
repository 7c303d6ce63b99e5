"""Output of `runs` and `lineage --columns`."""

import json

import pytest

from bridge.cli.output import echo
from tests import factories as make
from tests.commands import RunCli
from tests.factories import action, app, at, dataset, field, run_event, run_uuid, transformation

HEAD = "STARTED (UTC)        STATUS      DURATION  EXIT  ROWS WRITTEN  RUN                                   JOB\n"
DERIVED = (
    "* derived: FAILED* reported COMPLETE, but its last action failed; UNKNOWN* reported no end before its application"
    " ended\n"
)
MENTIONED = "* derived: the application reported no event, so its status and its times are those of its actions\n"
TRUNCATED = "… results truncated: raise --limit\n"
WRITTEN = dataset("t", output_facets={"outputStatistics": make.facet(rowCount=12)})
FAILED = [
    app("START", 0), action("START", 1, run=3, job_type="RDD_JOB"), action("COMPLETE", 2, run=4, outputs=[WRITTEN]),
    action("FAIL", 3, "\n boom\tin \x1b[31mred\nat line 7"), app("COMPLETE", 4.25, exitCode=make.facet(value=3)),
]  # fmt: skip
LATER = [run_event("START", 10, run=9, job="load"), run_event("RUNNING", 12, run=9, job="load")]

RUNNING = (
    f"2026-01-01 00:00:10  running                                   {run_uuid(9)}  jobs load"
    "   (last activity 2026-01-01 00:00:12)\n"
)
APP_FAILED = (
    f"2026-01-01 00:00:00  FAILED*         4.2s     3            12  {run_uuid(1)}  jobs app1\n"
    "    boom\\tin \\x1b[31mred\n"
)
STEPS = (
    f"2026-01-01 00:00:03  FAILED          0.0s                      {run_uuid(2)}    2\n"
    "    boom\\tin \\x1b[31mred\n"
    f"2026-01-01 00:00:02  SUCCESS         0.0s                  12  {run_uuid(4)}    write t\n"
    f"2026-01-01 00:00:01  UNKNOWN*        3.2s                      {run_uuid(3)}    3\n"
)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ("runs", HEAD + RUNNING + APP_FAILED + DERIVED),
        ("runs --limit 1", HEAD + RUNNING + TRUNCATED),
        ("runs --failed", HEAD + APP_FAILED + DERIVED),
        ("runs jobs load", HEAD + RUNNING),
        ("runs jobs app1 --steps", HEAD + APP_FAILED + STEPS + DERIVED),
        ("runs jobs app1 --steps --limit 2", HEAD + APP_FAILED + STEPS[: STEPS.rindex("2026")] + TRUNCATED + DERIVED),
        ("runs jobs load --failed", ""),
        ("runs --job load", HEAD + RUNNING),
        ("runs --since 2026-01-01T00:00:10Z", HEAD + RUNNING),
        ("runs --since 2026-01-01T01:00:10+01:00", HEAD + RUNNING),
        ("runs --until 2026-01-01T00:00:10", HEAD + APP_FAILED + DERIVED),
        ("runs jobs app1 --since 2026-01-01T00:00:01", ""),
        ("runs jobs load --until 2026-01-02 --since 2026-01-01", HEAD + RUNNING),
    ],
)
def test_text_output(run_cli: RunCli, args: str, expected: str) -> None:
    result = run_cli(args, *FAILED, *LATER)
    assert (result.exit_code, result.stdout) == (0, expected)


def test_application_that_was_only_mentioned_is_derived_from_actions(run_cli: RunCli) -> None:
    events = action("START", 1), action("COMPLETE", 2, outputs=[WRITTEN]), action("START", 3, run=3)
    row = (
        f"2026-01-01 00:00:01  running*                              12  {run_uuid(1)}  jobs app1"
        "   (last activity 2026-01-01 00:00:03)\n"
    )
    assert run_cli("runs", *events).stdout == HEAD + row + MENTIONED
    (run,) = map(json.loads, run_cli("runs --job app1 --output json", *events).stdout.splitlines())
    assert (run["status"], run["status_derived"], run["reported"]) == ("STARTED", True, False)
    shown = run_cli(f"show {run_uuid(1)}", *events).stdout
    assert "status: STARTED (derived from its actions: the run itself reported no event)" in shown
    assert f"2026-01-01 00:00:01  SUCCESS    {run_uuid(2)}  write t" in shown


def test_json_lines_contain_full_error(run_cli: RunCli) -> None:
    result = run_cli("runs jobs app1 --steps --limit 1 --output json", *FAILED)
    (run,) = map(json.loads, result.stdout.splitlines())
    (step,) = run.pop("steps")
    assert run == {
        "run_id": run_uuid(1), "namespace": "jobs", "job": "app1", "step": None, "more_steps": True,
        "status": "FAILED", "status_derived": True, "start_ts": at(0), "end_ts": at(4.25), "duration_seconds": 4.25,
        "last_activity_ts": at(4.25), "rows_written": 12, "error_message": "\n boom\tin \x1b[31mred\nat line 7",
        "exit_code": 3, "reported": True,
    }  # fmt: skip
    assert (step["job"], step["step"], step["status"], step["steps"]) == ("app1.2", "2", "FAILED", [])


@pytest.mark.parametrize(
    ("end", "duration"), [(0.04, "0.0s"), (59.96, "59.9s"), (60, "1m00s"), (3_725, "1h02m"), (93_600, "1d02h")]
)
def test_durations_have_two_units(run_cli: RunCli, end: float, duration: str) -> None:
    ended = app("COMPLETE", 0)
    ended["eventTime"] = f"2026-01-0{1 + int(end) // 86_400}T{int(end) // 3600 % 24:02}:{int(end) // 60 % 60:02}:{end % 60:09.6f}Z"  # fmt: skip
    assert f"SUCCESS     {duration:>8}  " in run_cli("runs", app("START", 0), ended).stdout


def test_empty_store(run_cli: RunCli) -> None:
    result = run_cli("runs")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "no runs\n")
    assert run_cli("runs --output json").output == ""


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ("runs jobs nothing", 1, "error: no job 'nothing' in namespace 'jobs' in the store"),
        (["runs", "jobs", "a\nb"], 1, r"error: no job 'a\nb' in namespace 'jobs' in the store"),
        ("runs jobs", 2, "or --job NAME for a job in any namespace"),
        ("runs --steps", 2, "--steps requires NAMESPACE and NAME of a job"),
        ("runs --limit 0", 2, "--limit"),
        ("runs --job nothing", 1, "error: no job 'nothing' in the store"),
        ("runs jobs load --job load", 2, "specify NAMESPACE and NAME of a job, or --job, but not both"),
        ("runs --until today", 2, "--until today: not a timestamp (example: 2026-11-01T00:00:00Z)"),
        ("lineage db nothing --columns", 1, "error: no dataset 'nothing' in namespace 'db' in the store"),
    ],
)
def test_errors(run_cli: RunCli, args: str | list[str], code: int, message: str) -> None:
    result = run_cli(args, *LATER)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr


def test_control_characters_in_names_are_escaped(run_cli: RunCli) -> None:
    name = "a\nb\x1b[2J"
    lineage = make.columns({name: [field(name, name, transformation(name, ""))]})
    event = run_event(job=name, outputs=[dataset(name + "!", columnLineage=lineage)], inputs=[dataset(name)])
    assert run_cli("runs", event).stdout.splitlines()[1].endswith(r"  jobs a\nb\x1b[2J")
    result = run_cli(["lineage", "db", name + "!", "--columns"], event)
    assert result.stdout.splitlines()[-2:] == [
        r"columns of db a\nb\x1b[2J!", r"  a\nb\x1b[2J  <- db a\nb\x1b[2J.a\nb\x1b[2J  A\nB\x1b[2J",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("environment", "start", "end"),
    [({}, "\x1b[31m", "\x1b[0m"), ({"NO_COLOR": "1"}, "", ""), ({"TERM": "dumb"}, "", "")],
    ids=["colors", "NO_COLOR", "dumb"],
)
def test_failed_runs_are_red_on_a_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str], start: str, end: str,
) -> None:  # fmt: skip
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in {"TERM": "xterm", **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    echo("FAILED \x1b", color="red")
    assert capfd.readouterr().out == f"{start}FAILED \\x1b{end}\n"


# -- lineage --columns


TWO_JOBS = [
    run_event(job="first", inputs=[dataset("a")], outputs=[dataset("b", columnLineage=make.columns(
        {"y": [field("a", "y", transformation(subtype="TRANSFORMATION", masking=True)), field("a", "x", transformation())]},
        [field("a", "k", transformation("INDIRECT", "JOIN"))],
    ))]),
    run_event(second=1, run=2, job="second", inputs=[dataset("b")], outputs=[dataset("c", columnLineage=make.columns(
        {"z": [field("b", "y")], "other": [field("elsewhere", "x", transformation())]}
    ))]),
]  # fmt: skip
COLUMNS_OF_B = [
    "", "columns of db b",
    "  (whole dataset)  <- db a.k  INDIRECT/JOIN",
    "  y  <- db a.x  DIRECT/IDENTITY",
    "  y  <- db a.y  DIRECT/TRANSFORMATION [masked]",
]  # fmt: skip


@pytest.mark.parametrize(
    ("args", "sections"),
    [
        ("db b", COLUMNS_OF_B),
        ("db a --direction downstream", [*COLUMNS_OF_B, "", "columns of db c", "  z  <- db b.y  DIRECT"]),
        ("db a --direction downstream --depth 1", COLUMNS_OF_B),
        (
            "db c --depth 1",
            ["", "columns of db c", "  other  <- db elsewhere.x  DIRECT/IDENTITY", "  z  <- db b.y  DIRECT"],
        ),
        ("db a", ["no column lineage between these datasets"]),
    ],
)
def test_column_lineage_follows_tree(run_cli: RunCli, args: str, sections: list[str]) -> None:
    tree = run_cli(f"lineage {args}", *TWO_JOBS).stdout
    result = run_cli(f"lineage {args} --columns", *TWO_JOBS)
    assert result.exit_code == 0
    assert result.stdout.removeprefix(tree).splitlines() == sections


def test_column_lineage_of_replaced_run_is_hidden(run_cli: RunCli) -> None:
    older, newer = (
        run_event(second=n, run=n, inputs=[dataset("a")], outputs=[dataset("b", columnLineage=make.columns({name: [field("a", name)]}))])
        for n, name in ((1, "old"), (2, "new"))
    )  # fmt: skip
    assert run_cli("lineage db b --columns", older, newer).stdout.splitlines()[-1] == "  new  <- db a.new  DIRECT"
