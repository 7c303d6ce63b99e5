"""Jobs as the server shows them."""

from tests.standins.marquez import names, run_views, times
from tests.standins.marquez.tables import Dataset, Job, Json, Name


def bare(job: Job) -> Json:
    """Show a job without its runs, as deleting and tagging do."""
    namespace, name = names.namespace(job.namespace), names.named(job.name)
    facets = _facets(job)
    return {
        "id": {"namespace": namespace, "name": name},
        "type": job.type,
        "name": name,
        "simpleName": job.simple,
        "parentJobName": None if job.parent is None else job.parent.name,
        "parentJobUuid": None if job.parent is None else job.parent.uuid,
        "createdAt": times.written(job.created),
        "updatedAt": times.written(job.updated),
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


def listed(job: Job) -> Json:
    """Show a job in a list: what its latest run read and wrote."""
    out = bare(job)
    latest = run_views.latest(job.runs)
    if latest:
        runs = [run_views.shown(run) for run in latest]
        out |= {"latestRun": runs[0], "latestRuns": runs}
        out["inputs"] = ids([version.name for version in latest[0].inputs.values()])
        out["outputs"] = ids([version.name for version in latest[0].outputs])
    return out


def whole(job: Job) -> Json:
    """Show a job with what its current version reads and writes, under every name."""
    out = listed(job)
    if job.current is not None:
        for member, datasets in (("inputs", job.current.inputs), ("outputs", job.current.outputs)):
            if known := visible(datasets):
                out[member] = ids(known)
    return out


def visible(datasets: list[Dataset]) -> list[Name]:
    """Give every name of datasets that are not deleted."""
    return [name for dataset in datasets if not dataset.hidden for name in dataset.names]


def ids(told: list[Name]) -> list[Json]:
    """Show names of datasets, each once."""
    return [
        {"namespace": names.namespace(namespace), "name": names.named(name)}
        for namespace, name in sorted(dict.fromkeys(told))
    ]


def _facets(job: Job) -> Json:
    if job.current is None:
        return {}
    return run_views.merged((one.time, one.name, one.value) for one in job.facets if one.version is job.current)


def _labels(facets: Json) -> list[str]:
    told = facets.get("jobType") or {}
    return [told[name] for name in ("jobType", "integration") if told.get(name)]
