"""Reconstructs events from the dataset and job lists of Marquez."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from mappers.marquez.events import PRODUCER, add_base_fields, dataset_event, job_event
from mappers.timestamps import parse_timestamp

#: Producer of events that are reconstructed from lists.
RECONSTRUCTED = f"{PRODUCER}#reconstructed"
_ANONYMOUS = "anonymous"
#: Facets that people write in Marquez; if there are events, all others are known from them.
_MANUAL_FACETS = frozenset({"documentation", "ownership", "tags"})


class StoredMetadata(NamedTuple):
    """Metadata of a dataset or job in the store: whether it has events, and its facets."""

    has_events: bool = False
    facets: frozenset[str] = frozenset()


def dataset_event_from_list(dataset: Mapping[str, Any], stored: StoredMetadata) -> dict[str, Any] | None:
    """Event with metadata of a dataset that is not stored; only manual facets if the dataset has events."""
    facets = _missing_facets(dataset, stored)
    fields = dataset.get("fields") or []
    if fields and not stored.has_events:
        facets.setdefault("schema", {"fields": [_field(field) for field in fields]})
    labels = [(tag, None) for tag in sorted(dataset.get("tags") or ())]
    labels += [(tag, field["name"]) for field in fields for tag in sorted(field.get("tags") or ())]
    facets |= _tags(labels, stored)
    if not facets and stored.has_events:
        return None
    body = {"namespace": dataset["namespace"], "name": dataset["name"], "facets": add_base_fields(facets)}
    return {**dataset_event(body, _time(dataset)), "producer": RECONSTRUCTED}


def job_event_from_list(
    job: Mapping[str, Any], name: str, owner: str | None, stored: StoredMetadata
) -> dict[str, Any] | None:
    """Event with metadata of a job that is not stored; a job without events gets its inputs and outputs, too."""
    facets = _missing_facets(job, stored)
    if owner and owner != _ANONYMOUS and "ownership" not in stored.facets:
        facets.setdefault("ownership", {"owners": [{"name": owner}]})
    facets |= _tags([(tag, None) for tag in sorted(job.get("tags") or ())], stored)
    inputs, outputs = ([], []) if stored.has_events else (_ids(job.get("inputs")), _ids(job.get("outputs")))
    is_placeholder = job.get("latestRun") and not (inputs or outputs)  # a parent that has another name in events
    if not facets and (stored.has_events or is_placeholder):
        return None
    body = {"namespace": job["namespace"], "name": name, "facets": add_base_fields(facets)}
    return {**job_event(body, inputs, outputs, _time(job)), "producer": RECONSTRUCTED}


def possible_job_names(job: Mapping[str, Any]) -> list[str]:
    """Names that events may use for a job: Marquez may have added the name of the parent, or not."""
    name, parent = str(job["name"]), job.get("parentJobName")
    simple = str(job.get("simpleName") or name)
    return [name, simple] if parent and name == f"{parent}.{simple}" else [name]


def is_alias(dataset: Mapping[str, Any]) -> bool:
    """True if a dataset is listed under a name that is not its physical name.

    This is the case for a name from a symlink, and for a dataset that was created by hand under another name.
    """
    return dataset.get("physicalName") not in (None, dataset.get("name"))


def _missing_facets(entity: Mapping[str, Any], stored: StoredMetadata) -> dict[str, Any]:
    """Facets that are not stored; a description counts as a facet."""
    facets = {name: body for name, body in (entity.get("facets") or {}).items() if isinstance(body, dict)}
    if description := entity.get("description"):
        facets.setdefault("documentation", {"description": description})
    return {
        name: body
        for name, body in facets.items()
        if name not in stored.facets and (name in _MANUAL_FACETS or not stored.has_events)
    }


def _tags(labels: Sequence[tuple[str, str | None]], stored: StoredMetadata) -> dict[str, Any]:
    tags = [
        {"key": tag, "value": "true", "source": "MARQUEZ", **({"field": field} if field else {})}
        for tag, field in labels
    ]
    return {"tags": {"tags": tags}} if tags and "tags" not in stored.facets else {}


def _field(field: Mapping[str, Any]) -> dict[str, Any]:
    return {key: field[key] for key in ("name", "type", "description") if field.get(key)}


def _ids(ids: Any) -> list[dict[str, str]]:
    return [{"namespace": reference["namespace"], "name": reference["name"]} for reference in ids or ()]


def _time(entity: Mapping[str, Any]) -> int:
    """Time of the last change; 0 if it is out of range, as from a clock that counts in other units."""
    for key in ("updatedAt", "createdAt"):
        with suppress(ValueError):
            return parse_timestamp(str(entity.get(key)))[0]
    return 0
