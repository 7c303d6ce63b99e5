"""Reconstructs events from the dataset and job lists of Marquez."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from mappers.marquez.events import PRODUCER, add_base_fields, dataset_event, job_event
from mappers.timestamps import parse_timestamp

#: Who says what was read from lists, and not from an event.
RECONSTRUCTED = f"{PRODUCER}#reconstructed"
_ANONYMOUS = "anonymous"
#: Facets that people write, whoever else tells of a thing: all others are known from where it was told.
_OF_PEOPLE = frozenset({"documentation", "ownership", "tags"})


class StoredMetadata(NamedTuple):
    """What the store knows of a dataset or job: whether anything tells of it, and which facets it has."""

    is_told: bool = False
    facets: frozenset[str] = frozenset()


def dataset_event_from_list(dataset: Mapping[str, Any], known: StoredMetadata) -> dict[str, Any] | None:
    """Give what is said of a dataset and not known; of one that is told of, only what people say."""
    facets = _unknown(dataset, known)
    fields = dataset.get("fields") or []
    if fields and not known.is_told:
        facets.setdefault("schema", {"fields": [_field(one) for one in fields]})
    labels = [(tag, None) for tag in sorted(dataset.get("tags") or ())]
    labels += [(tag, one["name"]) for one in fields for tag in sorted(one.get("tags") or ())]
    facets |= _tags(labels, known)
    if not facets and known.is_told:
        return None
    body = {"namespace": dataset["namespace"], "name": dataset["name"], "facets": add_base_fields(facets)}
    return {**dataset_event(body, _time(dataset)), "producer": RECONSTRUCTED}


def job_event_from_list(
    job: Mapping[str, Any], name: str, owner: str | None, known: StoredMetadata
) -> dict[str, Any] | None:
    """Give what is said of a job and not known; one that nothing tells of has its datasets from an event of a job."""
    facets = _unknown(job, known)
    if owner and owner != _ANONYMOUS and "ownership" not in known.facets:
        facets.setdefault("ownership", {"owners": [{"name": owner}]})
    facets |= _tags([(tag, None) for tag in sorted(job.get("tags") or ())], known)
    inputs, outputs = ([], []) if known.is_told else (_ids(job.get("inputs")), _ids(job.get("outputs")))
    is_made_up = job.get("latestRun") and not (inputs or outputs)  # a parent that it knows under another name
    if not facets and (known.is_told or is_made_up):
        return None
    body = {"namespace": job["namespace"], "name": name, "facets": add_base_fields(facets)}
    return {**job_event(body, inputs, outputs, _time(job)), "producer": RECONSTRUCTED}


def possible_job_names(job: Mapping[str, Any]) -> list[str]:
    """Give the names that events may have for a job: that of its parent may be put before it, or be part of it."""
    name, parent = str(job["name"]), job.get("parentJobName")
    simple = str(job.get("simpleName") or name)
    return [name, simple] if parent and name == f"{parent}.{simple}" else [name]


def is_alias(dataset: Mapping[str, Any]) -> bool:
    """Tell whether a dataset is shown under a name that is not that of what lies there.

    So is one under the name that a symlink gives it, and one that was made by hand and called so.
    """
    return dataset.get("physicalName") not in (None, dataset.get("name"))


def _unknown(thing: Mapping[str, Any], known: StoredMetadata) -> dict[str, Any]:
    """Give the facets that are not known; a description is one, too."""
    facets = {name: body for name, body in (thing.get("facets") or {}).items() if isinstance(body, dict)}
    if description := thing.get("description"):
        facets.setdefault("documentation", {"description": description})
    return {
        name: body
        for name, body in facets.items()
        if name not in known.facets and (name in _OF_PEOPLE or not known.is_told)
    }


def _tags(labels: Sequence[tuple[str, str | None]], known: StoredMetadata) -> dict[str, Any]:
    tags = [
        {"key": tag, "value": "true", "source": "MARQUEZ", **({"field": field} if field else {})}
        for tag, field in labels
    ]
    return {"tags": {"tags": tags}} if tags and "tags" not in known.facets else {}


def _field(field: Mapping[str, Any]) -> dict[str, Any]:
    return {key: field[key] for key in ("name", "type", "description") if field.get(key)}


def _ids(ids: Any) -> list[dict[str, str]]:
    return [{"namespace": one["namespace"], "name": one["name"]} for one in ids or ()]


def _time(thing: Mapping[str, Any]) -> int:
    """Give the time of the last change; one beyond all calendars, of a clock that counted otherwise, is none."""
    for key in ("updatedAt", "createdAt"):
        with suppress(ValueError):
            return parse_timestamp(str(thing.get(key)))[0]
    return 0
