"""JSON of runs."""

from collections.abc import Iterable
from typing import Any

from tests.standins.marquez import names, times
from tests.standins.marquez.tables import Json, Run, Version

_MAX_RUNS = 10


def merge_facets(facets: Iterable[tuple[int, str, Any]]) -> Json:
    """Merge facets; those of later events win."""
    return {name: value for _, name, value in sorted(facets, key=lambda facet: facet[0])}


def render(run: Run) -> Json:
    duration = None if run.ended is None or run.started is None else (run.ended - run.started) // 1_000
    return {
        "id": run.uuid,
        "createdAt": times.format_micros(run.created),
        "updatedAt": times.format_micros(run.updated),
        "nominalStartTime": times.format_micros(run.nominal_start),
        "nominalEndTime": times.format_micros(run.nominal_end),
        "state": run.state or "NEW",
        "startedAt": times.format_micros(run.started),
        "endedAt": times.format_micros(run.ended),
        "durationMs": duration,
        "args": run.args,
        "jobVersion": _job_version(run),
        "inputDatasetVersions": [_dataset_version(version, run, "input") for version in run.inputs.values()],
        "outputDatasetVersions": [_dataset_version(version, run, "output") for version in run.outputs],
        "facets": merge_facets(run.facets),
    }


def latest(runs: list[Run], limit: int = _MAX_RUNS) -> list[Run]:
    """Runs with the latest state changes; runs without one come first."""
    unchanged = [run for run in runs if run.transitioned is None]
    changed = [run for run in runs if run.transitioned is not None]
    return (unchanged + sorted(changed, key=lambda run: -(run.transitioned or 0)))[:limit]


def _job_version(run: Run) -> Json | None:
    if run.version is None:
        return None
    namespace, name = names.namespace(run.namespace), names.checked_name(run.job_name)
    return {"namespace": namespace, "name": name, "version": run.version.hash}


def _dataset_version(version: Version, run: Run, kind: str) -> Json:
    facets = [
        (facet.time, facet.name, facet.value) for facet in version.facets if facet.kind == kind and facet.run is run
    ]
    namespace, name = names.namespace(version.name[0]), names.checked_name(version.name[1])
    return {
        "datasetVersionId": {"namespace": namespace, "name": name, "version": version.hash},
        "facets": merge_facets(facets),
    }
