"""Translates registrations of dataset versions, process runs and datasets."""

from mappers.errors import InvalidInput
from mappers.legacy.body_fields import BodyFields, Timestamp, parse_time
from mappers.legacy.datasets import build_dataset
from mappers.legacy.names import DatasetName, JobName, LegacyNamespaces, job_name, read_dataset_name, read_job_name
from mappers.legacy.run_builder import (
    EVENT_TYPES,
    TERMINAL,
    LegacyRun,
    build_run_events,
    derive_run_id,
    parse_event_type,
)
from mappers.openlineage.event_builder import build_event, custom_facet

_PENDING = "PENDING"


def translate_request(body: BodyFields, names: LegacyNamespaces, received: str) -> list[bytes]:
    """Translate a request; `received` is its time, unless the body says when it was submitted.

    What is asked for stays inside the request: nothing about the dataset changes before somebody approves.
    """
    named = read_dataset_name(body, names)
    submitter = body.required("submitted_by", "submittedBy")
    at = body.time("submitted_at", "submittedAt") or parse_time(received, body.path_to("submitted_at"), body.notes)
    if (body.text("status") or _PENDING).upper() != _PENDING:
        raise InvalidInput(f"a request is {_PENDING}", body.path_to("status"))
    for key in ("reviewer", "comment", "review_comment"):
        if body.get(key)[1] is not None:
            raise InvalidInput("belongs to the review, not to the request", body.path_to(key))
    wanted = {key: value for key, value in body.unread().items() if not key.startswith("_")}
    asked = {**wanted, "submittedBy": submitter, "submittedAt": at.text, "status": _PENDING}
    facets = {"lineageBridge_registration": custom_facet("DatasetFacet", asked)}
    return [build_event("DatasetEvent", at.text, None, {"dataset": {**named._asdict(), "facets": facets}})]


_AUTOSYS = "AUTOSYS"
_TIMES = ("time", "eventTime", "endTime", "startTime")
_RUN_ID = ("runId", "run_id")


def translate_dataset(body: BodyFields, names: LegacyNamespaces) -> list[bytes]:
    """Translate a version of a dataset that exists: with a job, as the output of its run, else by itself."""
    named = read_dataset_name(body, names)
    version = body.required("version")
    status = (body.text("status") or "COMPLETE").upper()
    event_type = EVENT_TYPES.get(status, "COMPLETE")
    at, start = _needed_time(body), body.time("startTime")
    run_id, job = _read_run(body, names)
    if job is None:
        return [_write_version(body, named, version, (status, event_type), at)]
    output = build_dataset(named, body.unread() | {"version": version}, "output", body)
    run_id = run_id or _computed(body, job, start or at)
    return build_run_events(LegacyRun(event_type, at, start, run_id, {}, job, {}, [], [output]), names)


def _write_version(
    body: BodyFields, named: DatasetName, version: str, status: tuple[str, str], at: Timestamp
) -> bytes:
    """Write a version that nobody's run is named for; one that is not there (yet) is no version."""
    word, event_type = status
    key = "version"
    if event_type != "COMPLETE":
        body.notes.append(f"{body.path_to('status')} {word[:64]!r}: the version is not there, only its name is kept")
        key = "attemptedVersion"
    dataset = build_dataset(named, body.unread() | {"status": word, key: version}, "output", body)
    facets = dataset["facets"] | dataset.pop("outputFacets", {})
    return build_event("DatasetEvent", at.text, None, {"dataset": {**dataset, "facets": facets}})


def _read_run(body: BodyFields, names: LegacyNamespaces) -> tuple[str | None, JobName | None]:
    """Read the run and the job that made a version; either may be a name or an object."""
    _, run = body.get("run")
    run_id = body.object("run").text(*_RUN_ID) if isinstance(run, dict) else body.text("run", *_RUN_ID)
    _, job = body.get("job")
    if job is None:
        if run_id is not None:
            raise InvalidInput("is missing: a run requires a job", body.path_to("job"))
        return None, None
    if isinstance(job, dict):
        return run_id, read_job_name(body.object("job"), names, namespace=_AUTOSYS)
    return run_id, job_name(_AUTOSYS, body.required("job"), names, body.path_to("job"))


def translate_process(body: BodyFields, names: LegacyNamespaces) -> list[bytes]:
    """Translate a run of a process; without an id it is named by its start, else by its time."""
    job = read_job_name(body, names, namespace=_AUTOSYS)
    word, event_type = parse_event_type(body, "status")
    at, start, end = _needed_time(body), body.time("startTime"), body.time("endTime")
    if event_type in TERMINAL:
        at = end or at
    elif event_type == "START":
        at = start or at
    run_id = body.text(*_RUN_ID) or _computed(body, job, start or at)
    values = body.unread()
    if event_type == "OTHER":
        values["status"] = word
    return build_run_events(LegacyRun(event_type, at, start, run_id, values, job, {}, [], []), names)


def _computed(body: BodyFields, job: JobName, start: Timestamp) -> str:
    body.notes.append(f"{body.path_to('runId')} is missing: computed from the job and the time")
    return derive_run_id(job, start)


def _needed_time(body: BodyFields) -> Timestamp:
    times = [body.time(key) for key in _TIMES]
    found = next((time for time in times if time is not None), None)
    if found is None:
        raise InvalidInput("is missing", body.path_to("time"))
    return found
