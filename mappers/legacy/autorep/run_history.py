"""Builds legacy run events from a report."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mappers.canonical_json import JsonObject
from mappers.legacy.autorep.context import ReportContext, run_id
from mappers.legacy.autorep.dates import has_time_of_day, parse_report_time
from mappers.legacy.autorep.report import Alarm, AutorepReport, ReportRow, StatusEvent
from mappers.legacy.autorep.states import ACTIVE, BEGINS, ENDED, ENDS, IDLE, infer_outcome
from mappers.legacy.diagnostics import Diagnostic

#: Which ends of a job satisfy what is waited for.
_SATISFIES: dict[str, frozenset[str]] = {
    "success": frozenset({"SU"}), "failure": frozenset({"FA"}), "terminated": frozenset({"TE"}),
    "done": frozenset({"SU", "FA", "TE"}), "notrunning": frozenset(),
}  # fmt: skip


def upstream_runs(row: ReportRow, rows: Mapping[str, ReportRow], site: ReportContext) -> list[dict[str, Any]]:
    """Link a run to those that it seems to have waited for: by what definitions say, and by time.

    A condition looks at how jobs stand, not at runs: which run it was is inferred, and says so.
    """
    found: list[dict[str, Any]] = []
    for one in site.awaited_statuses.get(row.name, ()):
        other = rows.get(one.job)
        if one.instance is not None or other is None or other.end is None or row.start is None or other.run is None:
            continue
        ended, began = (
            parse_report_time(other.end, site.order, site.zone),
            parse_report_time(row.start, site.order, site.zone),
        )
        late = one.lookback is not None and one.lookback and (began - ended).total_seconds() > one.lookback * 60
        if ended > began or late or other.status not in _SATISFIES[one.kind]:
            continue
        job = {"namespace": f"autosys://{site.instance}", "name": one.job}
        found.append({"job": job, "run": {"runId": run_id(other.run, other.attempt)}, "inferred": True})
    return found


#: Rows by the name of their job and the number of their run.
_Parents = Mapping[tuple[str, int], ReportRow]


class RunHistory(NamedTuple):
    """What a report tells of runs, and what of it could not be told."""

    bodies: list[JsonObject]
    problems: list[Diagnostic]


def build_run_history(report: AutorepReport, site: ReportContext) -> RunHistory:
    """Tell the runs of a report: each end with its start, and every attempt that the events show."""
    told = RunHistory([], [])
    parents = {(row.name, row.run): row for row in report.rows if row.run is not None}
    by_name = {row.name: row for row in report.rows}
    for row in report.rows:
        try:
            bodies = list(_bodies(row, parents, site))
            if bodies and (links := upstream_runs(row, by_name, site)):
                bodies[-1]["run"]["facets"]["lineageBridge_runLinks"] = {"upstream": links}
        except ValueError as error:
            told.problems.append(Diagnostic(row.file, row.line, "error", f"{row.name}: {error}: not taken"))
        else:
            told.bodies.extend(bodies)
            told.problems.extend(_doubts(row, bodies))
    return told


def _doubts(row: ReportRow, bodies: list[JsonObject]) -> Iterator[Diagnostic]:
    """Say what of a row is not as sure as it looks."""
    if any(time and not has_time_of_day(time) for time in (row.start, row.end, *(one.time for one in row.events))):
        said = f"{row.name}: a date without a time of day: taken as the beginning of that day"
        yield Diagnostic(row.file, row.line, "warning", said)
    if row.alarms and not any("alarms" in body["run"]["facets"] for body in bodies):
        names = ", ".join(one.name for one in row.alarms)
        yield Diagnostic(row.file, row.line, "warning", f"{row.name}: {names}: an alarm of no run that is told")
    if [body["eventType"] for body in bodies] == ["OTHER"] and (row.end is not None or row.status in ENDED):
        said = "when it ended" if row.status in ENDED else "how its last run ended"
        said = f"{row.name}: is {_stands(row)}, and {said} is not told: shown as begun"
        yield Diagnostic(row.file, row.line, "warning", said)
    if not bodies and row.end is not None:
        said = f"{row.name}: is {_stands(row)}, and when it began is not told: not taken"
        yield Diagnostic(row.file, row.line, "warning", said)


def _bodies(row: ReportRow, parents: _Parents, site: ReportContext) -> Iterator[JsonObject]:
    tries = _tries(row)
    if not tries and row.start is None:
        return  # it never ran
    for one in tries:
        yield _tried(row, one, parents, site)
    if tries:
        return
    word = (ENDED.get(row.status) if row.end else None) or ACTIVE.get(row.status)
    inferred = (
        infer_outcome(row.status, row.exit_code, site.success_rules.get(row.name)) if row.end and not word else None
    )
    body = _body(row, word or inferred or "OTHER", row.attempt, row.start, row.end, parents, site)
    if word is None:
        body["run"]["facets"]["jobState"] = _standing(row, site)
    if inferred:
        body["run"]["facets"]["outcome"] = {"by": "its exit code", "inferred": True}
    yield body


def _standing(row: ReportRow, site: ReportContext) -> JsonObject:
    """Tell how a job stands that is not running, and when it ended last."""
    ended = {"lastEnd": site.isoformat(row.end)} if row.end else {}
    return {"status": _stands(row), **ended}


def _stands(row: ReportRow) -> str:
    return (IDLE | ENDED).get(row.status, row.status)


class _Attempt(NamedTuple):
    """A try of a run: what happened in it, and how its status was changed by hand."""

    attempt: int | None
    events: list[StatusEvent]
    by_hand: list[StatusEvent]


def _tries(row: ReportRow) -> list[_Attempt]:
    """Gather the events of each try; a change by hand is of attempt 0, and of the try that it comes behind."""
    found: dict[int | None, _Attempt] = {}
    newest: _Attempt | None = None
    for event in row.events:
        if event.status not in BEGINS | ENDS:
            continue
        if event.attempt == 0 and event.status in ENDS:
            attempt = newest.attempt if newest else row.attempt or None
            found.setdefault(attempt, _Attempt(attempt, [], [])).by_hand.append(event)
            continue
        attempt = event.attempt if event.attempt is not None else row.attempt
        newest = found.setdefault(attempt, _Attempt(attempt, [], []))
        newest.events.append(event)
    return list(found.values())


def _tried(row: ReportRow, one: _Attempt, parents: _Parents, site: ReportContext) -> JsonObject:
    """Tell a try by its own end; one that has none ends as somebody said."""
    start = next((each.time for each in one.events if each.status in BEGINS), row.start)
    ends = [each for each in one.events if each.status in ENDS]
    if not ends or (ends[-1].status == "RESTART" and one.events[-1].status != "RESTART"):
        ends = one.by_hand
    # The next try is due some time after this one failed: that is no second end of it.
    last = next((each for each in reversed(ends) if each.status != "RESTART"), ends[-1] if ends else None)
    word = "RUNNING" if last is None else "FAILURE" if last.status == "RESTART" else last.status
    told = row if not one.by_hand else row._replace(exit_code=None)  # that of a row is of what was done last
    body = _body(told, word, one.attempt, start, last.time if last else None, parents, site)
    if one.by_hand:
        changed = one.by_hand[-1]
        by = {"by": "a change of status by hand", "status": changed.status, "time": site.isoformat(changed.time)}
        body["run"]["facets"]["manual"] = by
    if last and (machine := next((each.machine for each in one.events if each.machine), None)):
        body["run"]["facets"]["machine"] = {"name": machine}
    return body


def _alarm(alarm: Alarm, site: ReportContext) -> JsonObject:
    return {"alarm": alarm.name, **({"time": site.isoformat(alarm.time)} if alarm.time else {})}


def _body(
    row: ReportRow,
    word: str,
    attempt: int | None,
    start: str | None,
    end: str | None,
    parents: _Parents,
    site: ReportContext,
) -> JsonObject:
    boxes = row.boxes or site.boxes.get(row.name, ())
    run: JsonObject = {"facets": {}}
    if row.run is not None:
        run["runId"] = run_id(row.run, attempt)
    began, ended = site.run_interval(start, end if word in ENDED.values() else None)
    if began is not None:
        run["startTime"] = began
    if ended is not None:
        run["endTime"] = ended
    if row.exit_code is not None and end is not None and attempt == row.attempt:  # that of the last try
        run["facets"]["exitCode"] = row.exit_code
    if alarms := [_alarm(one, site) for one in row.alarms if one.attempt == attempt]:
        run["facets"]["alarms"] = {"alarms": alarms}
    box = parents.get((boxes[-1], row.run)) if boxes and row.run is not None else None
    if box is not None:
        job = {"namespace": f"AUTOSYS:{site.instance}", "name": "/".join((*box.boxes, box.name))}
        run["facets"]["parent"] = {"run": {"runId": run_id(box.run or 0, box.attempt)}, "job": job}
    return {
        "eventType": word,
        "run": run,
        "job": {"namespace": f"AUTOSYS:{site.instance}", "name": "/".join((*boxes, row.name))},
    }
