"""Handlers of runs."""

from tests.standins.marquez import jobs, names, run_views
from tests.standins.marquez.errors import bad_parameter, not_found, standard_error
from tests.standins.marquez.exchange import ApiResponse, Call
from tests.standins.marquez.tables import Run


def resolve(call: Call) -> Run:
    """Find the run named in the path."""
    run_id = names.path_uuid(call.args["run"])
    found = call.store.runs.get(run_id)
    if found is None:
        raise not_found("Run", run_id)
    return found


def get(call: Call) -> ApiResponse:
    return ApiResponse(body=run_views.render(resolve(call)))


def list_runs(call: Call) -> ApiResponse:
    """List the runs of a job, latest start first."""
    job = jobs.resolve(call)
    ordered = sorted(job.runs, key=lambda run: (run.started is None, -(run.started or 0), -run.created))
    page = [run_views.render(run) for run in call.page(ordered)]
    return ApiResponse(body={"runs": page, "totalCount": len(ordered)})


def facets(call: Call) -> ApiResponse:
    """Return the facets of a run, or those that the run reported for its job."""
    run = resolve(call)
    kind = call.query.get("type")
    if not kind:
        raise bad_parameter("type must not be null")
    if kind.upper() == "RUN":
        values = run_views.merge_facets(run.facets)
    elif kind.upper() == "JOB":
        values = run_views.merge_facets(
            (facet.time, facet.name, facet.value) for facet in run.job.facets if facet.run is run
        )
    elif kind.upper() == "DATASET":
        return ApiResponse()
    else:
        raise standard_error(404)
    return ApiResponse(body={"runId": run.uuid, "facets": values})
