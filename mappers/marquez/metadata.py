"""Reconstructs events from the dataset and job lists of Marquez."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from mappers.marquez.events import PRODUCER, add_base_fields, dataset_event, job_event
from mappers.timestamps import parse_timestamp

#: Producer in events that are reconstructed from lists.
RECONSTRUCTED = f"{PRODUCER}#reconstructed"
_ANONYMOUS = "anonymous"
#: Facets that users edit in Marquez; all others are in the events, if there are any.
_MANUAL_FACETS = frozenset({"documentation", "ownership", "tags"})
#: Facets that describe one event: a list shows them for every alias, and after later events.
_EVENT_FACETS = frozenset({"lifecycleStateChange"})


class StoredMetadata(NamedTuple):
    """Stored metadata of a dataset or job: whether there are events, and the names of its facets."""

    has_events: bool = False
    facets: frozenset[str] = frozenset()


def dataset_event_from_list(dataset: Mapping[str, Any], stored_metadata: StoredMetadata) -> dict[str, Any] | None:
    """Build an event with the dataset metadata that the store lacks, or return None if there is nothing to add.

    If the dataset has events, only facets that users edit are included.
    """
    facets = _missing_facets(dataset, stored_metadata)
    fields = dataset.get("fields") or []
    if fields and not stored_metadata.has_events:
        facets.setdefault("schema", {"fields": [_schema_field(field) for field in fields]})
    tags_and_fields = [(tag, None) for tag in sorted(dataset.get("tags") or ())]
    tags_and_fields += [(tag, field["name"]) for field in fields for tag in sorted(field.get("tags") or ())]
    facets |= _tags_facet(tags_and_fields, stored_metadata)
    if not facets and stored_metadata.has_events:
        return None
    body = {"namespace": dataset["namespace"], "name": dataset["name"], "facets": add_base_fields(facets)}
    return {**dataset_event(body, _last_change_micros(dataset)), "producer": RECONSTRUCTED}


def job_event_from_list(
    job: Mapping[str, Any], name: str, owner: str | None, stored_metadata: StoredMetadata
) -> dict[str, Any] | None:
    """Build an event with the job metadata that the store lacks, or return None if there is nothing to add.

    If the job has no events, its inputs and outputs are included.
    """
    facets = _missing_facets(job, stored_metadata)
    if owner and owner != _ANONYMOUS and "ownership" not in stored_metadata.facets:
        facets.setdefault("ownership", {"owners": [{"name": owner}]})
    facets |= _tags_facet([(tag, None) for tag in sorted(job.get("tags") or ())], stored_metadata)
    inputs = [] if stored_metadata.has_events else _dataset_names(job.get("inputs"))
    outputs = [] if stored_metadata.has_events else _dataset_names(job.get("outputs"))
    # Marquez creates such a job for a parent whose own events use another name.
    is_placeholder = bool(job.get("latestRun")) and not (inputs or outputs)
    if not facets and (stored_metadata.has_events or is_placeholder):
        return None
    body = {"namespace": job["namespace"], "name": name, "facets": add_base_fields(facets)}
    return {**job_event(body, inputs, outputs, _last_change_micros(job)), "producer": RECONSTRUCTED}


def possible_job_names(job: Mapping[str, Any]) -> list[str]:
    """List the names that events may use for a job; Marquez may have prefixed the name with the parent's name."""
    name, parent = str(job["name"]), job.get("parentJobName")
    simple_name = str(job.get("simpleName") or name)
    if parent and name == f"{parent}.{simple_name}":
        return [name, simple_name]
    return [name]


def is_alias(dataset: Mapping[str, Any]) -> bool:
    """Return whether a dataset is listed under a name that is not its physical name.

    Such a name comes from a symlink, or from a user who created the dataset manually.
    """
    return dataset.get("physicalName") not in (None, dataset.get("name"))


def _missing_facets(entity: Mapping[str, Any], stored_metadata: StoredMetadata) -> dict[str, Any]:
    """Return the facets that are not stored; a description counts as a documentation facet."""
    facets = {
        name: body
        for name, body in (entity.get("facets") or {}).items()
        if isinstance(body, dict) and name not in _EVENT_FACETS
    }
    if description := entity.get("description"):
        facets.setdefault("documentation", {"description": description})
    return {
        name: body
        for name, body in facets.items()
        if name not in stored_metadata.facets and (name in _MANUAL_FACETS or not stored_metadata.has_events)
    }


def _tags_facet(tags_and_fields: Sequence[tuple[str, str | None]], stored_metadata: StoredMetadata) -> dict[str, Any]:
    if not tags_and_fields or "tags" in stored_metadata.facets:
        return {}
    entries = []
    for tag, field in tags_and_fields:
        entry = {"key": tag, "value": "true", "source": "MARQUEZ"}
        entries.append({**entry, "field": field} if field else entry)
    return {"tags": {"tags": entries}}


def _schema_field(field: Mapping[str, Any]) -> dict[str, Any]:
    return {key: field[key] for key in ("name", "type", "description") if field.get(key)}


def _dataset_names(dataset_ids: Any) -> list[dict[str, str]]:
    return [{"namespace": dataset_id["namespace"], "name": dataset_id["name"]} for dataset_id in dataset_ids or ()]


def _last_change_micros(entity: Mapping[str, Any]) -> int:
    """Return the time of the last change, or 0 if the time is out of range, for example because of a wrong unit."""
    for key in ("updatedAt", "createdAt"):
        with suppress(ValueError):
            micros, _ = parse_timestamp(str(entity.get(key)))
            return micros
    return 0
