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
    if [body["eventType"] for body in bodies] == ["OTHER"] and (row.end is not None or row.status in ENDED):
        said = "when it ended" if row.status in ENDED else "how its last run ended"
        said = f"{row.name}: is {_stands(row)}, and {said} is not told: shown as begun"
        yield Problem(row.file, row.line, "warning", said)
    if not bodies and row.end is not None:
        said = f"{row.name}: is {_stands(row)}, and when it began is not told: not taken"
        yield Problem(row.file, row.line, "warning", said)


def _bodies(row: Row, parents: _Parents, site: Site) -> Iterator[Body]:
    tries = _tries(row)
    if not tries and row.start is None:
        return  # it never ran
    for one in tries:
        yield _tried(row, one, parents, site)
    if tries:
        return
    word = (ENDED.get(row.status) if row.end else None) or GOING.get(row.status)
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
    return {"status": _stands(row), **ended}


def _stands(row: Row) -> str:
    return (STANDING | ENDED).get(row.status, row.status)


class _Try(NamedTuple):
    """A try of a run: what happened in it, and how its status was changed by hand."""

    attempt: int | None
    events: list[Event]
    by_hand: list[Event]


def _tries(row: Row) -> list[_Try]:
    """Gather the events of each try; a change by hand is of attempt 0, and of the try that it comes behind."""
    found: dict[int | None, _Try] = {}
    newest: _Try | None = None
    for event in row.events:
        if event.status not in BEGINS | ENDS:
            continue
        if event.attempt == 0 and event.status in ENDS:
            attempt = newest.attempt if newest else row.attempt or None
            found.setdefault(attempt, _Try(attempt, [], [])).by_hand.append(event)
            continue
        attempt = event.attempt if event.attempt is not None else row.attempt
        newest = found.setdefault(attempt, _Try(attempt, [], []))
        newest.events.append(event)
    return list(found.values())


def _tried(row: Row, one: _Try, parents: _Parents, site: Site) -> Body:
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
        by = {"by": "a change of status by hand", "status": changed.status, "time": site.time(changed.time)}
        body["run"]["facets"]["manual"] = by
    if last and (machine := next((each.machine for each in one.events if each.machine), None)):
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
    began, ended = site.span(start, end if word in ENDED.values() else None)
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
