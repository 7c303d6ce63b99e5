"""Autorep reports and scheduler logs, and the run events built from them."""

import json
from argparse import Namespace
from datetime import UTC
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.agent import lineage_bridge_agent as agent
from mappers.canonical_json import JsonObject
from mappers.legacy.autorep.context import ReportContext
from mappers.legacy.autorep.dates import guess_date_order, parse_report_time
from mappers.legacy.autorep.report import AutorepReport, parse_report
from mappers.legacy.autorep.run_history import build_run_history
from mappers.legacy.autorep.scheduler_log import LogText, first_timestamp, parse_scheduler_logs
from mappers.legacy.formats import LegacyFormat, translate_body
from mappers.legacy.jil.conditions import StatusCondition, StatusPredicate
from mappers.legacy.names import LegacyNamespaces

HEAD = """
Job Name                                                         Last Start           Last End             ST Run/Ntry Pri/Xit
________________________________________________________________ ____________________ ____________________ __ ________ _______
"""
A = "01/31/2026 06:00:00"
B = "01/31/2026 06:30:00"


def row(name: str, start: str = A, end: str = B, rest: str = "SU 12/1 0") -> str:
    return f"{name:<20} {start:<20} {end:<20} {rest}\n"


def report(*rows: str) -> AutorepReport:
    return parse_report(HEAD + "".join(rows), "a.txt")


def read_log(text: str, file: str) -> AutorepReport:
    return parse_scheduler_logs([LogText(file, text)])


def run_bodies(parsed: AutorepReport, **settings: object) -> list[JsonObject]:
    return build_run_history(parsed, ReportContext("PRD", "mdy", UTC)._replace(**settings)).bodies


ROWS = {
    "plain": (row("JOB"), ("JOB", A, B, "SU", 12, 1, 0)),
    "a name that shifts the columns": (row("J" * 70), ("J" * 70, A, B, "SU", 12, 1, 0)),
    "still running": (row("JOB", end="-----", rest="RU 12/1"), ("JOB", A, None, "RU", 12, 1, None)),
    "never run": (row("JOB", "-----", "-----", "IN 0/0"), ("JOB", None, None, "IN", 0, 0, None)),
    "the exit code next to the status": (row("JOB", rest="FA/12 12/2"), ("JOB", A, B, "FA", 12, 2, 12)),
    "an exit code below zero": (row("JOB", rest="TE 12/1 -656"), ("JOB", A, B, "TE", 12, 1, -656)),
    "no seconds": (row("JOB", "01/31/2026 06:00", "01/31/2026 06:30"), ("JOB", "01/31/2026 06:00", "01/31/2026 06:30", "SU", 12, 1, 0)),
    "a name with blanks and colons": (row("my job: 1"), ("my job: 1", A, B, "SU", 12, 1, 0)),
    "ISO dates": (row("JOB", "2026-01-31 06:00:00", "2026-01-31 06:30:00"), ("JOB", "2026-01-31 06:00:00", "2026-01-31 06:30:00", "SU", 12, 1, 0)),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), ROWS.values(), ids=ROWS)
def test_rows_are_parsed_from_the_right(text: str, expected: tuple[object, ...]) -> None:
    (parsed,) = report(text).rows
    assert (
        parsed.name,
        parsed.start,
        parsed.end,
        parsed.status,
        parsed.run,
        parsed.attempt,
        parsed.exit_code,
    ) == expected


def test_members_are_indented_below_their_boxes() -> None:
    rows = report(row("OUTER"), row(" INNER"), row("  JOB"), row(" OTHER"), row("ALONE")).rows
    assert [(parsed.name, parsed.boxes) for parsed in rows] == [
        ("OUTER", ()), ("INNER", ("OUTER",)), ("JOB", ("OUTER", "INNER")), ("OTHER", ("OUTER",)), ("ALONE", ()),
    ]  # fmt: skip


def test_other_lines_are_reported_with_their_number() -> None:
    parsed = report(row("JOB"), "CAUAJM_E_10062 Failed to get data\n")
    assert [str(problem) for problem in parsed.problems] == [
        "a.txt:5: warning: ignored line that is not a report row: CAUAJM_E_10062 Failed to get data"
    ]


@given(st.lists(st.text(alphabet="ab 01/:-_SUx\n", max_size=60)))
def test_every_line_of_a_report_is_a_row_or_reported(lines: list[str]) -> None:
    text = "\n".join(lines)
    parsed = parse_report(text, "x")
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare and not set(bare) <= set("-_ ") and not any(parsed_row.line == number for parsed_row in parsed.rows):
            assert any(problem.line == number for problem in parsed.problems) or parsed.rows


STATES = [
    ("SU 12/1 0", "SUCCESS"), ("FA 12/1 3", "FAILURE"), ("TE 12/1 -1", "TERMINATED"), ("RU 12/1", "RUNNING"),
    ("ST 12/1", "STARTING"), ("AC 12/1", "OTHER"), ("AC 12/1 0", "OTHER"), ("QU 12/1 0", "OTHER"),
    ("OI 12/1 0", "SUCCESS"), ("OH 12/1 0", "SUCCESS"), ("IN 12/1 0", "SUCCESS"), ("NO 12/1 0", "SUCCESS"),
    ("OI 12/1 4", "OTHER"), ("OI 12/1 -656", "OTHER"), ("OI 12/1", "OTHER"), ("OH 12/1", "OTHER"), ("IN 12/1", "OTHER"),
]  # fmt: skip


@pytest.mark.parametrize(("rest", "state"), STATES)
def test_statuses_become_event_types(rest: str, state: str) -> None:
    (body,) = run_bodies(report(row("JOB", rest=rest)))
    assert (body["eventType"], body["run"]["runId"]) == (state, "12/1")


IDLE = [
    ("OI 12/1 4", {"max_exit_success": "4"}, "SUCCESS"), ("OI 12/1 4", {}, "FAILURE"),
    ("IN 12/1 0", {"fail_codes": "0"}, "FAILURE"), ("OH 12/1 7", {"success_codes": "0,5-9"}, "SUCCESS"),
    ("OH 12/1 4", {"success_codes": "0,5-9"}, "FAILURE"), ("OI 12/1 -656", {}, "OTHER"), ("QU 12/1 100", {}, "OTHER"),
]  # fmt: skip


@pytest.mark.parametrize(("rest", "rule", "state"), IDLE)
def test_definition_determines_the_outcome_of_an_idle_job(rest: str, rule: dict[str, str], state: str) -> None:
    (body,) = run_bodies(report(row("JOB", rest=rest)), success_rules={"JOB": rule})
    assert body["eventType"] == state


def test_outcome_of_a_job_on_ice_is_inferred() -> None:
    (body,) = run_bodies(report(row("JOB", rest="OI 12/1 0")))
    assert body["run"] == {
        "runId": "12/1",
        "startTime": "2026-01-31T06:00:00+00:00",
        "endTime": "2026-01-31T06:30:00+00:00",
        "facets": {
            "exitCode": 0,
            "jobState": {"status": "ON_ICE", "lastEnd": "2026-01-31T06:30:00+00:00"},
            "outcome": {"by": "its exit code", "inferred": True},
        },
    }


def test_unknown_outcome_is_imported_with_a_warning() -> None:
    history = build_run_history(report(row("JOB", rest="OH 12/1")), ReportContext("PRD", "mdy", UTC))
    (body,) = history.bodies
    assert body["run"]["facets"] == {"jobState": {"status": "ON_HOLD", "lastEnd": "2026-01-31T06:30:00+00:00"}}
    assert [str(problem) for problem in history.problems] == [
        "a.txt:4: warning: JOB: is ON_HOLD, but the outcome of its last run is not reported: imported as started"
    ]


def test_job_that_never_ran_has_no_events() -> None:
    assert run_bodies(report(row("JOB", "-----", "-----", "IN 0/0"))) == []


def test_run_of_a_box_is_the_parent_of_its_runs() -> None:
    box, job = run_bodies(report(row("BOX"), row(" JOB", rest="SU 12/3 0")))
    assert job["job"] == {"namespace": "AUTOSYS:PRD", "name": "BOX/JOB"}
    assert job["run"]["runId"] == "12/3"
    assert job["run"]["facets"]["parent"] == {"run": {"runId": box["run"]["runId"]}, "job": box["job"]}


def test_box_run_with_another_number_is_not_the_parent() -> None:
    _, job = run_bodies(report(row("BOX"), row(" JOB", rest="SU 13/1 0")))
    assert "parent" not in job["run"]["facets"]


def test_boxes_missing_in_the_report_come_from_definitions() -> None:
    (job,) = run_bodies(report(row("JOB")), boxes={"JOB": ("OUTER", "BOX")})
    assert job["job"]["name"] == "OUTER/BOX/JOB"


DETAIL = (
    row("JOB", rest="SU 12/2 0")
    + """
  Status/[Event]  Time                 Ntry ES  ProcessTime           Machine
  --------------  --------------------- --  --  --------------------- ----------------------------------------
  STARTING        01/31/2026 06:00:00    1  PD  01/31/2026 06:00:02   host1
  RUNNING         01/31/2026 06:00:03    1  PD  01/31/2026 06:00:04   host1
  FAILURE         01/31/2026 06:01:00    1  PD  01/31/2026 06:10:01   host1
  [*** ALARM ***]
  [STARTJOB]      01/31/2026 06:02:00    0  PD  01/31/2026 06:10:01
  STARTING        01/31/2026 06:02:01    2  PD  01/31/2026 06:02:02   host2
  SUCCESS         01/31/2026 06:30:00    2  PD  01/31/2026 06:30:01
"""
)


def test_every_attempt_is_a_run_with_its_end_and_machine() -> None:
    first, second = run_bodies(report(DETAIL))
    assert [(body["eventType"], body["run"]["runId"], body["run"]["facets"]) for body in (first, second)] == [
        ("FAILURE", "12/1", {"alarms": {"alarms": [{"alarm": "ALARM"}]}, "machine": {"name": "host1"}}),
        ("SUCCESS", "12/2", {"exitCode": 0, "machine": {"name": "host2"}}),
    ]
    assert (first["run"]["startTime"], first["run"]["endTime"]) == (
        "2026-01-31T06:00:00+00:00",
        "2026-01-31T06:01:00+00:00",
    )


_FAILED = (
    row("JOB", rest="FA 12/1 1")
    + """\
  STARTING        01/31/2026 06:00:00    1  PD  01/31/2026 06:00:02   host1
  FAILURE         01/31/2026 06:01:00    1  PD  01/31/2026 06:10:01   host1
"""
)
_ALARM_TIME = "01/31/2026 06:01:01"
ALARMS = {
    "on the line after its announcement": (f"  [*** ALARM ***]\n    JOBFAILURE    {_ALARM_TIME}    1  PD  {_ALARM_TIME}\n", {"alarm": "JOBFAILURE", "time": "2026-01-31T06:01:01+00:00"}),
    "on the line of its announcement": (f"  [*** ALARM ***]  JOBFAILURE    {_ALARM_TIME}    0  PD  {_ALARM_TIME}\n", {"alarm": "JOBFAILURE", "time": "2026-01-31T06:01:01+00:00"}),
    "with only a time": (f"  [*** ALARM ***]  {_ALARM_TIME}    0  PD  {_ALARM_TIME}\n", {"alarm": "ALARM", "time": "2026-01-31T06:01:01+00:00"}),
    "with only a name": ("  [*** ALARM ***] MAXRUNALARM\n", {"alarm": "MAXRUNALARM"}),
    "without details, at the end": ("  [*** ALARM ***]\n", {"alarm": "ALARM"}),
    "without details, before another row": ("  [*** ALARM ***]\n" + row("NEXT"), {"alarm": "ALARM"}),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "alarm"), ALARMS.values(), ids=ALARMS)
def test_alarm_belongs_to_its_attempt(lines: str, alarm: JsonObject) -> None:
    parsed = report(_FAILED + lines)
    body = run_bodies(parsed)[0]
    assert (body["run"]["facets"]["alarms"], parsed.problems) == ({"alarms": [alarm]}, [])


def test_alarm_without_a_run_is_a_warning() -> None:
    parsed = report(row("JOB", "-----", "-----", "IN 0/0"), "  [*** ALARM ***] MUST_START_ALARM\n")
    history = build_run_history(parsed, ReportContext("PRD", "mdy", UTC))
    assert (history.bodies, [problem.message for problem in history.problems]) == (
        [],
        ["JOB: MUST_START_ALARM: alarm without an imported run"],
    )


def test_events_outside_of_runs_are_counted() -> None:
    assert report(DETAIL + "  <a comment>\n").other_lines == {"STARTJOB": 1, "a remark": 1}


def test_manual_status_changes_are_marked() -> None:
    text = row("JOB") + "  SUCCESS         01/31/2026 06:30:00    0  PD  01/31/2026 06:30:01\n"
    (body,) = run_bodies(report(text))
    manual = {"by": "a change of status by hand", "status": "SUCCESS", "time": "2026-01-31T06:30:00+00:00"}
    assert (body["run"]["runId"], body["run"]["facets"]["manual"]) == ("12/1", manual)


ATTEMPTS = {
    "a later restart is not a second end": (
        [("STARTING", "06:00:00", 1), ("FAILURE", "06:10:00", 1), ("RESTART", "06:15:00", 1), ("STARTING", "06:16:00", 2), ("SUCCESS", "06:30:00", 2)],
        [("FAILURE", "06:00:00", "06:10:00", None, None), ("SUCCESS", "06:16:00", "06:30:00", 0, None)],
    ),
    "a restart alone is an end": ([("STARTING", "06:00:00", 1), ("RESTART", "06:15:00", 1)], [("FAILURE", "06:00:00", "06:15:00", None, None)]),
    "a manual change is not a run": (
        [("STARTING", "06:00:00", 2), ("FAILURE", "06:10:00", 2), ("SUCCESS", "06:30:00", 0)],
        [("FAILURE", "06:00:00", "06:10:00", None, "SUCCESS")],
    ),
    "a manual change ends a run without an end": ([("STARTING", "06:00:00", 2), ("SUCCESS", "06:30:00", 0)], [("SUCCESS", "06:00:00", "06:30:00", None, "SUCCESS")]),
}  # fmt: skip


@pytest.mark.parametrize(("events", "expected"), ATTEMPTS.values(), ids=ATTEMPTS)
def test_attempt_ends_once(
    events: list[tuple[str, str, int]], expected: list[tuple[str, str, str, int | None, str | None]]
) -> None:
    lines = [f"  {status}  01/31/2026 {time}  {attempt}  PD  01/31/2026 {time}\n" for status, time, attempt in events]
    bodies = run_bodies(report(row("JOB", rest="SU 12/2 0"), *lines))
    assert [
        (
            body["eventType"], body["run"]["startTime"][11:19], body["run"]["endTime"][11:19],
            body["run"]["facets"].get("exitCode"), body["run"]["facets"].get("manual", {}).get("status"),
        )
        for body in bodies
    ] == expected  # fmt: skip


INCOMPLETE = {
    "no start": (row("JOB", "-----", rest="TE 12/1 -1"), None, "is TERMINATED, but its start is not reported: not imported"),
    "no end": (row("JOB", end="-----"), ("OTHER", None), "is SUCCESS, but its end is not reported: imported as started"),
    "an unknown status": (row("JOB", rest="ZZ 12/1 0"), ("OTHER", None), "is ZZ, but the outcome of its last run is not reported: imported as started"),
    "an end before the start": (row("JOB", B, A), None, "ends at 01/31/2026 06:00:00, before its start at 01/31/2026 06:30:00: not imported"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "body", "message"), INCOMPLETE.values(), ids=INCOMPLETE)
def test_incomplete_rows_are_reported(text: str, body: tuple[str, str | None] | None, message: str) -> None:
    history = build_run_history(report(text), ReportContext("PRD", "mdy", UTC))
    assert [(run_body["eventType"], run_body["run"].get("endTime")) for run_body in history.bodies] == (
        [body] if body else []
    )
    assert [problem.message for problem in history.problems] == [f"JOB: {message}"]


def test_end_in_a_repeated_hour_is_after_its_start() -> None:
    (body,) = run_bodies(
        report(row("JOB", "10/25/2026 01:50:00", "10/25/2026 01:10:00")), zone=ZoneInfo("Europe/London")
    )
    assert (body["run"]["startTime"], body["run"]["endTime"]) == (
        "2026-10-25T01:50:00+01:00",
        "2026-10-25T01:10:00+00:00",
    )


ORDERS = [
    (["01/31/2026 06:00:00"], ("mdy", True)), (["31/01/2026 06:00:00"], ("dmy", True)),
    (["2026-01-31 06:00:00"], ("ymd", True)), (["01/02/2026 06:00:00", "13/02/2026 06:00:00"], ("dmy", True)),
    (["01/02/2026 06:00:00"], ("mdy", False)), ([], ("mdy", False)), (["18-nov-2026 01:02:03"], ("mdy", True)),
    (["18-nov-2026", "01/02/2026 06:00:00 PM"], ("mdy", False)), (["18-NOV-2026", "13/02/2026"], ("dmy", True)),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "expected"), ORDERS)
def test_date_order_is_guessed_from_all_dates(texts: list[str], expected: tuple[str, bool]) -> None:
    assert tuple(guess_date_order(texts)) == expected


TIMES = {
    "18-nov-2026 01:02:03": "2026-11-18T01:02:03", "18-NOV-2026 01:02": "2026-11-18T01:02:00",
    "18-Nov-26 01:02:03": "2026-11-18T01:02:03", "18/nov/2026 13:02:03": "2026-11-18T13:02:03",
    "2026-NOV-18 01:02:03": "2026-11-18T01:02:03", "18-NOV-2026": "2026-11-18T00:00:00",
    "11/18/2026 01:02:03 PM": "2026-11-18T13:02:03", "11/18/2026 01:02:03 am": "2026-11-18T01:02:03",
    "11/18/2026 12:00 AM": "2026-11-18T00:00:00", "11/18/2026 12:00:00PM": "2026-11-18T12:00:00",
    "18-nov-2026 01:02:03 PM": "2026-11-18T13:02:03", "11/18/2026": "2026-11-18T00:00:00",
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TIMES.items())
def test_times_in_rows_events_and_logs(text: str, expected: str) -> None:
    assert parse_report_time(text, "mdy", UTC).isoformat() == f"{expected}+00:00"
    (parsed,) = report(row("JOB", text, text) + f"  SUCCESS  {text}  1  PD  {text}  host1\n").rows
    assert (parsed.start, parsed.end, parsed.status, parsed.run, parsed.events[0].time, parsed.events[0].machine) == (
        text, text, "SU", 12, text, "host1",
    )  # fmt: skip
    log = f"[{text}]  CAUAJM_I_40245 EVENT: CHANGE_STATUS  STATUS: STARTING  JOB: JOB\n"
    assert [log_row.start for log_row in read_log(log, "x").rows] == [text]


@pytest.mark.parametrize(
    "text", ["18-foo-2026 01:02:03", "11/18/2026 13:02:03 PM", "11/18/2026 00:02:03 AM", "31-feb-2026"]
)
def test_impossible_times_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a month|is not an hour|day is out of range"):
        parse_report_time(text, "mdy", UTC)


def test_date_without_a_time_is_imported_with_a_warning() -> None:
    history = build_run_history(
        report(row("JOB", "18-NOV-2026", "18-NOV-2026 01:00:00")), ReportContext("PRD", "mdy", UTC)
    )
    assert history.bodies[0]["run"]["startTime"] == "2026-11-18T00:00:00+00:00"
    assert [problem.message for problem in history.problems] == [
        "JOB: a date without a time of day: assumed to be the start of that day"
    ]


def test_times_have_the_zone_of_the_site() -> None:
    assert (
        parse_report_time("07/01/2026 06:00:00", "mdy", ZoneInfo("Europe/London")).isoformat()
        == "2026-07-01T06:00:00+01:00"
    )
    assert parse_report_time("01/07/26 06:00", "dmy", UTC).isoformat() == "2026-07-01T06:00:00+00:00"


def test_impossible_date_is_reported() -> None:
    history = build_run_history(report(row("JOB", "31/31/2026 06:00:00")), ReportContext("PRD", "mdy", UTC))
    assert (history.bodies, "a.txt:4: error: JOB: month must be in 1..12" in str(history.problems[0])) == ([], True)


LOG = """
[01/31/2026 06:00:00]      CAUAJM_I_40245 EVENT: STARTJOB         JOB: JOB
[01/31/2026 06:00:01]      CAUAJM_I_40245 EVENT: CHANGE_STATUS    STATUS: STARTING        JOB: JOB MACHINE: host1
[01/31/2026 06:00:02]      CAUAJM_I_40245 EVENT: CHANGE_STATUS    STATUS: RUNNING         JOB: JOB MACHINE: host1
[01/31/2026 06:10:00]      CAUAJM_I_40245 EVENT: CHANGE_STATUS    STATUS: FAILURE         JOB: JOB MACHINE: host1 EXITCODE:  3
[01/31/2026 06:20:00]      CAUAJM_I_40245 EVENT: CHANGE_STATUS    STATUS: STARTING        JOB: JOB MACHINE: host1
[01/31/2026 06:30:00]      CAUAJM_I_40245 EVENT: CHANGE_STATUS    STATUS: SUCCESS         JOB: OTHER MACHINE: host1
"""


def test_changes_in_a_log_are_grouped_into_runs() -> None:
    parsed = read_log(LOG, "event_demon.PRD")
    first, second = run_bodies(parsed)
    assert first_timestamp(LOG) == "01/31/2026 06:00:01"
    assert (first["eventType"], first["run"]["startTime"], first["run"]["endTime"], first["run"]["facets"]["exitCode"]) == (
        "FAILURE", "2026-01-31T06:00:01+00:00", "2026-01-31T06:10:00+00:00", 3,
    )  # fmt: skip
    assert (second["eventType"], "runId" in first["run"]) == ("RUNNING", False)
    assert "OTHER ends with SUCCESS, but no log contains its start" in str(parsed.problems[0])


LOG_ALARMS = {
    "as an event": "[01/31/2026 06:10:01]      CAUAJM_I_40245 EVENT: ALARM            ALARM: JOBFAILURE      JOB: JOB MACHINE: host1 EXITCODE:  3",
    "marked": "[01/31/2026 06:10:01]      [*** ALARM ***]  JOBFAILURE  JOB: JOB",
}


@pytest.mark.parametrize("line", LOG_ALARMS.values(), ids=LOG_ALARMS)
def test_alarm_in_a_log_belongs_to_the_newest_run(line: str) -> None:
    before, separator, after = LOG.partition("[01/31/2026 06:20:00]")
    first, second = run_bodies(read_log(f"{before}{line}\n{separator}{after}", "x"))
    alarm = {"alarm": "JOBFAILURE", "time": "2026-01-31T06:10:01+00:00"}
    assert first["run"]["facets"]["alarms"] == {"alarms": [alarm]}
    assert "alarms" not in second["run"]["facets"]


def test_other_log_lines_are_counted_by_kind() -> None:
    other_lines = """
[01/31/2026 06:30:01]      CAUAJM_I_10082 [host1 connected for JOB 1.2.3]
[01/31/2026 06:30:02]      CAUAJM_I_40245 EVENT: CHANGE_STATUS    STATUS: ON_ICE          JOB: JOB
[01/31/2026 06:30:03]      CAUAJM_I_40245 EVENT: ALARM            ALARM: EP_ROLLOVER
[01/31/2026 06:30:04]      [*** ALARM ***]
----------------------------------------
"""
    assert read_log(LOG + other_lines, "x").other_lines == {
        "STARTJOB": 1, "CAUAJM_I_10082": 1, "CHANGE_STATUS ON_ICE": 1, "ALARM": 1, "another line": 2,
    }  # fmt: skip


@given(st.lists(st.sampled_from([*LOG.splitlines(), *LOG_ALARMS.values(), "x", "", "[*** ALARM ***]"]), max_size=12))
def test_every_log_line_is_accounted_for(lines: list[str]) -> None:
    parsed = read_log("\n".join(lines), "x")
    used = sum(len(parsed_row.events) + len(parsed_row.alarms) for parsed_row in parsed.rows)
    assert used + len(parsed.problems) + parsed.other_lines.total() == sum(bool(line) for line in lines)


LINKS = [
    ("success", None, "SU 12/1 0", True), ("success", 30, "SU 12/1 0", True), ("success", 9, "SU 12/1 0", False),
    ("success", None, "FA 12/1 1", False), ("done", None, "FA 12/1 1", True), ("failure", None, "FA 12/1 1", True),
]  # fmt: skip


@pytest.mark.parametrize(("predicate", "lookback", "rest", "linked"), LINKS)
def test_upstream_run_is_inferred(predicate: StatusPredicate, lookback: int | None, rest: str, linked: bool) -> None:
    later = row("JOB", "01/31/2026 06:40:00", "01/31/2026 06:50:00", "SU 13/1 0")
    awaited = {"JOB": [StatusCondition("FIRST", None, predicate, lookback)]}
    _, job = run_bodies(report(row("FIRST", rest=rest), later), awaited_statuses=awaited)
    links = job["run"]["facets"].get("lineageBridge_runLinks", {}).get("upstream", [])
    first = {"job": {"namespace": "autosys://PRD", "name": "FIRST"}, "run": {"runId": "12/1"}, "inferred": True}
    assert links == ([first] if linked else [])


def test_run_that_ended_later_is_not_upstream() -> None:
    awaited = {"JOB": [StatusCondition("FIRST", None, "success")]}
    _, job = run_bodies(
        report(row("FIRST"), row("JOB", "01/31/2026 06:20:00", "01/31/2026 06:50:00")), awaited_statuses=awaited
    )
    assert "lineageBridge_runLinks" not in job["run"]["facets"]


def test_report_and_agent_have_the_same_run_id(tmp_path: Path) -> None:
    options = Namespace(
        job=None, command=["x"], run_id=None, attempt=None, log=None, input=None, output=None, manifest=None
    )
    environment = {"AUTO_JOB_NAME": "JOB", "AUTOSERV": "PRD", "AUTORUN": "12"}
    agent_body = agent.CommandRun(options, environment, agent.Spool(str(tmp_path))).event("START")
    (reported,) = run_bodies(report(row("JOB")))
    runs = []
    for body in (agent_body, reported):
        events, _ = translate_body(
            LegacyFormat.RUN_EVENT, json.dumps(body).encode(), LegacyNamespaces(), "2026-01-31T07:00:00Z"
        )
        event = json.loads(events[-1])
        runs.append((event["job"]["namespace"], event["job"]["name"], event["run"]["runId"]))
    assert runs == [("autosys://PRD", "JOB", "12/1")] * 2
