"""PUT of jobs and POST of runs."""

from tests.standins.marquez import job_rows, job_versions, job_views, jobs, namespaces, run_rows, run_views, times
from tests.standins.marquez.errors import bad_request, invalid_body, not_found, standard_error
from tests.standins.marquez.exchange import ApiResponse, Call
from tests.standins.marquez.runs import resolve
from tests.standins.marquez.tables import Name, new_uuid

_STATES = {"start": "RUNNING", "complete": "COMPLETED", "fail": "FAILED", "abort": "ABORTED"}


def put(call: Call) -> ApiResponse:
    """Create or update a job; its inputs must exist."""
    body = call.object()
    if body.get("type") is None:
        raise invalid_body("Cannot construct instance of `marquez.service.models.JobMeta`")
    namespace, name = namespaces.resolve(call).name, call.args["job"]
    inputs: list[Name] = [(dataset["namespace"], dataset["name"]) for dataset in body.get("inputs") or ()]
    for key in inputs:
        if call.store.dataset(*key) is None:
            raise not_found("Dataset", key[1])
    job = job_rows.upsert(
        call.store, (namespace, name), name, None, body["type"], call.store.now(), body.get("description"),
        body.get("location"), None,
    )  # fmt: skip
    job.inputs = inputs
    return ApiResponse(body=job_views.render_without_runs(job))


def post_run(call: Call) -> ApiResponse:
    """Create a run of a job, with the inputs of the job."""
    job, body = jobs.resolve(call), call.object()
    run_id = body.get("id") or new_uuid()
    if run_id in call.store.runs:
        location = f"'{job.name}' under namespace '{job.namespace}'"
        raise bad_request(f"Run '{run_id}' already exists for {location}.")
    run = run_rows.upsert_run(call.store, run_id, job, call.store.now(), body.get("args") or {}, None)
    run.nominal_start = _time(body.get("nominalStartTime"))
    run.nominal_end = _time(body.get("nominalEndTime"))
    for key in job.inputs:
        dataset = call.store.dataset(*key)
        if dataset is not None and dataset.current is not None:
            run.inputs[dataset.current.uuid] = dataset.current
    job.run = run_id
    return ApiResponse(201, run_views.render(run))


def change_state(call: Call) -> ApiResponse:
    """Start or end a run."""
    if call.args["action"] not in _STATES:
        raise standard_error(404)
    run, state = resolve(call), _STATES[call.args["action"]]
    at = _time(call.query.get("at")) or call.store.now()
    run_rows.set_state(run, state, at)
    if state in run_rows.DONE:
        job_versions.finish(call.store, run.job, run, at, state)
    return ApiResponse(body=run_views.render(run))


def _time(text: str | None) -> int | None:
    try:
        return None if not text else times.parse_zoned(text)
    except times.InvalidTime as error:
        raise bad_request(str(error)) from None
