"""Handlers of job versions."""

from tests.standins.marquez import job_views, jobs, names, run_views, times
from tests.standins.marquez.errors import not_found
from tests.standins.marquez.exchange import ApiResponse, Call
from tests.standins.marquez.tables import JobVersion, Json, Run


def list_versions(call: Call) -> ApiResponse:
    """List the versions of a job, newest first."""
    job = jobs.resolve(call)
    ordered = sorted(job.versions, key=lambda version: -version.created)
    return ApiResponse(body={"versions": [_render(version) for version in call.page(ordered)]})


def get(call: Call) -> ApiResponse:
    version_hash = names.path_uuid(call.args["version"])
    job = jobs.resolve(call)
    found = next((version for version in job.versions if version.hash == version_hash), None)
    if found is None:
        raise not_found("Job version", version_hash)
    return ApiResponse(body=_render(found))


def _render(version: JobVersion) -> Json:
    job = version.job
    return {
        "id": {"namespace": job.namespace, "name": job.name, "version": version.hash},
        "name": job.name,
        "createdAt": times.format_micros(version.created),
        "version": version.hash,
        "namespace": job.namespace,
        "location": version.location,
        "inputs": job_views.ids(job_views.visible_names(version.inputs)),
        "outputs": job_views.ids(job_views.visible_names(version.outputs)),
        "latestRun": None if version.latest_run is None else _run(version, version.latest_run),
    }


def _run(version: JobVersion, run: Run) -> Json:
    """Render a run as part of a job version: with job facets in place of run facets, and without dataset facets."""
    out = run_views.render(run)
    for name in ("inputDatasetVersions", "outputDatasetVersions"):
        out[name] = [{**version_id, "facets": {}} for version_id in out[name]]
    job_facets = [(facet.time, facet.name, facet.value) for facet in version.job.facets if facet.version is version]
    return out | {"facets": run_views.merge_facets(job_facets)}
