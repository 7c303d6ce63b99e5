"""Builds legacy run events from a report."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from mappers.canonical_json import JsonObject
from mappers.legacy.autorep.context import ReportContext, format_run_id
from mappers.legacy.autorep.dates import has_time_of_day, parse_report_time
from mappers.legacy.autorep.report import Alarm, AutorepReport, ReportRow, StatusEvent
from mappers.legacy.autorep.states import ACTIVE, END_STATES, ENDED, IDLE, START_STATES, infer_outcome
from mappers.legacy.diagnostics import Diagnostic

#: Final states that satisfy a condition on another job, by predicate.
_SATISFIES: dict[str, frozenset[str]] = {
    "success": frozenset({"SU"}), "failure": frozenset({"FA"}), "terminated": frozenset({"TE"}),
    "done": frozenset({"SU", "FA", "TE"}), "notrunning": frozenset(),
}  # fmt: skip
#: Rows by job name and run number, to find the runs of boxes.
_RowsByRun = Mapping[tuple[str, int], ReportRow]


def infer_upstream_runs(
    row: ReportRow, rows_by_name: Mapping[str, ReportRow], context: ReportContext
) -> list[dict[str, Any]]:
    """Infer which runs a run probably waited for, from job definitions and from start and end times.

    A condition tests the states of jobs, not of runs, so the links are marked as inferred.
    """
    links: list[dict[str, Any]] = []
    for condition in context.awaited_statuses.get(row.name, ()):
        upstream = rows_by_name.get(condition.job)
        if condition.instance is not None or upstream is None:
            continue  # the upstream job belongs to another instance or is not in the report
        if upstream.end is None or upstream.run is None or row.start is None:
            continue
        upstream_end = parse_report_time(upstream.end, context.order, context.zone)
        start = parse_report_time(row.start, context.order, context.zone)
        # A lookback of zero means since the last end of this job, which the report does not contain.
        max_age = timedelta(minutes=condition.lookback) if condition.lookback else timedelta.max
        is_in_lookback = timedelta(0) <= start - upstream_end <= max_age
        if not is_in_lookback or upstream.status not in _SATISFIES[condition.predicate]:
            continue
        job = {"namespace": f"autosys://{context.instance}", "name": condition.job}
        links.append({"job": job, "run": {"runId": format_run_id(upstream.run, upstream.attempt)}, "inferred": True})
    return links


class RunHistory(NamedTuple):
    """The run events of a report, and problems."""

    bodies: list[JsonObject]
    problems: list[Diagnostic]


def build_run_history(report: AutorepReport, context: ReportContext) -> RunHistory:
    """Build an event for each run in a report, or for each attempt of a run if the report lists attempts."""
    history = RunHistory([], [])
    rows_by_run = {(row.name, row.run): row for row in report.rows if row.run is not None}
    rows_by_name = {row.name: row for row in report.rows}
    for row in report.rows:
        try:
            bodies = list(_run_bodies(row, rows_by_run, context))
            if bodies and (links := infer_upstream_runs(row, rows_by_name, context)):
                bodies[-1]["run"]["facets"]["lineageBridge_runLinks"] = {"upstream": links}
        except ValueError as error:
            history.problems.append(Diagnostic(row.file, row.line, "error", f"{row.name}: {error}: not imported"))
        else:
            history.bodies.extend(bodies)
            history.problems.extend(_warnings(row, bodies))
    return history


def _warnings(row: ReportRow, bodies: list[JsonObject]) -> Iterator[Diagnostic]:
    """Warn about assumptions and about runs or alarms that were not imported completely."""
    times = (row.start, row.end, *(event.time for event in row.events))
    if any(time and not has_time_of_day(time) for time in times):
        message = f"{row.name}: a date without a time of day: assumed to be the start of that day"
        yield Diagnostic(row.file, row.line, "warning", message)
    if row.alarms and not any("alarms" in body["run"]["facets"] for body in bodies):
        names = ", ".join(alarm.name for alarm in row.alarms)
        yield Diagnostic(row.file, row.line, "warning", f"{row.name}: {names}: alarm without an imported run")
    if [body["eventType"] for body in bodies] == ["OTHER"] and (row.end is not None or row.status in ENDED):
        missing_detail = "its end" if row.status in ENDED else "the outcome of its last run"
        message = f"{row.name}: is {_status_name(row)}, but {missing_detail} is not reported: imported as started"
        yield Diagnostic(row.file, row.line, "warning", message)
    if not bodies and row.end is not None:
        message = f"{row.name}: is {_status_name(row)}, but its start is not reported: not imported"
        yield Diagnostic(row.file, row.line, "warning", message)


def _run_bodies(row: ReportRow, rows_by_run: _RowsByRun, context: ReportContext) -> Iterator[JsonObject]:
    """Yield the body of each attempt or, if the report lists no attempts, of the last run."""
    attempts = _group_attempts(row)
    for attempt in attempts:
        yield _attempt_body(row, attempt, rows_by_run, context)
    if attempts or row.start is None:  # without a start, the job has never run
        return
    reported_state = ACTIVE.get(row.status)
    if row.end and row.status in ENDED:
        reported_state = ENDED[row.status]
    inferred_state = None
    if row.end and not reported_state:
        inferred_state = infer_outcome(row.status, row.exit_code, context.success_rules.get(row.name))
    state = reported_state or inferred_state or "OTHER"
    body = _run_body(row, state, row.attempt, row.start, row.end, rows_by_run, context)
    if reported_state is None:
        body["run"]["facets"]["jobState"] = _job_state(row, context)
    if inferred_state:
        body["run"]["facets"]["outcome"] = {"by": "its exit code", "inferred": True}
    yield body


def _job_state(row: ReportRow, context: ReportContext) -> JsonObject:
    """Return the state of a job that is not running, and when its last run ended."""
    last_end = {"lastEnd": context.isoformat(row.end)} if row.end else {}
    return {"status": _status_name(row), **last_end}


def _status_name(row: ReportRow) -> str:
    return (IDLE | ENDED).get(row.status, row.status)


class _Attempt(NamedTuple):
    """An attempt of a run: its events, and manual changes of its status."""

    number: int | None
    events: list[StatusEvent]
    manual_changes: list[StatusEvent]


def _group_attempts(row: ReportRow) -> list[_Attempt]:
    """Group events by attempt; a manual change is reported with attempt 0 and belongs to the preceding attempt."""
    attempts_by_number: dict[int | None, _Attempt] = {}
    newest: _Attempt | None = None
    for event in row.events:
        if event.status not in START_STATES | END_STATES:
            continue
        if event.attempt == 0 and event.status in END_STATES:
            number = newest.number if newest else (row.attempt or None)
            attempts_by_number.setdefault(number, _Attempt(number, [], [])).manual_changes.append(event)
            continue
        number = event.attempt if event.attempt is not None else row.attempt
        newest = attempts_by_number.setdefault(number, _Attempt(number, [], []))
        newest.events.append(event)
    return list(attempts_by_number.values())


def _attempt_body(row: ReportRow, attempt: _Attempt, rows_by_run: _RowsByRun, context: ReportContext) -> JsonObject:
    """Build the body for the state that an attempt has reached."""
    start = next((event.time for event in attempt.events if event.status in START_STATES), row.start)
    end_event = _end_event(attempt)
    state = end_event.status if end_event else "RUNNING"
    if state == "RESTART":
        state = "FAILURE"
    # After a manual change, the exit code of the row is not the exit code of the command.
    attempt_row = row._replace(exit_code=None) if attempt.manual_changes else row
    end = end_event.time if end_event else None
    body = _run_body(attempt_row, state, attempt.number, start, end, rows_by_run, context)
    if attempt.manual_changes:
        last_change = attempt.manual_changes[-1]
        body["run"]["facets"]["manual"] = {
            "by": "a change of status by hand",
            "status": last_change.status,
            "time": context.isoformat(last_change.time),
        }
    machine = next((event.machine for event in attempt.events if event.machine), None)
    if end_event and machine:
        body["run"]["facets"]["machine"] = {"name": machine}
    return body


def _end_event(attempt: _Attempt) -> StatusEvent | None:
    """Return the event or the manual change that ended an attempt, or None if the attempt has not ended."""
    end_events = [event for event in attempt.events if event.status in END_STATES]
    runs_again = bool(end_events) and end_events[-1].status == "RESTART" and attempt.events[-1].status != "RESTART"
    if not end_events or runs_again:
        end_events = attempt.manual_changes
    # RESTART is the time when the next attempt is due; it counts as an end only if there is no other end.
    candidates = [event for event in end_events if event.status != "RESTART"] or end_events
    return candidates[-1] if candidates else None


def _alarm_content(alarm: Alarm, context: ReportContext) -> JsonObject:
    if alarm.time is None:
        return {"alarm": alarm.name}
    return {"alarm": alarm.name, "time": context.isoformat(alarm.time)}


def _run_body(
    row: ReportRow,
    state: str,
    attempt_number: int | None,
    start: str | None,
    end: str | None,
    rows_by_run: _RowsByRun,
    context: ReportContext,
) -> JsonObject:
    """Build the body of a run event; only a final state has an end time."""
    boxes = row.boxes or context.boxes.get(row.name, ())
    run: JsonObject = {"facets": {}}
    if row.run is not None:
        run["runId"] = format_run_id(row.run, attempt_number)
    start_time, end_time = context.run_interval(start, end if state in ENDED.values() else None)
    if start_time is not None:
        run["startTime"] = start_time
    if end_time is not None:
        run["endTime"] = end_time
    is_last_attempt = attempt_number == row.attempt  # the only attempt that the row describes
    if row.exit_code is not None and end is not None and is_last_attempt:
        run["facets"]["exitCode"] = row.exit_code
    if alarms := [_alarm_content(alarm, context) for alarm in row.alarms if alarm.attempt == attempt_number]:
        run["facets"]["alarms"] = {"alarms": alarms}
    if boxes and row.run is not None:
        *_, innermost_box = boxes
        box_row = rows_by_run.get((innermost_box, row.run))
        if box_row is not None:
            box_run_id = format_run_id(row.run, box_row.attempt)
            box_job = _job_reference(box_row.name, box_row.boxes, context)
            run["facets"]["parent"] = {"run": {"runId": box_run_id}, "job": box_job}
    return {"eventType": state, "run": run, "job": _job_reference(row.name, boxes, context)}


def _job_reference(name: str, boxes: Iterable[str], context: ReportContext) -> JsonObject:
    return {"namespace": f"AUTOSYS:{context.instance}", "name": "/".join((*boxes, name))}
