"""Builds events that Marquez accepts.

Marquez parses some facets into classes, and rejects an event if a facet lacks a member that the class requires.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from mappers.canonical_json import drop_nulls
from mappers.timestamps import format_timestamp

PRODUCER = "https://github.com/lineage-bridge/lineage-bridge"
_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
_ANY_FACET = f"{_SPEC}BaseFacet"
_NUL, _ENCODED_NUL = re.compile("\0"), rb"\u0000"
#: Smallest float that is encoded with an exponent.
_MIN_WITH_EXPONENT = 10**16
RUNNING, COMPLETED = "RUNNING", "COMPLETED"
_STATES = {"COMPLETE": COMPLETED, "FAIL": "FAILED", "ABORT": "ABORTED"}
#: Required members by owner and facet, with neutral values; "io" stands for facets of an input or output.
_REQUIRED_MEMBERS: dict[str, dict[str, dict[str, Any]]] = {
    "run": {"nominalTime": {"nominalStartTime": "1970-01-01T00:00:00Z"}, "parent": {"run": {}, "job": {}}},
    "job": {"documentation": {"description": ""}, "sql": {"query": ""}},
    "dataset": {"documentation": {"description": ""}},
    "io": {},
}
#: Lists whose items require names.
_REQUIRED_ITEM_MEMBERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "schema": ("fields", ("name",)),
    "symlinks": ("identifiers", ("namespace", "name")),
}


def accepted_facets(facets: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Complete facet deletions with required members, and drop all facets that lack required members."""
    accepted = {}
    for name, facet in facets.items():
        if not isinstance(facet, dict):
            continue
        required_members = _REQUIRED_MEMBERS[owner].get(name, {})
        completed_facet = _complete_deletion(facet, required_members) if facet.get("_deleted") is True else facet
        if _is_complete(completed_facet, required_members) and (
            owner != "dataset" or _has_item_names(name, completed_facet)
        ):
            accepted[name] = completed_facet
    return accepted


def _complete_deletion(facet: Mapping[str, Any], required_members: Mapping[str, Any]) -> dict[str, Any]:
    return {**{key: value for key, value in required_members.items() if value != {}}, **facet}


def _is_complete(facet: Mapping[str, Any], required_members: Mapping[str, Any]) -> bool:
    return all(facet.get(key) is not None for key in required_members)


def _has_item_names(name: str, facet: Mapping[str, Any]) -> bool:
    if name not in _REQUIRED_ITEM_MEMBERS:
        return True
    list_name, keys = _REQUIRED_ITEM_MEMBERS[name]
    items = facet.get(list_name) or ()
    if not isinstance(items, Sequence):
        return False
    return all(isinstance(item, dict) and all(item.get(key) for key in keys) for item in items)


def run_event(body: bytes, micros: int, run_uuid: str) -> dict[str, Any]:
    """Build a run event with all members that Marquez requires."""
    decoded_event = msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"))
    if _ENCODED_NUL in body:
        decoded_event = _replace_nul(decoded_event)
    event = _normalized_event(decoded_event, micros, "RunEvent")
    event["run"] = {**event["run"], "runId": run_uuid}
    return event


def job_event(job: Mapping[str, Any], inputs: list[Any], outputs: list[Any], micros: int) -> dict[str, Any]:
    """Build the event that declares a job."""
    return _normalized_event({"job": dict(job), "inputs": inputs, "outputs": outputs}, micros, "JobEvent")


def dataset_event(dataset: Mapping[str, Any], micros: int) -> dict[str, Any]:
    """Build an event with dataset metadata that does not come from a run."""
    return _normalized_event({"dataset": dict(dataset)}, micros, "DatasetEvent")


def add_base_fields(facets: Mapping[str, Any]) -> dict[str, Any]:
    """Add producer and schema URL to each facet; without them, Marquez rejects the whole event."""
    return {name: {"_producer": PRODUCER, "_schemaURL": _ANY_FACET, **facet} for name, facet in facets.items()}


def run_state(event: Mapping[str, Any]) -> str:
    """Return the Marquez state of a run after an event."""
    return _STATES.get(str(event.get("eventType") or "").upper(), RUNNING)


def restore_exponents(value: Any) -> Any:
    """Convert large integers in a logged event back to the floats that were sent.

    Marquez returns 4.2445638419884667E18 as 4244563841988466700. Without the conversion, the logged event would not
    equal the event that was sent.
    """
    if isinstance(value, dict):
        return {key: restore_exponents(member) for key, member in value.items()}
    if isinstance(value, list):
        return [restore_exponents(element) for element in value]
    is_large = isinstance(value, int) and _MIN_WITH_EXPONENT <= abs(value) <= sys.float_info.max
    if is_large and Decimal(repr(float(value))) == value:
        return float(value)
    return value


def is_streaming(event: Mapping[str, Any]) -> bool:
    """Return whether an event belongs to a streaming job, whose versions Marquez creates during a run."""
    job_type = ((event.get("job") or {}).get("facets") or {}).get("jobType")
    return isinstance(job_type, dict) and str(job_type.get("processingType")).upper() == "STREAMING"


def _normalized_event(event: dict[str, Any], micros: int, kind: str) -> dict[str, Any]:
    """Normalize an event, and set the schema URL from which Marquez determines the kind of the event."""
    normalized: dict[str, Any] = drop_nulls(event)
    url = str(normalized.get("schemaURL") or "")
    normalized["schemaURL"] = url if url.endswith(f"/{kind}") else f"{_SPEC}{kind}"
    normalized["producer"] = normalized.get("producer") or PRODUCER
    normalized["eventTime"] = format_timestamp(micros)
    if kind != "DatasetEvent":
        normalized.pop("dataset", None)  # the store ignores it there, whatever it contains
        for side in ("inputs", "outputs"):
            normalized[side] = [_with_normalized_facets(dataset, "dataset") for dataset in normalized.get(side) or ()]
    for owner in ("run", "job", "dataset"):
        if owner in normalized:
            normalized[owner] = _with_normalized_facets(normalized[owner], owner)
    return normalized


def _with_normalized_facets(entity: Mapping[str, Any], owner: str) -> dict[str, Any]:
    facet_owners = {"facets": owner, "inputFacets": "io", "outputFacets": "io"}
    normalized_facets = {
        key: add_base_fields(accepted_facets(entity[key], facet_owner))
        for key, facet_owner in facet_owners.items()
        if key in entity
    }
    return {**entity, **normalized_facets}


def _replace_nul(value: Any) -> Any:
    """Replace U+0000, which PostgreSQL cannot store."""
    if isinstance(value, str):
        return _NUL.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_replace_nul(key): _replace_nul(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_replace_nul(item) for item in value]
    return value
