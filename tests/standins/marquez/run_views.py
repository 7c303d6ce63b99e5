"""Runs as the server shows them."""

from collections.abc import Iterable
from typing import Any

from tests.standins.marquez import names, times
from tests.standins.marquez.tables import Json, Run, Version

_MOST = 10


def merged(facets: Iterable[tuple[int, str, Any]]) -> Json:
    """Put facets together: those of later events win."""
    return {name: value for _, name, value in sorted(facets, key=lambda facet: facet[0])}


def shown(run: Run) -> Json:
    """Show a run."""
    taken = None if run.ended is None or run.started is None else (run.ended - run.started) // 1_000
    return {
        "id": run.uuid,
        "createdAt": times.written(run.created),
        "updatedAt": times.written(run.updated),
        "nominalStartTime": times.written(run.nominal_start),
        "nominalEndTime": times.written(run.nominal_end),
        "state": run.state or "NEW",
        "startedAt": times.written(run.started),
        "endedAt": times.written(run.ended),
        "durationMs": taken,
        "args": run.args,
        "jobVersion": _job_version(run),
        "inputDatasetVersions": [_dataset_version(version, run, "input") for version in run.inputs.values()],
        "outputDatasetVersions": [_dataset_version(version, run, "output") for version in run.outputs],
        "facets": merged(run.facets),
    }


def latest(runs: list[Run], most: int = _MOST) -> list[Run]:
    """Give the runs of a job that moved last; those that never moved come first."""
    never = [run for run in runs if run.transitioned is None]
    moved = [run for run in runs if run.transitioned is not None]
    return (never + sorted(moved, key=lambda run: -(run.transitioned or 0)))[:most]


def _job_version(run: Run) -> Json | None:
    if run.version is None:
        return None
    namespace, name = names.namespace(run.namespace), names.named(run.job_name)
    return {"namespace": namespace, "name": name, "version": run.version.hash}


def _dataset_version(version: Version, run: Run, kind: str) -> Json:
    facets = [(one.time, one.name, one.value) for one in version.facets if one.kind == kind and one.run is run]
    namespace, name = names.namespace(version.name[0]), names.named(version.name[1])
    return {
        "datasetVersionId": {"namespace": namespace, "name": name, "version": version.hash},
        "facets": merged(facets),
    }
