"""Output of `show`, `explain` and `events`."""

import json

import pytest

from tests.commands import RunCli
from tests.factories import (
    Json,
    action,
    app,
    columns,
    dataset,
    facet,
    field,
    job_event,
    run_event,
    run_uuid,
    transformation,
)
from tests.queries.sample_store import SAMPLE_EVENTS

DATASET = f"""\
dataset db lake.clean
  id: 881ae488-f42d-8ad1-a9d9-485a525b22de
  description: Cleaned.
  owners: data
  status: ACTIVE
  known since: 2026-01-01 00:00:05 UTC
  last event: 2026-01-01 00:00:12 UTC
  also known as:
    db clean
  governed by the asset clean:
    category: people
    retentionDays: 90
    tags: pii
  facets: dataQualityAssertions, documentation, lineageBridge_governance, ownership
  columns:
    mail  string
    id    string   who it is
  newest versions (UTC):
    {run_uuid(1)}  2026-01-01 00:00:05 by jobs clean, 3 rows, 30 bytes, 1 file (latest)
"""
JOB = f"""\
job jobs app2
  id: fca71871-fd7e-84fc-a76a-7ac2318710a5
  kind: SPARK APPLICATION BATCH
  known since: 2026-01-01 00:00:10 UTC
  last event: 2026-01-01 00:00:14 UTC
  last read:
    db lake.clean
  last wrote:
    db report
  facets: jobType
  newest runs (UTC; more: `runs`):
    2026-01-01 00:00:10  FAILED     {run_uuid(2)}
"""
RUN = f"""\
run {run_uuid(2)}
  of job:
    jobs app2
  status: FAILED (derived)
  began: 2026-01-01 00:00:10 UTC
  ended: 2026-01-01 00:00:14 UTC
  error: boom
  steps (UTC):
    2026-01-01 00:00:13  FAILED     {run_uuid(4)}  app1.4
    2026-01-01 00:00:12  SUCCESS    {run_uuid(3)}  write report
  producer: https://example.com/producer
"""
AUTOSYS = {
    "lineageBridge_autosys": facet(
        definedIn="estate.jil:9", command="load.sh", attributes={"machine": "host1", "condition": "s(FETCH)"},
        schedule={"active": False, "days_of_week": ["mo", "tu"], "start_times": ["02:00"], "must_complete_times": ["06:00"]},
        speaksOf=[{"side": "output", "namespace": "file", "name": "/lake/t", "evidence": "command: >", "confidence": 0.7}],
    ),
    "lineageBridge_jobDependencies": facet(
        upstream=[{"job": {"namespace": "jobs", "name": "FETCH"}, "status_trigger_rule": "SUCCESS"}]
    ),
    "lineageBridge_sla": facet(must_complete_times=["06:00", "18:00"], max_duration="45m", timezone="UTC", **{"o{}": 1}),
    "ownership": facet(owners=[{"name": "batch", "type": "OWNER"}, {"name": "ops@example.com"}]),
}  # fmt: skip
AUTOSYS_LINES = """\
  owners: batch, ops@example.com
  known since: 2026-01-01 00:00:00 UTC
  last event: 2026-01-01 00:00:00 UTC
  defined in: estate.jil:9
  command: load.sh
  machine: host1
  schedule: days_of_week mo, tu; start_times 02:00 (inactive: date_conditions is off)
  condition: s(FETCH)
  waits for:
    jobs FETCH  SUCCESS
  declared files:
    output  file /lake/t  (command: >)
  sla: completes by 06:00, 18:00; runs at most 45m; o{} 1; time zone UTC
"""
FIRST = f"event 2 (COMPLETE at 2026-01-01T00:00:05.000000Z of jobs clean, run {run_uuid(1)}, from test)"
EDGE = f"""\
db raw -> db lake.clean: shown as column
  column: the facet columnLineage of jobs clean, first 2026-01-01T00:00:05.000000Z, last 2026-01-01T00:00:05.000000Z
    {FIRST}
  inferred: the inputs and outputs of a run of jobs clean, run {run_uuid(1)}, first 2026-01-01T00:00:05.000000Z, \
last 2026-01-01T00:00:05.000000Z
    {FIRST}
"""
COLUMN = f"""\
db lake.clean
  mail  <- db raw.email  DIRECT/TRANSFORMATION [masked]
    {FIRST}
"""


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ("show db clean", DATASET),
        ("show db/lake.clean", DATASET),
        ("show jobs app2", JOB),
        ("show jobs app2 --job", JOB),
        (f"show {run_uuid(2)}", RUN),
        ("explain db clean --from db raw", EDGE),
        ("explain db clean --column mail", COLUMN),
        ("explain db clean --from db report", "db report -> db lake.clean: not part of the lineage at present\n  no event reported it\n"),
        ("events --limit 1", "10  2026-01-01T00:00:21.000000Z  JOB       job jobs mailer  from test\n"),
        ("events --after 0 --limit 1", f"1  2026-01-01T00:00:00.000000Z  START     job jobs clean run {run_uuid(1)}  from test\n"),
    ],
)  # fmt: skip
def test_text_output(run_cli: RunCli, args: str, expected: str) -> None:
    assert run_cli(args, *SAMPLE_EVENTS).stdout == expected


@pytest.mark.parametrize(
    ("args", "key", "value"),
    [
        ("show db clean", "name", "lake.clean"),
        ("show jobs app2", "process_key", "jobs/app2"),
        (f"show {run_uuid(1)}", "parent_run_id", None),
        ("explain db clean", "assertions", []),
        ("events --limit 1", "seq", 10),
    ],
)
def test_json_output(run_cli: RunCli, args: str, key: str, value: object) -> None:
    assert json.loads(run_cli(f"{args} --output json", *SAMPLE_EVENTS).stdout)[key] == value


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ("show db nothing", 1, "error: no dataset or job 'nothing' in namespace 'db' in the store"),
        ("show db clean --job", 1, "error: no job 'clean' in namespace 'db' in the store"),
        ("show nothing", 1, "error: no dataset 'nothing' in the store"),
        ("show jobs --job", 2, "a job requires NAMESPACE and NAME"),
        (f"show {run_uuid(9)}", 1, f"error: no run {run_uuid(9)} in the store"),
        ("explain db clean --from db raw --column mail", 2, "explain an edge or a column"),
        ("explain db clean --from db nothing", 1, "error: no dataset 'nothing' in namespace 'db' in the store"),
        ("show db clean --url http://127.0.0.1:1", 3, "http://127.0.0.1:1 does not respond"),
    ],
)
def test_errors(run_cli: RunCli, args: str, code: int, message: str) -> None:
    if code == 3:  # the error of a service ends the process where main turns it into its exit code
        with pytest.raises(Exception, match=message):
            run_cli(args, *SAMPLE_EVENTS)
        return
    result = run_cli(args, *SAMPLE_EVENTS)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr


def test_control_characters_in_names_are_escaped(run_cli: RunCli) -> None:
    event = run_event(job="a\n\x1b", inputs=[dataset("a\n\x1b")])
    for args in (["show", "db", "a\n\x1b"], ["show", "jobs", "a\n\x1b"], ["events"], ["explain", "db", "a\n\x1b"]):
        assert r"a\n\x1b" in run_cli(args, event).stdout


def test_kind_of_a_job_leaves_out_unknown_parts(run_cli: RunCli) -> None:
    event = job_event(0, job="load", jobType=facet(integration="SPARK", jobType="APPLICATION", processingType="NONE"))
    assert "  kind: SPARK APPLICATION\n" in run_cli("show jobs load", event).stdout


def test_autosys_job_is_shown_with_its_definition(run_cli: RunCli) -> None:
    assert AUTOSYS_LINES in run_cli("show jobs load", job_event(0, job="load", **AUTOSYS)).stdout


@pytest.mark.parametrize(
    "facets",
    [
        {"lineageBridge_autosys": facet(attributes=[1])},
        {"lineageBridge_autosys": facet(), "lineageBridge_jobDependencies": facet(upstream=[{"job": "FETCH"}])},
        {"ownership": facet(owners=["ops"])},
    ],
)
def test_malformed_facets_of_a_job_are_skipped(run_cli: RunCli, facets: Json) -> None:
    result = run_cli("show jobs load", job_event(0, job="load", **facets))
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "job jobs load")
    assert "waits for" not in result.stdout


def test_run_is_shown_with_its_complete_error(run_cli: RunCli) -> None:
    failed = app("FAIL", 1, "boom\n\tat line 7\n\nCaused by: \x1b[31mfire\n", exitCode=facet(value=0))
    assert run_cli(f"show {run_uuid(1)}", app("START", 0), failed).stdout.splitlines()[6:12] == [
        "  exit code: 0", "  error:", "    boom", "        at line 7", "", r"    Caused by: \x1b[31mfire",
    ]  # fmt: skip


def spark_actions(count: int) -> list[Json]:
    """Several actions of one application that report the same column."""
    derived = columns({"y": [field("a", "x", transformation())]})
    output = dataset("b", columnLineage=derived)
    return [
        app("START", 0),
        *(
            action("COMPLETE", run, run=run, outputs=[output]) | {"inputs": [dataset("a")]}
            for run in range(2, 2 + count)
        ),
    ]


def test_actions_of_an_application_are_one_reason(run_cli: RunCli) -> None:
    events = spark_actions(3)
    hops = run_cli("lineage db b --column y", *events).stdout
    assert hops == "db b.y  <- db a.x  DIRECT/IDENTITY   [jobs app1]\n"
    explained = run_cli("explain db b --column y", *events).stdout.splitlines()
    assert [line.split(" (")[0].strip() for line in explained] == [
        "db b", "y  <- db a.x  DIRECT/IDENTITY", "event 2", "event 3", "event 4",
    ]  # fmt: skip
    reasons = [line for line in run_cli("explain db b --from db a", *events).stdout.splitlines() if line[2] != " "]
    assert [line.split(",")[0].strip() for line in reasons] == [
        "column: the facet columnLineage of jobs app1", "inferred: the inputs and outputs of a run of jobs app1",
    ]  # fmt: skip


def test_explain_prints_at_most_limit_events_per_reason(run_cli: RunCli) -> None:
    lines = run_cli("explain db b --from db a --limit 2", *spark_actions(3)).stdout.splitlines()
    assert [line.split(" (")[0].split(":")[0].strip() for line in lines[1:]] == [
        "column", "event 4", "event 3", "inferred", "event 4", "event 3",
    ]  # fmt: skip
