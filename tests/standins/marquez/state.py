"""State of a server as plain data, for comparisons."""

from typing import Any

from tests.standins.marquez import times
from tests.standins.marquez.dataset_views import facets
from tests.standins.marquez.run_views import merge_facets
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import INPUT, OUTPUT, Dataset, Job, Json, Run, Version


def state(store: Store) -> dict[str, Any]:
    """Runs by id, jobs and datasets by (namespace, name), and logged events in order of arrival."""
    return {
        "namespaces": {namespace.name: namespace.hidden for namespace in store.namespaces.values()},
        "runs": {run.uuid: _run(run) for run in store.runs.values()},
        "jobs": {key: _job(job) for key, job in store.jobs.items() if not job.hidden},
        "datasets": {dataset.names[0]: _dataset(dataset) for dataset in store.rows.values() if not dataset.hidden},
        "tags": dict(store.tags),
        "log": [row.event for row in store.log],
    }


def _run(run: Run) -> Json:
    return {
        "job": (run.job.namespace, run.job.name),
        "state": run.state or "NEW",
        "started": times.format_micros(run.started),
        "ended": times.format_micros(run.ended),
        "inputs": _names(list(run.inputs.values())),
        "outputs": _names(run.outputs),
        "facets": merge_facets(run.facets),
    }


def _names(versions: list[Version]) -> list[tuple[str, str]]:
    return sorted({version.name for version in versions})


def _job(job: Job) -> Json:
    return {
        "parent": None if job.parent is None else job.parent.name,
        "description": job.description,
        "location": job.location,
        "inputs": sorted(io.dataset.names[0] for io in job.io if io.current and io.type == INPUT),
        "outputs": sorted(io.dataset.names[0] for io in job.io if io.current and io.type == OUTPUT),
        "facets": {} if job.current is None else _job_facets(job),
        "tags": sorted(job.tags),
    }


def _job_facets(job: Job) -> Json:
    return merge_facets((facet.time, facet.name, facet.value) for facet in job.facets if facet.version is job.current)


def _dataset(dataset: Dataset) -> Json:
    fields = [] if dataset.current is None else list(dataset.current.fields.values())
    return {
        "names": list(dataset.names),
        "description": dataset.description,
        "deleted": dataset.deleted,
        "fields": {field.name: field.type for field in fields},
        "facets": facets(dataset.current),
        "tags": sorted(dataset.tags),
        "field_tags": {field.name: sorted(field.tags) for field in fields if field.tags},
    }
