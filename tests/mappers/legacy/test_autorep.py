"""Reports of Autosys: rows are read whatever their columns do, and told as the runs that jobs would tell."""

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


def told(found: AutorepReport, **site: object) -> list[JsonObject]:
    return build_run_history(found, ReportContext("PRD", "mdy", UTC)._replace(**site)).bodies


ROWS = {
    "plain": (row("JOB"), ("JOB", A, B, "SU", 12, 1, 0)),
    "a name that pushes the columns": (row("J" * 70), ("J" * 70, A, B, "SU", 12, 1, 0)),
    "still running": (row("JOB", end="-----", rest="RU 12/1"), ("JOB", A, None, "RU", 12, 1, None)),
    "never run": (row("JOB", "-----", "-----", "IN 0/0"), ("JOB", None, None, "IN", 0, 0, None)),
    "the exit code beside the status": (row("JOB", rest="FA/12 12/2"), ("JOB", A, B, "FA", 12, 2, 12)),
    "an exit code below zero": (row("JOB", rest="TE 12/1 -656"), ("JOB", A, B, "TE", 12, 1, -656)),
    "no seconds": (row("JOB", "01/31/2026 06:00", "01/31/2026 06:30"), ("JOB", "01/31/2026 06:00", "01/31/2026 06:30", "SU", 12, 1, 0)),
    "a name with blanks and colons": (row("my job: 1"), ("my job: 1", A, B, "SU", 12, 1, 0)),
    "dates of another place": (row("JOB", "2026-01-31 06:00:00", "2026-01-31 06:30:00"), ("JOB", "2026-01-31 06:00:00", "2026-01-31 06:30:00", "SU", 12, 1, 0)),
}  # fmt: skip


@pytest.mark.parametrize(("text", "found"), ROWS.values(), ids=ROWS)
def test_a_row_is_read_from_the_right(text: str, found: tuple[object, ...]) -> None:
    (one,) = report(text).rows
    assert (one.name, one.start, one.end, one.status, one.run, one.attempt, one.exit_code) == found


def test_members_are_indented_beneath_their_boxes() -> None:
    rows = report(row("OUTER"), row(" INNER"), row("  JOB"), row(" OTHER"), row("ALONE")).rows
    assert [(one.name, one.boxes) for one in rows] == [
        ("OUTER", ()), ("INNER", ("OUTER",)), ("JOB", ("OUTER", "INNER")), ("OTHER", ("OUTER",)), ("ALONE", ()),
    ]  # fmt: skip


def test_what_is_no_row_is_told_with_its_line() -> None:
    found = report(row("JOB"), "CAUAJM_E_10062 Failed to get data\n")
    assert [str(one) for one in found.problems] == [
        "a.txt:5: warning: is no row of a report: not taken: CAUAJM_E_10062 Failed to get data"
    ]


@given(st.lists(st.text(alphabet="ab 01/:-_SUx\n", max_size=60)))
def test_any_text_is_read_and_every_line_of_it_is_a_row_or_told(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = parse_report(text, "x")
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare and not set(bare) <= set("-_ ") and not any(one.line == number for one in found.rows):
            assert any(one.line == number for one in found.problems) or found.rows


STATES = [
    ("SU 12/1 0", "SUCCESS"), ("FA 12/1 3", "FAILURE"), ("TE 12/1 -1", "TERMINATED"), ("RU 12/1", "RUNNING"),
    ("ST 12/1", "STARTING"), ("AC 12/1", "OTHER"), ("AC 12/1 0", "OTHER"), ("QU 12/1 0", "OTHER"),
    ("OI 12/1 0", "SUCCESS"), ("OH 12/1 0", "SUCCESS"), ("IN 12/1 0", "SUCCESS"), ("NO 12/1 0", "SUCCESS"),
    ("OI 12/1 4", "OTHER"), ("OI 12/1 -656", "OTHER"), ("OI 12/1", "OTHER"), ("OH 12/1", "OTHER"), ("IN 12/1", "OTHER"),
]  # fmt: skip


@pytest.mark.parametrize(("rest", "state"), STATES)
def test_a_status_is_told_in_the_words_of_the_run_event(rest: str, state: str) -> None:
    (body,) = told(report(row("JOB", rest=rest)))
    assert (body["eventType"], body["run"]["runId"]) == (state, "12/1")


STANDING = [
    ("OI 12/1 4", {"max_exit_success": "4"}, "SUCCESS"), ("OI 12/1 4", {}, "FAILURE"),
    ("IN 12/1 0", {"fail_codes": "0"}, "FAILURE"), ("OH 12/1 7", {"success_codes": "0,5-9"}, "SUCCESS"),
    ("OH 12/1 4", {"success_codes": "0,5-9"}, "FAILURE"), ("OI 12/1 -656", {}, "OTHER"), ("QU 12/1 100", {}, "OTHER"),
]  # fmt: skip


@pytest.mark.parametrize(("rest", "rule", "state"), STANDING)
def test_how_the_last_run_of_a_job_that_stands_still_ended_is_decided_by_its_definition(
    rest: str, rule: dict[str, str], state: str
) -> None:
    (body,) = told(report(row("JOB", rest=rest)), successes={"JOB": rule})
    assert body["eventType"] == state


def test_a_job_on_ice_is_told_with_the_end_of_its_last_run_and_how_that_is_known() -> None:
    (body,) = told(report(row("JOB", rest="OI 12/1 0")))
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


def test_an_end_that_nobody_can_name_is_kept_and_told() -> None:
    found = build_run_history(report(row("JOB", rest="OH 12/1")), ReportContext("PRD", "mdy", UTC))
    (body,) = found.bodies
    assert body["run"]["facets"] == {"jobState": {"status": "ON_HOLD", "lastEnd": "2026-01-31T06:30:00+00:00"}}
    assert [str(one) for one in found.problems] == [
        "a.txt:4: warning: JOB: is ON_HOLD, and how its last run ended is not told: shown as begun"
    ]


def test_a_job_that_never_ran_tells_nothing() -> None:
    assert told(report(row("JOB", "-----", "-----", "IN 0/0"))) == []


def test_a_run_is_a_part_of_its_boxs_run() -> None:
    box, job = told(report(row("BOX"), row(" JOB", rest="SU 12/3 0")))
    assert job["job"] == {"namespace": "AUTOSYS:PRD", "name": "BOX/JOB"}
    assert job["run"]["runId"] == "12/3"
    assert job["run"]["facets"]["parent"] == {"run": {"runId": box["run"]["runId"]}, "job": box["job"]}


def test_a_run_of_another_number_than_its_box_is_no_part_of_it() -> None:
    _, job = told(report(row("BOX"), row(" JOB", rest="SU 13/1 0")))
    assert "parent" not in job["run"]["facets"]


def test_definitions_tell_the_boxes_that_a_report_of_one_job_does_not_show() -> None:
    (job,) = told(report(row("JOB")), boxes={"JOB": ("OUTER", "BOX")})
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


def test_every_try_is_a_run_with_its_own_end_and_machine() -> None:
    first, second = told(report(DETAIL))
    assert [(one["eventType"], one["run"]["runId"], one["run"]["facets"]) for one in (first, second)] == [
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
_AT = "01/31/2026 06:01:01"
ALARMS = {
    "beneath its announcement": (f"  [*** ALARM ***]\n    JOBFAILURE    {_AT}    1  PD  {_AT}\n", {"alarm": "JOBFAILURE", "time": "2026-01-31T06:01:01+00:00"}),
    "behind it": (f"  [*** ALARM ***]  JOBFAILURE    {_AT}    0  PD  {_AT}\n", {"alarm": "JOBFAILURE", "time": "2026-01-31T06:01:01+00:00"}),
    "with a time alone": (f"  [*** ALARM ***]  {_AT}    0  PD  {_AT}\n", {"alarm": "ALARM", "time": "2026-01-31T06:01:01+00:00"}),
    "with a name alone": ("  [*** ALARM ***] MAXRUNALARM\n", {"alarm": "MAXRUNALARM"}),
    "without anything, at the end": ("  [*** ALARM ***]\n", {"alarm": "ALARM"}),
    "without anything, before another row": ("  [*** ALARM ***]\n" + row("NEXT"), {"alarm": "ALARM"}),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "alarm"), ALARMS.values(), ids=ALARMS)
def test_an_alarm_is_told_of_the_try_that_it_was_raised_of(lines: str, alarm: JsonObject) -> None:
    found = report(_FAILED + lines)
    body = told(found)[0]
    assert (body["run"]["facets"]["alarms"], found.problems) == ({"alarms": [alarm]}, [])


def test_an_alarm_of_a_job_that_never_ran_is_told_as_a_remark() -> None:
    found = report(row("JOB", "-----", "-----", "IN 0/0"), "  [*** ALARM ***] MUST_START_ALARM\n")
    told_ = build_run_history(found, ReportContext("PRD", "mdy", UTC))
    assert (told_.bodies, [one.message for one in told_.problems]) == (
        [],
        ["JOB: MUST_START_ALARM: alarm without an imported run"],
    )


def test_events_that_are_no_part_of_a_run_are_counted() -> None:
    assert report(DETAIL + "  <a remark>\n").other_lines == {"STARTJOB": 1, "a remark": 1}


def test_what_somebody_changed_by_hand_says_so() -> None:
    text = row("JOB") + "  SUCCESS         01/31/2026 06:30:00    0  PD  01/31/2026 06:30:01\n"
    (body,) = told(report(text))
    by = {"by": "a change of status by hand", "status": "SUCCESS", "time": "2026-01-31T06:30:00+00:00"}
    assert (body["run"]["runId"], body["run"]["facets"]["manual"]) == ("12/1", by)


TRIES = {
    "a restart later is no second end": (
        [("STARTING", "06:00:00", 1), ("FAILURE", "06:10:00", 1), ("RESTART", "06:15:00", 1), ("STARTING", "06:16:00", 2), ("SUCCESS", "06:30:00", 2)],
        [("FAILURE", "06:00:00", "06:10:00", None, None), ("SUCCESS", "06:16:00", "06:30:00", 0, None)],
    ),
    "a restart alone is one": ([("STARTING", "06:00:00", 1), ("RESTART", "06:15:00", 1)], [("FAILURE", "06:00:00", "06:15:00", None, None)]),
    "a change by hand is no run": (
        [("STARTING", "06:00:00", 2), ("FAILURE", "06:10:00", 2), ("SUCCESS", "06:30:00", 0)],
        [("FAILURE", "06:00:00", "06:10:00", None, "SUCCESS")],
    ),
    "and ends one that has no end": ([("STARTING", "06:00:00", 2), ("SUCCESS", "06:30:00", 0)], [("SUCCESS", "06:00:00", "06:30:00", None, "SUCCESS")]),
}  # fmt: skip


@pytest.mark.parametrize(("events", "found"), TRIES.values(), ids=TRIES)
def test_a_try_ends_once_and_by_itself(
    events: list[tuple[str, str, int]], found: list[tuple[str, str, str, int | None, str | None]]
) -> None:
    lines = [f"  {status}  01/31/2026 {time}  {attempt}  PD  01/31/2026 {time}\n" for status, time, attempt in events]
    bodies = told(report(row("JOB", rest="SU 12/2 0"), *lines))
    assert [
        (
            one["eventType"], one["run"]["startTime"][11:19], one["run"]["endTime"][11:19],
            one["run"]["facets"].get("exitCode"), one["run"]["facets"].get("manual", {}).get("status"),
        )
        for one in bodies
    ] == found  # fmt: skip


UNSURE = {
    "no start": (row("JOB", "-----", rest="TE 12/1 -1"), None, "is TERMINATED, and when it began is not told: not taken"),
    "no end": (row("JOB", end="-----"), ("OTHER", None), "is SUCCESS, and when it ended is not told: shown as begun"),
    "a status that is not known": (row("JOB", rest="ZZ 12/1 0"), ("OTHER", None), "is ZZ, and how its last run ended is not told: shown as begun"),
    "an end before the start": (row("JOB", B, A), None, "ends at 01/31/2026 06:00:00, before it begins at 01/31/2026 06:30:00: not taken"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "body", "said"), UNSURE.values(), ids=UNSURE)
def test_what_a_row_does_not_tell_is_said(text: str, body: tuple[str, str | None] | None, said: str) -> None:
    found = build_run_history(report(text), ReportContext("PRD", "mdy", UTC))
    assert [(one["eventType"], one["run"].get("endTime")) for one in found.bodies] == ([body] if body else [])
    assert [one.message for one in found.problems] == [f"JOB: {said}"]


def test_an_end_in_the_hour_that_comes_twice_is_behind_its_start() -> None:
    (one,) = told(report(row("JOB", "10/25/2026 01:50:00", "10/25/2026 01:10:00")), zone=ZoneInfo("Europe/London"))
    assert (one["run"]["startTime"], one["run"]["endTime"]) == (
        "2026-10-25T01:50:00+01:00",
        "2026-10-25T01:10:00+00:00",
    )


ORDERS = [
    (["01/31/2026 06:00:00"], ("mdy", True)), (["31/01/2026 06:00:00"], ("dmy", True)),
    (["2026-01-31 06:00:00"], ("ymd", True)), (["01/02/2026 06:00:00", "13/02/2026 06:00:00"], ("dmy", True)),
    (["01/02/2026 06:00:00"], ("mdy", False)), ([], ("mdy", False)), (["18-nov-2026 01:02:03"], ("mdy", True)),
    (["18-nov-2026", "01/02/2026 06:00:00 PM"], ("mdy", False)), (["18-NOV-2026", "13/02/2026"], ("dmy", True)),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "found"), ORDERS)
def test_the_order_of_dates_is_guessed_from_all_of_them(texts: list[str], found: tuple[str, bool]) -> None:
    assert tuple(guess_date_order(texts)) == found


TIMES = {
    "18-nov-2026 01:02:03": "2026-11-18T01:02:03", "18-NOV-2026 01:02": "2026-11-18T01:02:00",
    "18-Nov-26 01:02:03": "2026-11-18T01:02:03", "18/nov/2026 13:02:03": "2026-11-18T13:02:03",
    "2026-NOV-18 01:02:03": "2026-11-18T01:02:03", "18-NOV-2026": "2026-11-18T00:00:00",
    "11/18/2026 01:02:03 PM": "2026-11-18T13:02:03", "11/18/2026 01:02:03 am": "2026-11-18T01:02:03",
    "11/18/2026 12:00 AM": "2026-11-18T00:00:00", "11/18/2026 12:00:00PM": "2026-11-18T12:00:00",
    "18-nov-2026 01:02:03 PM": "2026-11-18T13:02:03", "11/18/2026": "2026-11-18T00:00:00",
}  # fmt: skip


@pytest.mark.parametrize(("text", "found"), TIMES.items())
def test_a_time_is_read_as_sites_write_it_in_rows_events_and_logs(text: str, found: str) -> None:
    assert parse_report_time(text, "mdy", UTC).isoformat() == f"{found}+00:00"
    (one,) = report(row("JOB", text, text) + f"  SUCCESS  {text}  1  PD  {text}  host1\n").rows
    assert (one.start, one.end, one.status, one.run, one.events[0].time, one.events[0].machine) == (
        text, text, "SU", 12, text, "host1",
    )  # fmt: skip
    log = f"[{text}]  CAUAJM_I_40245 EVENT: CHANGE_STATUS  STATUS: STARTING  JOB: JOB\n"
    assert [one.start for one in read_log(log, "x").rows] == [text]


@pytest.mark.parametrize(
    "text", ["18-foo-2026 01:02:03", "11/18/2026 13:02:03 PM", "11/18/2026 00:02:03 AM", "31-feb-2026"]
)
def test_a_time_that_cannot_be_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no month|is no hour|day is out of range"):
        parse_report_time(text, "mdy", UTC)


def test_a_date_without_a_time_of_day_is_taken_and_told() -> None:
    found = build_run_history(
        report(row("JOB", "18-NOV-2026", "18-NOV-2026 01:00:00")), ReportContext("PRD", "mdy", UTC)
    )
    assert found.bodies[0]["run"]["startTime"] == "2026-11-18T00:00:00+00:00"
    assert [one.message for one in found.problems] == [
        "JOB: a date without a time of day: assumed to be the start of that day"
    ]


def test_a_time_is_of_the_site() -> None:
    assert (
        parse_report_time("07/01/2026 06:00:00", "mdy", ZoneInfo("Europe/London")).isoformat()
        == "2026-07-01T06:00:00+01:00"
    )
    assert parse_report_time("01/07/26 06:00", "dmy", UTC).isoformat() == "2026-07-01T06:00:00+00:00"


def test_a_time_that_there_is_not_is_told() -> None:
    found = build_run_history(report(row("JOB", "31/31/2026 06:00:00")), ReportContext("PRD", "mdy", UTC))
    assert (found.bodies, "a.txt:4: error: JOB: month must be in 1..12" in str(found.problems[0])) == ([], True)


LOG = """
[01/31/2026 06:00:00]      CAUAJM_I_40245 EVENT: STARTJOB         JOB: JOB
[01/31/2026 06:00:01]      CAUAJM_I_40245 EVENT: CHANGE_STATUS    STATUS: STARTING        JOB: JOB MACHINE: host1
[01/31/2026 06:00:02]      CAUAJM_I_40245 EVENT: CHANGE_STATUS    STATUS: RUNNING         JOB: JOB MACHINE: host1
[01/31/2026 06:10:00]      CAUAJM_I_40245 EVENT: CHANGE_STATUS    STATUS: FAILURE         JOB: JOB MACHINE: host1 EXITCODE:  3
[01/31/2026 06:20:00]      CAUAJM_I_40245 EVENT: CHANGE_STATUS    STATUS: STARTING        JOB: JOB MACHINE: host1
[01/31/2026 06:30:00]      CAUAJM_I_40245 EVENT: CHANGE_STATUS    STATUS: SUCCESS         JOB: OTHER MACHINE: host1
"""


def test_a_log_is_gathered_into_runs_that_are_known_by_their_starts() -> None:
    found = read_log(LOG, "event_demon.PRD")
    first, second = told(found)
    assert first_timestamp(LOG) == "01/31/2026 06:00:01"
    assert (first["eventType"], first["run"]["startTime"], first["run"]["endTime"], first["run"]["facets"]["exitCode"]) == (
        "FAILURE", "2026-01-31T06:00:01+00:00", "2026-01-31T06:10:00+00:00", 3,
    )  # fmt: skip
    assert (second["eventType"], "runId" in first["run"]) == ("RUNNING", False)
    assert "OTHER ends with SUCCESS, and its start is in no log that is named" in str(found.problems[0])


LOG_ALARMS = {
    "as an event": "[01/31/2026 06:10:01]      CAUAJM_I_40245 EVENT: ALARM            ALARM: JOBFAILURE      JOB: JOB MACHINE: host1 EXITCODE:  3",
    "marked": "[01/31/2026 06:10:01]      [*** ALARM ***]  JOBFAILURE  JOB: JOB",
}


@pytest.mark.parametrize("line", LOG_ALARMS.values(), ids=LOG_ALARMS)
def test_an_alarm_of_a_log_is_told_of_the_newest_run_of_its_job(line: str) -> None:
    before, mark, after = LOG.partition("[01/31/2026 06:20:00]")
    first, second = told(read_log(f"{before}{line}\n{mark}{after}", "x"))
    alarm = {"alarm": "JOBFAILURE", "time": "2026-01-31T06:10:01+00:00"}
    assert first["run"]["facets"]["alarms"] == {"alarms": [alarm]}
    assert "alarms" not in second["run"]["facets"]


def test_lines_of_a_log_that_tell_of_no_run_are_counted_by_what_they_tell() -> None:
    more = """
[01/31/2026 06:30:01]      CAUAJM_I_10082 [host1 connected for JOB 1.2.3]
[01/31/2026 06:30:02]      CAUAJM_I_40245 EVENT: CHANGE_STATUS    STATUS: ON_ICE          JOB: JOB
[01/31/2026 06:30:03]      CAUAJM_I_40245 EVENT: ALARM            ALARM: EP_ROLLOVER
[01/31/2026 06:30:04]      [*** ALARM ***]
----------------------------------------
"""
    assert read_log(LOG + more, "x").other_lines == {
        "STARTJOB": 1, "CAUAJM_I_10082": 1, "CHANGE_STATUS ON_ICE": 1, "ALARM": 1, "another line": 2,
    }  # fmt: skip


@given(st.lists(st.sampled_from([*LOG.splitlines(), *LOG_ALARMS.values(), "x", "", "[*** ALARM ***]"]), max_size=12))
def test_every_line_of_a_log_has_a_fate(lines: list[str]) -> None:
    found = read_log("\n".join(lines), "x")
    told_of = sum(len(one.events) + len(one.alarms) for one in found.rows)
    assert told_of + len(found.problems) + found.other_lines.total() == sum(bool(line) for line in lines)


LINKS = [
    ("success", None, "SU 12/1 0", True), ("success", 30, "SU 12/1 0", True), ("success", 9, "SU 12/1 0", False),
    ("success", None, "FA 12/1 1", False), ("done", None, "FA 12/1 1", True), ("failure", None, "FA 12/1 1", True),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "lookback", "rest", "linked"), LINKS)
def test_a_run_is_linked_to_the_run_that_it_seems_to_have_waited_for(
    kind: StatusPredicate, lookback: int | None, rest: str, linked: bool
) -> None:
    later = row("JOB", "01/31/2026 06:40:00", "01/31/2026 06:50:00", "SU 13/1 0")
    waits = {"JOB": [StatusCondition("FIRST", None, kind, lookback)]}
    _, job = told(report(row("FIRST", rest=rest), later), waits=waits)
    links = job["run"]["facets"].get("lineageBridge_runLinks", {}).get("upstream", [])
    first = {"job": {"namespace": "autosys://PRD", "name": "FIRST"}, "run": {"runId": "12/1"}, "inferred": True}
    assert links == ([first] if linked else [])


def test_a_run_that_ended_later_was_not_waited_for() -> None:
    waits = {"JOB": [StatusCondition("FIRST", None, "success")]}
    _, job = told(report(row("FIRST"), row("JOB", "01/31/2026 06:20:00", "01/31/2026 06:50:00")), waits=waits)
    assert "lineageBridge_runLinks" not in job["run"]["facets"]


def test_a_run_of_a_report_and_that_of_the_agent_are_one(tmp_path: Path) -> None:
    options = Namespace(
        job=None, command=["x"], run_id=None, attempt=None, log=None, input=None, output=None, manifest=None
    )
    environment = {"AUTO_JOB_NAME": "JOB", "AUTOSERV": "PRD", "AUTORUN": "12"}
    started = agent.CommandRun(options, environment, agent.Spool(str(tmp_path))).event("START")
    (reported,) = told(report(row("JOB")))
    found = []
    for body in (started, reported):
        events, _ = translate_body(
            LegacyFormat.RUN_EVENT, json.dumps(body).encode(), LegacyNamespaces(), "2026-01-31T07:00:00Z"
        )
        event = json.loads(events[-1])
        found.append((event["job"]["namespace"], event["job"]["name"], event["run"]["runId"]))
    assert found == [("autosys://PRD", "JOB", "12/1")] * 2
