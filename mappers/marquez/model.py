"""What a Marquez server's lists say beside its log, as events: of what no event of a run tells of."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from mappers.marquez.events import PRODUCER, complete, dataset_event, job_event
from mappers.openlineage.clock_time import parse_time

#: Who says what was read from lists, and not from an event.
RECONSTRUCTED = f"{PRODUCER}#reconstructed"
_ANONYMOUS = "anonymous"


class Known(NamedTuple):
    """What the store knows of a dataset or job: whether runs tell of it, and which facets it has."""

    has_runs: bool = False
    facets: frozenset[str] = frozenset()


def dataset_said(dataset: Mapping[str, Any], known: Known) -> dict[str, Any] | None:
    """Give what is said of a dataset and not known; of one that runs told of, their facets are known."""
    facets = _unknown(dataset, known)
    fields = dataset.get("fields") or []
    if fields and not known.has_runs and "schema" not in facets:
        facets["schema"] = {"fields": [_field(one) for one in fields]}
    tags = [{"key": tag, "value": "true", "source": "MARQUEZ"} for tag in sorted(dataset.get("tags") or ())]
    tags += [
        {"key": tag, "value": "true", "source": "MARQUEZ", "field": one["name"]}
        for one in fields
        for tag in sorted(one.get("tags") or ())
    ]
    if tags and "tags" not in known.facets:
        facets["tags"] = {"tags": tags}
    if not facets and known.has_runs:
        return None
    body = {"namespace": dataset["namespace"], "name": dataset["name"], "facets": complete(facets)}
    return {**dataset_event(body, _time(dataset)), "producer": RECONSTRUCTED}


def job_said(job: Mapping[str, Any], owner: str | None, known: Known) -> dict[str, Any] | None:
    """Give what is said of a job and not known; one without runs has its datasets from an event of a job."""
    facets = _unknown(job, known)
    if owner and owner != _ANONYMOUS and "ownership" not in facets and "ownership" not in known.facets:
        facets["ownership"] = {"owners": [{"name": owner}]}
    tags = [{"key": tag, "value": "true", "source": "MARQUEZ"} for tag in sorted(job.get("tags") or ())]
    if tags and "tags" not in known.facets:
        facets["tags"] = {"tags": tags}
    if not facets and known.has_runs:
        return None
    body = {"namespace": job["namespace"], "name": own_name(job), "facets": complete(facets)}
    inputs, outputs = ([], []) if known.has_runs else (_ids(job.get("inputs")), _ids(job.get("outputs")))
    return {**job_event(body, inputs, outputs, _time(job)), "producer": RECONSTRUCTED}


def own_name(job: Mapping[str, Any]) -> str:
    """Give the name that events have for a job: the server puts that of its parent before it."""
    name, parent = str(job["name"]), job.get("parentJobName")
    simple = str(job.get("simpleName") or name)
    return simple if parent and name == f"{parent}.{simple}" else name


def _unknown(thing: Mapping[str, Any], known: Known) -> dict[str, Any]:
    """Give the facets that are not known; a description is one, too."""
    facets = {name: body for name, body in (thing.get("facets") or {}).items() if isinstance(body, dict)}
    if description := thing.get("description"):
        facets.setdefault("documentation", {"description": description})
    return {name: body for name, body in facets.items() if _is_new(name, known)}


def _is_new(name: str, known: Known) -> bool:
    return name not in known.facets and not (known.has_runs and name in _OF_RUNS)


#: Facets of runs' datasets and jobs that are kept otherwise than as they were sent.
_OF_RUNS: Collection[str] = frozenset({
    "schema", "symlinks", "columnLineage", "lineage", "version", "lifecycleStateChange", "dataSource", "storage",
    "jobType",
})  # fmt: skip


def _field(field: Mapping[str, Any]) -> dict[str, Any]:
    return {key: field[key] for key in ("name", "type", "description") if field.get(key)}


def _ids(ids: Any) -> list[dict[str, str]]:
    return [{"namespace": one["namespace"], "name": one["name"]} for one in ids or ()]


def _time(thing: Mapping[str, Any]) -> int:
    return parse_time(str(thing.get("updatedAt") or thing.get("createdAt")))[0]
