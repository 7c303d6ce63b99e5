"""Builds OpenLineage events from a legacy run."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mappers.canonical_json import JsonObject
from mappers.legacy.body_fields import BodyFields, Timestamp
from mappers.legacy.names import JobName, LegacyNamespaces, resolve_job_name
from mappers.openlineage.event_builder import build_event, custom_facet, custom_facets

TERMINAL = frozenset({"COMPLETE", "FAIL", "ABORT"})

#: Scheduler states by OpenLineage event type, including the two-letter codes of Autosys reports.
_STATES = {
    "START": "START STARTED STARTING ST",
    "RUNNING": "RUNNING RU",
    "COMPLETE": "COMPLETE COMPLETED SUCCESS SUCCEEDED SU DONE FINISHED",
    "FAIL": "FAIL FAILED FAILURE FA ERROR",
    "ABORT": "ABORT ABORTED TERMINATED TE KILLED CANCELLED CANCELED",
    "OTHER": "OTHER",
}
EVENT_TYPES = {state: event_type for event_type, states in _STATES.items() for state in states.split()}


class LegacyRun(NamedTuple):
    """The state of a run at one time; `run_facets` and `job_facets` contain values that become facets."""

    event_type: str
    time: Timestamp
    start: Timestamp | None
    run_id: str
    job: JobName
    run_facets: Mapping[str, Any] = {}
    job_facets: Mapping[str, Any] = {}
    inputs: Sequence[JsonObject] = ()
    outputs: Sequence[JsonObject] = ()
    producer: str | None = None


def parse_event_type(body: BodyFields, *keys: str) -> tuple[str, str]:
    """Return the state in upper case, and the matching OpenLineage event type."""
    state = body.required(*keys).upper()
    event_type = EVENT_TYPES.get(state)
    if event_type is None:
        body.notes.append(f"{body.path_to(keys[0])} {state[:64]!r} is not a run state: read as OTHER")
    return state, event_type or "OTHER"


def derive_run_id(job: JobName, start: Timestamp) -> str:
    """Derive the id of a run from its job and its start time."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "\0".join((job.namespace, job.name, str(start.micros)))))


def build_run_events(run: LegacyRun, namespaces: LegacyNamespaces) -> list[bytes]:
    """Build the event of a run, preceded by a START event if its start time is known.

    Boxes become a facet of the job, not the parent of the run, because the run ids of the boxes are unknown: an
    invented id would create a run that never ends.
    """
    job = {"namespace": run.job.namespace, "name": run.job.name}
    job_facets = custom_facets("JobFacet", run.job_facets)
    if run.job.boxes:
        job_facets["lineageBridge_boxes"] = custom_facet("JobFacet", {"boxes": list(run.job.boxes)})
    run_facets = custom_facets("RunFacet", _with_normalized_parent(run.run_facets, namespaces))
    event = {
        "eventType": run.event_type,
        "run": {"runId": run.run_id, "facets": run_facets},
        "job": {**job, "facets": job_facets},
        "inputs": run.inputs,
        "outputs": run.outputs,
    }
    events = [build_event("RunEvent", run.time.text, run.producer, event)]
    if run.start is not None and run.start.micros < run.time.micros:
        start_event = {"eventType": "START", "run": {"runId": run.run_id}, "job": job}
        events.insert(0, build_event("RunEvent", run.start.text, run.producer, start_event))
    return events


def _with_normalized_parent(facets: Mapping[str, Any], namespaces: LegacyNamespaces) -> Mapping[str, Any]:
    """Normalize the job name in the parent facet."""
    parent = facets.get("parent")
    if not isinstance(parent, dict):
        return facets
    job = parent.get("job")
    if not isinstance(job, dict) or not all(isinstance(job.get(key), str) for key in ("namespace", "name")):
        return facets
    name = resolve_job_name(job["namespace"], job["name"], namespaces, "run.facets.parent.job.name")
    job = {**job, "namespace": name.namespace, "name": name.name}
    return {**facets, "parent": {**parent, "job": job}}
