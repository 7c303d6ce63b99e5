"""Calls about versions of jobs."""

from tests.standins.marquez import job_views, jobs, names, run_views, times
from tests.standins.marquez.errors import not_found
from tests.standins.marquez.exchange import Answer, Call
from tests.standins.marquez.tables import JobVersion, Json, Run


def listed(call: Call) -> Answer:
    """List the versions of a job, the last first."""
    job = jobs.asked(call)
    ordered = sorted(job.versions, key=lambda version: -version.created)
    return Answer(body={"versions": [_shown(version) for version in call.page(ordered)]})


def get(call: Call) -> Answer:
    wanted = names.asked_uuid(call.args["version"])
    job = jobs.asked(call)
    found = next((version for version in job.versions if version.hash == wanted), None)
    if found is None:
        raise not_found("Job version", wanted)
    return Answer(body=_shown(found))


def _shown(version: JobVersion) -> Json:
    job = version.job
    return {
        "id": {"namespace": job.namespace, "name": job.name, "version": version.hash},
        "name": job.name,
        "createdAt": times.written(version.created),
        "version": version.hash,
        "namespace": job.namespace,
        "location": version.location,
        "inputs": job_views.ids(job_views.visible(version.inputs)),
        "outputs": job_views.ids(job_views.visible(version.outputs)),
        "latestRun": None if version.latest_run is None else _run(version, version.latest_run),
    }


def _run(version: JobVersion, run: Run) -> Json:
    """Show a run as versions do: with the facets of its job for its own, and none of datasets."""
    out = run_views.shown(run)
    for name in ("inputDatasetVersions", "outputDatasetVersions"):
        out[name] = [{**one, "facets": {}} for one in out[name]]
    told = [(one.time, one.name, one.value) for one in version.job.facets if one.version is version]
    return out | {"facets": run_views.merged(told)}
