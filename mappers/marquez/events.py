"""Builds events that Marquez accepts."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from mappers.canonical_json import drop_nulls
from mappers.timestamps import format_timestamp

#: What must be there, by whose facet it is, and what says nothing in its place.
_NEEDED: dict[str, dict[str, dict[str, Any]]] = {
    "run": {"nominalTime": {"nominalStartTime": "1970-01-01T00:00:00Z"}, "parent": {"run": {}, "job": {}}},
    "job": {"documentation": {"description": ""}, "sql": {"query": ""}},
    "dataset": {"documentation": {"description": ""}},
    "own": {},
}
#: Lists whose items must have names.
_NAMED: dict[str, tuple[str, tuple[str, ...]]] = {
    "schema": ("fields", ("name",)),
    "symlinks": ("identifiers", ("namespace", "name")),
}


def accepted_facets(facets: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Give facets as Marquez takes them: a deletion with what it insists on, and without those that lack it."""
    found = {}
    for name, facet in facets.items():
        if not isinstance(facet, dict):
            continue
        told = _deleted(facet, _NEEDED[owner].get(name, {})) if facet.get("_deleted") is True else facet
        if _is_whole(told, _NEEDED[owner].get(name, {})) and (owner != "dataset" or _is_named(name, told)):
            found[name] = told
    return found


def _deleted(facet: Mapping[str, Any], needed: Mapping[str, Any]) -> dict[str, Any]:
    return {**{key: value for key, value in needed.items() if value != {}}, **facet}


def _is_whole(facet: Mapping[str, Any], needed: Mapping[str, Any]) -> bool:
    return all(facet.get(key) is not None for key in needed)


def _is_named(name: str, facet: Mapping[str, Any]) -> bool:
    of, keys = _NAMED.get(name, ("", ()))
    items = facet.get(of) or ()
    return all(isinstance(one, dict) and all(one.get(key) for key in keys) for one in items)


PRODUCER = "https://github.com/lineage-bridge/lineage-bridge"
_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
_ANY_FACET = f"{_SPEC}BaseFacet"
_NUL = re.compile("\0")
RUNNING = "RUNNING"
_STATES = {"COMPLETE": "COMPLETED", "FAIL": "FAILED", "ABORT": "ABORTED"}


def run_event(body: bytes, micros: int, run_uuid: str) -> dict[str, Any]:
    """Give an event of a run with all that Marquez insists on; its kind is in the address of its schema."""
    event = _normalize(_plain(msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"))), micros, "RunEvent")
    event["run"] = {**event["run"], "runId": run_uuid}
    return event


def job_event(job: Mapping[str, Any], inputs: list[Any], outputs: list[Any], micros: int) -> dict[str, Any]:
    """Give what is declared of a job."""
    return _normalize({"job": dict(job), "inputs": inputs, "outputs": outputs}, micros, "JobEvent")


def dataset_event(dataset: Mapping[str, Any], micros: int) -> dict[str, Any]:
    """Give what is said of a dataset beside its runs."""
    return _normalize({"dataset": dict(dataset)}, micros, "DatasetEvent")


def add_base_fields(facets: Mapping[str, Any]) -> dict[str, Any]:
    """Give each facet its producer and the address of its schema, without which Marquez refuses the whole event."""
    return {name: {"_producer": PRODUCER, "_schemaURL": _ANY_FACET, **facet} for name, facet in facets.items()}


def run_state(event: Mapping[str, Any]) -> str:
    """Give the state in which an event leaves a run."""
    return _STATES.get(str(event.get("eventType") or "").upper(), RUNNING)


def _normalize(event: dict[str, Any], micros: int, kind: str) -> dict[str, Any]:
    told: dict[str, Any] = drop_nulls(event)
    url = str(told.get("schemaURL") or "")
    told["schemaURL"] = url if url.endswith(f"/{kind}") else f"{_SPEC}{kind}"
    told["producer"] = told.get("producer") or PRODUCER
    told["eventTime"] = format_timestamp(micros)
    for owner in ("run", "job", "dataset"):
        if owner in told:
            told[owner] = _normalize_facets(told[owner], owner)
    for side in ("inputs", "outputs") if kind != "DatasetEvent" else ():
        told[side] = [_normalize_facets(one, "dataset") for one in told.get(side) or ()]
    return told


def _normalize_facets(thing: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Give a thing with its facets as Marquez takes them."""
    kinds = {"facets": owner, "inputFacets": "own", "outputFacets": "own"}
    return {
        **thing,
        **{key: add_base_fields(accepted_facets(thing[key], of)) for key, of in kinds.items() if key in thing},
    }


def _plain(value: Any) -> Any:
    """Replace what no text of PostgreSQL holds."""
    if isinstance(value, str):
        return _NUL.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_plain(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value
