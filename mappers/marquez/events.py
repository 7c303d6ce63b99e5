"""Events as Marquez takes them, whatever their producers left out."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from mappers.marquez.known_facets import bearable
from mappers.openlineage.parts import without_nulls
from mappers.when import iso

PRODUCER = "https://github.com/lineage-bridge/lineage-bridge"
_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
_ANY_FACET = f"{_SPEC}BaseFacet"
_NUL = re.compile("\0")
RUNNING = "RUNNING"
_STATES = {"COMPLETE": "COMPLETED", "FAIL": "FAILED", "ABORT": "ABORTED"}


def run_event(body: bytes, micros: int, run_uuid: str) -> dict[str, Any]:
    """Give an event of a run with all that Marquez insists on; its kind is in the address of its schema."""
    event = _told(_plain(msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"))), micros, "RunEvent")
    event["run"] = {**event["run"], "runId": run_uuid}
    return event


def job_event(job: Mapping[str, Any], inputs: list[Any], outputs: list[Any], micros: int) -> dict[str, Any]:
    """Give what is declared of a job."""
    return _told({"job": dict(job), "inputs": inputs, "outputs": outputs}, micros, "JobEvent")


def dataset_event(dataset: Mapping[str, Any], micros: int) -> dict[str, Any]:
    """Give what is said of a dataset beside its runs."""
    return _told({"dataset": dict(dataset)}, micros, "DatasetEvent")


def complete(facets: Mapping[str, Any]) -> dict[str, Any]:
    """Give each facet its producer and the address of its schema, without which Marquez refuses the whole event."""
    return {name: {"_producer": PRODUCER, "_schemaURL": _ANY_FACET, **facet} for name, facet in facets.items()}


def state_of(event: Mapping[str, Any]) -> str:
    """Give the state in which an event leaves a run."""
    return _STATES.get(str(event.get("eventType") or "").upper(), RUNNING)


def _told(event: dict[str, Any], micros: int, kind: str) -> dict[str, Any]:
    told: dict[str, Any] = without_nulls(event)
    url = str(told.get("schemaURL") or "")
    told["schemaURL"] = url if url.endswith(f"/{kind}") else f"{_SPEC}{kind}"
    told["producer"] = told.get("producer") or PRODUCER
    told["eventTime"] = iso(micros)
    for owner in ("run", "job", "dataset"):
        if owner in told:
            told[owner] = _borne(told[owner], owner)
    for side in ("inputs", "outputs") if kind != "DatasetEvent" else ():
        told[side] = [_borne(one, "dataset") for one in told.get(side) or ()]
    return told


def _borne(thing: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Give a thing with its facets as Marquez takes them."""
    kinds = {"facets": owner, "inputFacets": "own", "outputFacets": "own"}
    return {**thing, **{key: complete(bearable(thing[key], of)) for key, of in kinds.items() if key in thing}}


def _plain(value: Any) -> Any:
    """Replace what no text of PostgreSQL holds."""
    if isinstance(value, str):
        return _NUL.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_plain(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value
