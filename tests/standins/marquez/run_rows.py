"""Runs as events write them: the last event that arrives decides."""

from tests.standins.marquez.shapes import shown, without_nulls
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import Job, Json, Run

DONE = ("COMPLETED", "ABORTED", "FAILED")
_STATES = {"complete": "COMPLETED", "abort": "ABORTED", "fail": "FAILED"}


def state_of(event_type: str) -> str:
    return _STATES.get(event_type.lower(), "RUNNING")


def begin(store: Store, run_id: str, job: Job, at: int, args: Json, state: str | None) -> Run:
    """Make a run, or bring its state up to date; it stays with the job that had it first."""
    run = store.runs.get(run_id)
    if run is None:
        run = Run(run_id, job, job.namespace, job.name, at, at, args)
        store.runs[run_id] = run
        job.runs.append(run)
    run.updated = at
    run.nominal_start = run.nominal_end = None
    if state is not None:
        run.state, run.transitioned = state, at
    return run


def write(store: Store, event: Json, run_id: str, job: Job, at: int) -> Run:
    """Take over what an event tells of a run."""
    state = None if event["eventType"] is None else state_of(event["eventType"])
    run = begin(store, run_id, job, at, _args(event), state)
    for name, value in (event["run"]["facets"] or {}).items():
        if value is not None:
            run.facets.append((at, name, without_nulls(shown(value))))
    if state in DONE:
        run.ended = at
    elif state is not None:
        run.started = at
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
