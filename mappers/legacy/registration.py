"""Translates registrations of dataset versions, process runs and datasets."""

from mappers.errors import InvalidInput
from mappers.legacy.body_fields import BodyFields, Timestamp, parse_time
from mappers.legacy.datasets import build_dataset
from mappers.legacy.names import (
    DatasetName,
    JobName,
    LegacyNamespaces,
    read_dataset_name,
    read_job_name,
    resolve_job_name,
)
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
_AUTOSYS = "AUTOSYS"
_TIME_KEYS = ("time", "eventTime", "endTime", "startTime")
_RUN_ID_KEYS = ("runId", "run_id")


def translate_request(body: BodyFields, namespaces: LegacyNamespaces, received_at: str) -> list[bytes]:
    """Translate a request to register a dataset; `received_at` is used if the body has no submission time.

    The requested metadata is stored with the request; the dataset does not change until the request is approved.
    """
    name = read_dataset_name(body, namespaces)
    submitter = body.required("submitted_by", "submittedBy")
    time = body.time("submitted_at", "submittedAt") or parse_time(
        received_at, body.path_to("submitted_at"), body.notes
    )
    if (body.text("status") or _PENDING).upper() != _PENDING:
        raise InvalidInput(f"must be {_PENDING} in a request", body.path_to("status"))
    for key in ("reviewer", "comment", "review_comment"):
        _, review_value = body.get(key)
        if review_value is not None:
            raise InvalidInput("belongs to the review, not to the request", body.path_to(key))
    requested_metadata = {key: value for key, value in body.unread_members().items() if not key.startswith("_")}
    content = {**requested_metadata, "submittedBy": submitter, "submittedAt": time.text, "status": _PENDING}
    facets = {"lineageBridge_registration": custom_facet("DatasetFacet", content)}
    return [build_event("DatasetEvent", time.text, None, {"dataset": {**name._asdict(), "facets": facets}})]


def translate_dataset(body: BodyFields, namespaces: LegacyNamespaces) -> list[bytes]:
    """Translate a version of an existing dataset.

    If the body names a job, the version becomes the output of a run, otherwise a DatasetEvent.
    """
    name = read_dataset_name(body, namespaces)
    version = body.required("version")
    status = (body.text("status") or "COMPLETE").upper()
    event_type = EVENT_TYPES.get(status, "COMPLETE")
    time, start = _required_time(body), body.time("startTime")
    run_id, job = _read_run_and_job(body, namespaces)
    if job is None:
        return [_build_version_event(body, name, version, status, event_type, time)]
    output = build_dataset(name, body.unread_members() | {"version": version}, "output", body)
    run_id = run_id or _derive_run_id(body, job, start or time)
    run = LegacyRun(event_type, time, start, run_id, job, outputs=[output])
    return build_run_events(run, namespaces)


def _build_version_event(
    body: BodyFields, name: DatasetName, version: str, status: str, event_type: str, time: Timestamp
) -> bytes:
    """Build the event of a version without a run; a version that is not complete is stored by name only."""
    version_key = "version"
    if event_type != "COMPLETE":
        body.notes.append(
            f"{body.path_to('status')} {status[:64]!r}: the version does not exist, only its name is stored"
        )
        version_key = "attemptedVersion"
    dataset = build_dataset(name, body.unread_members() | {"status": status, version_key: version}, "output", body)
    facets = dataset["facets"] | dataset.pop("outputFacets", {})
    return build_event("DatasetEvent", time.text, None, {"dataset": {**dataset, "facets": facets}})


def _read_run_and_job(body: BodyFields, namespaces: LegacyNamespaces) -> tuple[str | None, JobName | None]:
    """Read the run id and the job name of a version; each of them is a string or a member of an object."""
    _, run = body.get("run")
    run_id = body.object("run").text(*_RUN_ID_KEYS) if isinstance(run, dict) else body.text("run", *_RUN_ID_KEYS)
    _, job = body.get("job")
    if job is None:
        if run_id is not None:
            raise InvalidInput("is missing: a run requires a job", body.path_to("job"))
        return None, None
    if isinstance(job, dict):
        return run_id, read_job_name(body.object("job"), namespaces, default_namespace=_AUTOSYS)
    return run_id, resolve_job_name(_AUTOSYS, body.required("job"), namespaces, body.path_to("job"))


def translate_process(body: BodyFields, namespaces: LegacyNamespaces) -> list[bytes]:
    """Translate a process run; a missing run id is derived from the start time, or else from the event time."""
    job = read_job_name(body, namespaces, default_namespace=_AUTOSYS)
    state, event_type = parse_event_type(body, "status")
    time, start, end = _required_time(body), body.time("startTime"), body.time("endTime")
    if event_type in TERMINAL:
        time = end or time
    elif event_type == "START":
        time = start or time
    run_id = body.text(*_RUN_ID_KEYS) or _derive_run_id(body, job, start or time)
    facet_values = body.unread_members()
    if event_type == "OTHER":
        facet_values["status"] = state
    run = LegacyRun(event_type, time, start, run_id, job, run_facets=facet_values)
    return build_run_events(run, namespaces)


def _derive_run_id(body: BodyFields, job: JobName, start: Timestamp) -> str:
    body.notes.append(f"{body.path_to('runId')} is missing: derived from the job and the time")
    return derive_run_id(job, start)


def _required_time(body: BodyFields) -> Timestamp:
    times = [body.time(key) for key in _TIME_KEYS]
    first_time = next((time for time in times if time is not None), None)
    if first_time is None:
        raise InvalidInput("is missing", body.path_to("time"))
    return first_time
