"""Handlers of jobs."""

from tests.standins.marquez import job_views, names, namespaces
from tests.standins.marquez.errors import not_found, standard_error
from tests.standins.marquez.exchange import ApiResponse, Call
from tests.standins.marquez.tables import Job

_STATES = ("NEW", "RUNNING", "COMPLETED", "ABORTED", "FAILED")


def resolve(call: Call) -> Job:
    """Find the job named in the path."""
    namespace, name = namespaces.resolve(call).name, call.args["job"]
    if not name.strip():
        raise standard_error(404)
    found = call.store.job(namespace, name)
    if found is None:
        raise not_found("Job", name)
    return found


def get(call: Call) -> ApiResponse:
    return ApiResponse(body=job_views.render(resolve(call)))


def list_jobs(call: Call) -> ApiResponse:
    """List the jobs of a namespace; an unknown namespace has none."""
    return _list(call, names.path_namespace(call.args["namespace"]))


def list_all_jobs(call: Call) -> ApiResponse:
    return _list(call, None)


def delete(call: Call) -> ApiResponse:
    """Hide a job and return its previous state."""
    job = resolve(call)
    body = job_views.render_without_runs(job)
    job.hidden = True
    return ApiResponse(body=body)


def _list(call: Call, namespace: str | None) -> ApiResponse:
    jobs = [
        job
        for job in call.store.jobs.values()
        if not job.hidden and (namespace is None or job.namespace == namespace)
    ]
    states_text = call.query.get("lastRunStates")
    states = states_text.upper().split(",") if states_text else _STATES
    ordered = sorted((job for job in jobs if _last_run_is_in(call, job, states)), key=lambda job: -job.updated)
    page = [job_views.render_in_list(job) for job in call.page(ordered)]
    return ApiResponse(body={"totalCount": len(jobs), "jobs": page})


def _last_run_is_in(call: Call, job: Job, states: list[str] | tuple[str, ...]) -> bool:
    run = None if job.run is None else call.store.runs.get(job.run)
    return run is None or (run.state or "NEW") in states
