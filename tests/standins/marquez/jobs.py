"""Calls about jobs."""

from tests.standins.marquez import job_views, names, namespaces
from tests.standins.marquez.errors import not_found, plain
from tests.standins.marquez.exchange import Answer, Call
from tests.standins.marquez.tables import Job

_STATES = ("NEW", "RUNNING", "COMPLETED", "ABORTED", "FAILED")


def asked(call: Call) -> Job:
    """Give the job of a path."""
    namespace, name = namespaces.checked(call).name, call.args["job"]
    if not name.strip():
        raise plain(404)
    found = call.store.job(namespace, name)
    if found is None:
        raise not_found("Job", name)
    return found


def get(call: Call) -> Answer:
    return Answer(body=job_views.whole(asked(call)))


def listed(call: Call) -> Answer:
    """List the jobs of a namespace; an unknown one has none."""
    return _list(call, names.asked_namespace(call.args["namespace"]))


def listed_all(call: Call) -> Answer:
    return _list(call, None)


def delete(call: Call) -> Answer:
    """Hide a job; gives it as it was."""
    job = asked(call)
    body = job_views.bare(job)
    job.hidden = True
    return Answer(body=body)


def _list(call: Call, namespace: str | None) -> Answer:
    jobs = [
        job
        for job in call.store.jobs.values()
        if not job.hidden and (namespace is None or job.namespace == namespace)
    ]
    given = call.query.get("lastRunStates")
    states = given.upper().split(",") if given else _STATES
    ordered = sorted((job for job in jobs if _in(call, job, states)), key=lambda job: -job.updated)
    page = [job_views.listed(job) for job in call.page(ordered)]
    return Answer(body={"totalCount": len(jobs), "jobs": page})


def _in(call: Call, job: Job, states: list[str] | tuple[str, ...]) -> bool:
    run = None if job.run is None else call.store.runs.get(job.run)
    return run is None or (run.state or "NEW") in states
