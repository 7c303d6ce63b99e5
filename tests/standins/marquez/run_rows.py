"""Writes runs from events; the event that arrives last wins."""

from tests.standins.marquez.shapes import to_stored
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import Job, Json, Run

DONE = ("COMPLETED", "ABORTED", "FAILED")
_STATES = {"complete": "COMPLETED", "abort": "ABORTED", "fail": "FAILED"}


def run_state(event_type: str | None) -> str:
    return _STATES.get((event_type or "").lower(), "RUNNING")


def set_state(run: Run, state: str, at: int) -> None:
    """Change the state of a run, and set its start or end."""
    run.state, run.transitioned, run.updated = state, at, at
    if state in DONE:
        run.ended = at
    else:
        run.started = at


def upsert_run(store: Store, run_id: str, job: Job, at: int, args: Json, event_type: str | None) -> Run:
    """Create or update a run; it stays with its first job."""
    run = store.runs.get(run_id)
    if run is None:
        run = Run(run_id, job, job.namespace, job.name, at, at, args)
        store.runs[run_id] = run
        job.runs.append(run)
    run.updated = at
    run.nominal_start = run.nominal_end = None
    if event_type is not None:
        set_state(run, run_state(event_type), at)
    return run


def write(store: Store, event: Json, run_id: str, job: Job, at: int) -> Run:
    """Write the run of an event."""
    run = upsert_run(store, run_id, job, at, _args(event), event["eventType"])
    for name, value in (event["run"]["facets"] or {}).items():
        if value is not None:
            run.facets.append((at, name, to_stored(value)))
    return run


def _args(event: Json) -> Json:
    facets = event["run"]["facets"] or {}
    args: Json = {}
    nominal = facets.get("nominalTime")
    if nominal is not None:
        args["nominal_start_time"] = nominal["nominalStartTime"].short
        if nominal["nominalEndTime"] is not None:
            args["nominal_end_time"] = nominal["nominalEndTime"].short
    parent = facets.get("parent")
    if parent is not None:
        args["run_id"] = parent["run"]["runId"]
        args["name"] = parent["job"]["name"]
        args["namespace"] = parent["job"]["namespace"]
    return args
