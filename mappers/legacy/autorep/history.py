"""Runs of a report as run events of legacy jobs, which go through the same door as those that jobs send."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mappers.legacy.autorep.dates import has_hour
from mappers.legacy.autorep.links import links_of
from mappers.legacy.autorep.report import Alarm, Event, Report, Row
from mappers.legacy.autorep.site import Site, run_id
from mappers.legacy.autorep.states import BEGINS, ENDED, ENDS, GOING, STANDING, outcome_of
from mappers.legacy.jil.statements import Problem

Body = dict[str, Any]
#: Rows by the name of their job and the number of their run.
_Parents = Mapping[tuple[str, int], Row]


class Told(NamedTuple):
    """What a report tells of runs, and what of it could not be told."""

    bodies: list[Body]
    problems: list[Problem]


def tell_history(report: Report, site: Site) -> Told:
    """Tell the runs of a report: each end with its start, and every attempt that the events show."""
    told = Told([], [])
    parents = {(row.name, row.run): row for row in report.rows if row.run is not None}
    by_name = {row.name: row for row in report.rows}
    for row in report.rows:
        try:
            bodies = list(_bodies(row, parents, site))
            if bodies and (links := links_of(row, by_name, site)):
                bodies[-1]["run"]["facets"]["lineageBridge_runLinks"] = {"upstream": links}
        except ValueError as error:
            told.problems.append(Problem(row.file, row.line, "error", f"{row.name}: {error}: not taken"))
        else:
            told.bodies.extend(bodies)
            told.problems.extend(_doubts(row, bodies))
    return told


def _doubts(row: Row, bodies: list[Body]) -> Iterator[Problem]:
    """Say what of a row is not as sure as it looks."""
    if any(time and not has_hour(time) for time in (row.start, row.end, *(one.time for one in row.events))):
        said = f"{row.name}: a date without a time of day: taken as the beginning of that day"
        yield Problem(row.file, row.line, "warning", said)
    if row.alarms and not any("alarms" in body["run"]["facets"] for body in bodies):
        names = ", ".join(one.name for one in row.alarms)
        yield Problem(row.file, row.line, "warning", f"{row.name}: {names}: an alarm of no run that is told")
    if row.end is not None and [body["eventType"] for body in bodies] == ["OTHER"]:
        stands = STANDING.get(row.status, row.status)
        said = f"{row.name}: is {stands}, and how its last run ended is not told: shown as begun"
        yield Problem(row.file, row.line, "warning", said)


def _bodies(row: Row, parents: _Parents, site: Site) -> Iterator[Body]:
    attempts = _attempts(row)
    if not attempts and row.start is None:
        return  # it never ran
    for attempt, events in attempts.items():
        yield _attempt(row, attempt, events, parents, site)
    if attempts:
        return
    word = ENDED.get(row.status) or GOING.get(row.status)
    inferred = outcome_of(row.status, row.exit_code, site.successes.get(row.name)) if row.end and not word else None
    body = _body(row, word or inferred or "OTHER", row.attempt, row.start, row.end, parents, site)
    if word is None:
        body["run"]["facets"]["jobState"] = _standing(row, site)
    if inferred:
        body["run"]["facets"]["outcome"] = {"by": "its exit code", "inferred": True}
    yield body


def _standing(row: Row, site: Site) -> Body:
    """Tell how a job stands that is not running, and when it ended last."""
    ended = {"lastEnd": site.time(row.end)} if row.end else {}
    return {"status": STANDING.get(row.status, row.status), **ended}


def _attempts(row: Row) -> dict[int | None, list[Event]]:
    """Gather the events of each attempt; what was changed by hand has attempt 0 and is no run."""
    found: dict[int | None, list[Event]] = {}
    for event in row.events:
        if event.status in BEGINS | ENDS:
            attempt = event.attempt if event.attempt is not None else row.attempt
            found.setdefault(attempt, []).append(event)
    return found


def _attempt(row: Row, attempt: int | None, events: list[Event], parents: _Parents, site: Site) -> Body:
    start = next((one.time for one in events if one.status in BEGINS), row.start)
    ends = [one for one in events if one.status in ENDS]
    if not ends or (ends[-1].status == "RESTART" and events[-1].status != "RESTART"):
        return _body(row, "RUNNING", attempt, start, None, parents, site)
    last = ends[-1]
    word = "FAILURE" if last.status == "RESTART" else last.status
    body = _body(row, word, attempt, start, last.time, parents, site)
    if attempt == 0:
        body["run"]["facets"]["manual"] = {"by": "a change of status by hand"}
    if machine := next((one.machine for one in events if one.machine), None):
        body["run"]["facets"]["machine"] = {"name": machine}
    return body


def _alarm(alarm: Alarm, site: Site) -> Body:
    return {"alarm": alarm.name, **({"time": site.time(alarm.time)} if alarm.time else {})}


def _body(
    row: Row,
    word: str,
    attempt: int | None,
    start: str | None,
    end: str | None,
    parents: _Parents,
    site: Site,
) -> Body:
    boxes = row.boxes or site.boxes.get(row.name, ())
    run: Body = {"facets": {}}
    if row.run is not None:
        run["runId"] = run_id(row.run, attempt)
    if start is not None:
        run["startTime"] = site.time(start)
    if end is not None and word != "OTHER":
        run["endTime"] = site.time(end)
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
