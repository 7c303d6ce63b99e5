"""Jobs and runs told by a person, not by an event."""

from tests.standins.marquez import job_rows, job_versions, job_views, jobs, namespaces, run_rows, run_views, times
from tests.standins.marquez.errors import bad_request, not_found, plain, unreadable
from tests.standins.marquez.exchange import Answer, Call
from tests.standins.marquez.runs import asked
from tests.standins.marquez.tables import Name, new_uuid

_MOVES = {"start": "RUNNING", "complete": "COMPLETED", "fail": "FAILED", "abort": "ABORTED"}


def put(call: Call) -> Answer:
    """Make a job that reads datasets which are there."""
    told = call.object()
    if told.get("type") is None:
        raise unreadable("Cannot construct instance of `marquez.service.models.JobMeta`")
    namespace, name = namespaces.checked(call).name, call.args["job"]
    inputs: list[Name] = [(one["namespace"], one["name"]) for one in told.get("inputs") or ()]
    for key in inputs:
        if call.store.dataset(*key) is None:
            raise not_found("Dataset", key[1])
    job = job_rows.upsert(
        call.store, (namespace, name), name, None, told["type"], call.store.now(), told.get("description"),
        told.get("location"), None,
    )  # fmt: skip
    job.inputs = inputs
    return Answer(body=job_views.bare(job))


def post_run(call: Call) -> Answer:
    """Make a run of a job, which reads what the job reads."""
    job, told = jobs.asked(call), call.object()
    run_id = told.get("id") or new_uuid()
    if run_id in call.store.runs:
        where = f"'{job.name}' under namespace '{job.namespace}'"
        raise bad_request(f"Run '{run_id}' already exists for {where}.")
    run = run_rows.touch(call.store, run_id, job, call.store.now(), told.get("args") or {}, None)
    run.nominal_start = _time(told.get("nominalStartTime"))
    run.nominal_end = _time(told.get("nominalEndTime"))
    for key in job.inputs:
        dataset = call.store.dataset(*key)
        if dataset is not None and dataset.current is not None:
            run.inputs[dataset.current.uuid] = dataset.current
    job.run = run_id
    return Answer(201, run_views.shown(run))


def move(call: Call) -> Answer:
    """Let a run begin or end."""
    if call.args["move"] not in _MOVES:
        raise plain(404)
    run, state = asked(call), _MOVES[call.args["move"]]
    at = _time(call.query.get("at")) or call.store.now()
    run_rows.move(run, state, at)
    if state in run_rows.DONE:
        job_versions.finish(call.store, run.job, run, at, state)
    return Answer(body=run_views.shown(run))


def _time(given: str | None) -> int | None:
    try:
        return None if not given else times.instant(given)
    except times.BadTime as bad:
        raise bad_request(str(bad)) from None
