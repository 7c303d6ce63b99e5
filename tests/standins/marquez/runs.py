"""Calls about runs."""

from tests.standins.marquez import jobs, names, run_views
from tests.standins.marquez.errors import bad_parameter, not_found, plain
from tests.standins.marquez.exchange import Answer, Call
from tests.standins.marquez.tables import Run


def asked(call: Call) -> Run:
    """Give the run of a path."""
    run_id = names.asked_uuid(call.args["run"])
    found = call.store.runs.get(run_id)
    if found is None:
        raise not_found("Run", run_id)
    return found


def get(call: Call) -> Answer:
    return Answer(body=run_views.shown(asked(call)))


def listed(call: Call) -> Answer:
    """List the runs of a job, those that began last first."""
    job = jobs.asked(call)
    ordered = sorted(job.runs, key=lambda run: (run.started is None, -(run.started or 0), -run.created))
    page = [run_views.shown(run) for run in call.page(ordered)]
    return Answer(body={"runs": page, "totalCount": len(ordered)})


def facets(call: Call) -> Answer:
    """Show the facets of a run, or of its job as the run told them."""
    run = asked(call)
    kind = call.query.get("type")
    if not kind:
        raise bad_parameter("type must not be null")
    if kind.upper() == "RUN":
        told = run_views.merged(run.facets)
    elif kind.upper() == "JOB":
        told = run_views.merged((one.time, one.name, one.value) for one in run.job.facets if one.run is run)
    elif kind.upper() == "DATASET":
        return Answer()
    else:
        raise plain(404)
    return Answer(body={"runId": run.uuid, "facets": told})
