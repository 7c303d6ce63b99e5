"""JSON of jobs."""

from tests.standins.marquez import names, run_views, times
from tests.standins.marquez.tables import Dataset, Job, Json, Name


def render_without_runs(job: Job) -> Json:
    """Render a job without runs, as deletes and tag changes return it."""
    namespace, name = names.namespace(job.namespace), names.checked_name(job.name)
    facets = _facets(job)
    return {
        "id": {"namespace": namespace, "name": name},
        "type": job.type,
        "name": name,
        "simpleName": job.simple,
        "parentJobName": None if job.parent is None else job.parent.name,
        "parentJobUuid": None if job.parent is None else job.parent.uuid,
        "createdAt": times.format_micros(job.created),
        "updatedAt": times.format_micros(job.updated),
        "namespace": namespace,
        "inputs": ids(job.inputs),
        "outputs": [],
        "location": job.location,
        "description": job.description,
        "latestRun": None,
        "latestRuns": None,
        "facets": facets,
        "currentVersion": None if job.current is None else job.current.uuid,
        "labels": _labels(facets),
        "tags": list(job.tags),
    }


def render_in_list(job: Job) -> Json:
    """Render a job in a list: with inputs and outputs of its latest run."""
    out = render_without_runs(job)
    latest = run_views.latest(job.runs)
    if latest:
        runs = [run_views.render(run) for run in latest]
        out |= {"latestRun": runs[0], "latestRuns": runs}
        out["inputs"] = ids([version.name for version in latest[0].inputs.values()])
        out["outputs"] = ids([version.name for version in latest[0].outputs])
    return out


def render(job: Job) -> Json:
    """Render a job with inputs and outputs of its current version, under every name."""
    out = render_in_list(job)
    if job.current is not None:
        for member, datasets in (("inputs", job.current.inputs), ("outputs", job.current.outputs)):
            if names := visible_names(datasets):
                out[member] = ids(names)
    return out


def visible_names(datasets: list[Dataset]) -> list[Name]:
    """All names of the datasets that are not deleted."""
    return [name for dataset in datasets if not dataset.hidden for name in dataset.names]


def ids(dataset_names: list[Name]) -> list[Json]:
    """Render dataset names without duplicates."""
    return [
        {"namespace": names.namespace(namespace), "name": names.checked_name(name)}
        for namespace, name in sorted(dict.fromkeys(dataset_names))
    ]


def _facets(job: Job) -> Json:
    if job.current is None:
        return {}
    return run_views.merge_facets(
        (facet.time, facet.name, facet.value) for facet in job.facets if facet.version is job.current
    )


def _labels(facets: Json) -> list[str]:
    job_type = facets.get("jobType") or {}
    return [job_type[name] for name in ("jobType", "integration") if job_type.get(name)]
