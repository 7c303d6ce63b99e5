"""All that the server keeps, as plain data that two servers can be compared by."""

from typing import Any

from tests.standins.marquez import times
from tests.standins.marquez.dataset_views import facets
from tests.standins.marquez.run_views import merged
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import INPUT, OUTPUT, Dataset, Job, Json, Run, Version


def state(store: Store) -> dict[str, Any]:
    """Give runs by id, jobs and datasets by (namespace, name), the events of the log in the order of arrival."""
    return {
        "namespaces": {one.name: one.hidden for one in store.namespaces.values()},
        "runs": {run.uuid: _run(run) for run in store.runs.values()},
        "jobs": {key: _job(job) for key, job in store.jobs.items() if not job.hidden},
        "datasets": {one.names[0]: _dataset(one) for one in store.rows.values() if not one.hidden},
        "tags": dict(store.tags),
        "log": [row.event for row in store.log],
    }


def _run(run: Run) -> Json:
    return {
        "job": (run.job.namespace, run.job.name),
        "state": run.state or "NEW",
        "started": times.written(run.started),
        "ended": times.written(run.ended),
        "inputs": _names(list(run.inputs.values())),
        "outputs": _names(run.outputs),
        "facets": merged(run.facets),
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
    return merged((one.time, one.name, one.value) for one in job.facets if one.version is job.current)


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
