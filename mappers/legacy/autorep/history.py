"""Runs of a report as run events of legacy jobs, which go through the same door as those that jobs send."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any, NamedTuple

from mappers.legacy.autorep.dates import Order, read_time
from mappers.legacy.autorep.report import Event, Report, Row
from mappers.legacy.jil.statements import Problem

if TYPE_CHECKING:
    from mappers.legacy.jil.conditions import StatusIs

Body = dict[str, Any]
#: Rows by the name of their job and the number of their run.
_Parents = Mapping[tuple[str, int], Row]

#: What a report calls the end of a run, and what a run is that has none yet; all others are states of a job.
_ENDED = {"SU": "SUCCESS", "FA": "FAILURE", "TE": "TERMINATED"}
_GOING = {"ST": "STARTING", "RU": "RUNNING", "RE": "FAILURE", "AC": "RUNNING"}
#: Which ends of a job satisfy what is waited for.
_SATISFIES: dict[str, frozenset[str]] = {
    "success": frozenset({"SU"}), "failure": frozenset({"FA"}), "terminated": frozenset({"TE"}),
    "done": frozenset({"SU", "FA", "TE"}), "notrunning": frozenset(),
}  # fmt: skip
_LONG = {"STARTING": "ST", "RUNNING": "RU", "SUCCESS": "SU", "FAILURE": "FA", "TERMINATED": "TE", "RESTART": "RE"}


class Told(NamedTuple):
    """What a report tells of runs, and what of it could not be told."""

    bodies: list[Body]
    problems: list[Problem]


class Site(NamedTuple):
    """What a report does not say of itself: the instance, the order of its dates, the time zone."""

    instance: str
    order: Order
    zone: tzinfo
    #: The boxes of each job, and what it waits for, where definitions say it.
    boxes: Mapping[str, tuple[str, ...]] = {}
    waits: Mapping[str, "Sequence[StatusIs]"] = {}


def tell_history(report: Report, site: Site) -> Told:
    """Tell the runs of a report: each end with its start, and every attempt that the events show."""
    told = Told([], [])
    parents = {(row.name, row.run): row for row in report.rows if row.run is not None}
    by_name = {row.name: row for row in report.rows}
    for row in report.rows:
        try:
            bodies = list(_bodies(row, parents, site))
            if bodies and (links := _links(row, by_name, site)):
                bodies[-1]["run"]["facets"]["lineageBridge_runLinks"] = {"upstream": links}
            told.bodies.extend(bodies)
        except ValueError as error:
            told.problems.append(Problem(row.file, row.line, "error", f"{row.name}: {error}: not taken"))
    return told


def _bodies(row: Row, parents: _Parents, site: Site) -> Iterator[Body]:
    attempts = _attempts(row)
    if not attempts and row.start is None:
        return  # it never ran
    for attempt, events in attempts.items():
        yield from _attempt(row, attempt, events, parents, site)
    if not attempts:
        word = _ENDED.get(row.status) or _GOING.get(row.status)
        if word is None:
            # On ice, on hold, inactive: how its last run ended is not told, only that it ran.
            word = "OTHER"
        yield _body(row, word, row.attempt, row.start, row.end, parents, site)


def _attempts(row: Row) -> dict[int | None, list[Event]]:
    """Gather the events of each attempt; what was changed by hand has attempt 0 and is no run."""
    found: dict[int | None, list[Event]] = {}
    for event in row.events:
        if event.status in _LONG:
            attempt = event.attempt if event.attempt is not None else row.attempt
            found.setdefault(attempt, []).append(event)
    return found


def _attempt(row: Row, attempt: int | None, events: list[Event], parents: _Parents, site: Site) -> Iterator[Body]:
    starts = [one.time for one in events if one.status in {"STARTING", "RUNNING"}]
    ends = [one for one in events if one.status in {"SUCCESS", "FAILURE", "TERMINATED", "RESTART"}]
    start = starts[0] if starts else row.start
    if not ends or (ends[-1].status == "RESTART" and events[-1].status != "RESTART"):
        yield _body(row, "RUNNING", attempt, start, None, parents, site)
        return
    last = ends[-1]
    word = "FAILURE" if last.status == "RESTART" else last.status
    body = _body(row, word, attempt, start, last.time, parents, site)
    if attempt == 0:
        body["run"]["facets"]["manual"] = {"by": "a change of status by hand"}
    if machine := next((one.machine for one in events if one.machine), None):
        body["run"]["facets"]["machine"] = {"name": machine}
    yield body


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
        run["startTime"] = _iso(start, site)
    if end is not None and word != "OTHER":
        run["endTime"] = _iso(end, site)
    if row.exit_code is not None and end is not None and attempt == row.attempt:  # that of the last try
        run["facets"]["exitCode"] = row.exit_code
    box = parents.get((boxes[-1], row.run)) if boxes and row.run is not None else None
    if box is not None:
        job = {"namespace": f"AUTOSYS:{site.instance}", "name": "/".join((*box.boxes, box.name))}
        run["facets"]["parent"] = {"run": {"runId": run_id(box.run or 0, box.attempt)}, "job": job}
    return {
        "eventType": word,
        "run": run,
        "job": {"namespace": f"AUTOSYS:{site.instance}", "name": "/".join((*boxes, row.name))},
    }


def _links(row: Row, rows: Mapping[str, Row], site: Site) -> list[Body]:
    """Link a run to those that it seems to have waited for: by what definitions say, and by time.

    A condition looks at how jobs stand, not at runs: which run it was is inferred, and says so.
    """
    found: list[Body] = []
    for one in site.waits.get(row.name, ()):
        other = rows.get(one.job)
        if one.instance is not None or other is None or other.end is None or row.start is None or other.run is None:
            continue
        ended, began = read_time(other.end, site.order, site.zone), read_time(row.start, site.order, site.zone)
        late = one.lookback is not None and one.lookback and (began - ended).total_seconds() > one.lookback * 60
        if ended > began or late or other.status not in _SATISFIES[one.kind]:
            continue
        job = {"namespace": f"autosys://{site.instance}", "name": one.job}
        found.append({"job": job, "run": {"runId": run_id(other.run, other.attempt)}, "inferred": True})
    return found


def run_id(run: int, attempt: int | None) -> str:
    """Name a run as the agent does: by its number and its attempt."""
    return f"{run}/{1 if attempt is None else attempt}"


def _iso(text: str, site: Site) -> str:
    moment: datetime = read_time(text, site.order, site.zone)
    return moment.isoformat()
