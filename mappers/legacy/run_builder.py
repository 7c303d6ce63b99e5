"""Builds OpenLineage events from a legacy run."""

import uuid
from typing import NamedTuple

from mappers.canonical_json import JsonObject
from mappers.legacy.body_fields import BodyFields, Timestamp
from mappers.legacy.names import JobName, LegacyNamespaces, job_name
from mappers.openlineage.event_builder import build_event, custom_facet, custom_facets

TERMINAL = frozenset({"COMPLETE", "FAIL", "ABORT"})

#: The states of OpenLineage in the words of schedulers, two-letter codes of Autosys reports included.
_WORDS = {
    "START": "START STARTED STARTING ST",
    "RUNNING": "RUNNING RU",
    "COMPLETE": "COMPLETE COMPLETED SUCCESS SUCCEEDED SU DONE FINISHED",
    "FAIL": "FAIL FAILED FAILURE FA ERROR",
    "ABORT": "ABORT ABORTED TERMINATED TE KILLED CANCELLED CANCELED",
    "OTHER": "OTHER",
}
EVENT_TYPES = {word: event_type for event_type, words in _WORDS.items() for word in words.split()}


class LegacyRun(NamedTuple):
    """What a body says of a run at one time; facets are values still to be written as such."""

    event_type: str
    at: Timestamp
    start: Timestamp | None
    run_id: str
    run_facets: JsonObject
    job: JobName
    job_facets: JsonObject
    inputs: list[JsonObject]
    outputs: list[JsonObject]
    producer: str | None = None


def parse_event_type(body: BodyFields, *keys: str) -> tuple[str, str]:
    """Read a state: the word that is sent, and the event type it stands for."""
    word = body.required(*keys).upper()
    event_type = EVENT_TYPES.get(word)
    if event_type is None:
        body.notes.append(f"{body.path_to(keys[0])} {word[:64]!r} is no state of a run: read as OTHER")
    return word, event_type or "OTHER"


def derive_run_id(job: JobName, start: Timestamp) -> str:
    """Name a run that has no id of its own by its job and its start."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "\0".join((job.namespace, job.name, str(start.micros)))))


def build_run_events(run: LegacyRun, names: LegacyNamespaces) -> list[bytes]:
    """Write the event of a run, and before it the START that it tells about.

    A box is written as a facet of its jobs and not as the parent of their runs: that would need the id of the
    box's run, which nobody knows, and every id made up for it would be a run that never ends.
    """
    job = {"namespace": run.job.namespace, "name": run.job.name}
    job_facets = custom_facets("JobFacet", run.job_facets)
    if run.job.boxes:
        job_facets["lineageBridge_boxes"] = custom_facet("JobFacet", {"boxes": list(run.job.boxes)})
    run_facets = custom_facets("RunFacet", _with_parent(run.run_facets, names))
    event = {
        "eventType": run.event_type,
        "run": {"runId": run.run_id, "facets": run_facets},
        "job": {**job, "facets": job_facets},
        "inputs": run.inputs,
        "outputs": run.outputs,
    }
    events = [build_event("RunEvent", run.at.text, run.producer, event)]
    if run.start is not None and run.start.micros < run.at.micros:
        started = {"eventType": "START", "run": {"runId": run.run_id}, "job": job}
        events.insert(0, build_event("RunEvent", run.start.text, run.producer, started))
    return events


def _with_parent(facets: JsonObject, names: LegacyNamespaces) -> JsonObject:
    """Name the job of a parent run as all jobs are named."""
    parent = facets.get("parent")
    if not isinstance(parent, dict):
        return facets
    job = parent.get("job")
    if not isinstance(job, dict) or not all(isinstance(job.get(key), str) for key in ("namespace", "name")):
        return facets
    named = job_name(job["namespace"], job["name"], names, "run.facets.parent.job.name")
    job = {**job, "namespace": named.namespace, "name": named.name}
    return {**facets, "parent": {**parent, "job": job}}
