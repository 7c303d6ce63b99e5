"""POST /lineage: an event is parsed, logged, and then applied to the model, without a common transaction."""

from collections.abc import Iterator
from typing import Any

import msgspec

from tests.standins.marquez import dataset_rows, job_rows, job_versions, names, run_rows, shapes
from tests.standins.marquez.errors import Conflict, InvalidName, html_error, invalid_body, validation_errors
from tests.standins.marquez.exchange import ApiResponse, Call
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import INPUT, OUTPUT, Job, JobFacet, JobVersion, Json, Row, Run

#: Maximum length of a string, in characters.
_MAX_LENGTH = 20_000_000


def post(call: Call) -> ApiResponse:
    """Accept an event."""
    body = _parse(call.raw)
    kind, event = _read(body)
    if b"\\u0000" in call.raw and any("\0" in text for text in _strings(body)):  # PostgreSQL rejects NUL
        raise html_error(500)
    store = call.store
    time = event["eventTime"].micros
    store.log.append(Row(len(store.log), time, kind, shapes.to_logged(event)))
    if call.log_only:
        raise html_error(500)
    try:
        {"RunEvent": _run_event, "JobEvent": _job_event, "DatasetEvent": _dataset_event}[kind](store, event, time)
    except InvalidName:
        raise html_error(400) from None
    except Conflict:
        raise html_error(500) from None
    return ApiResponse(201)


def _parse(raw: bytes) -> Any:
    if not raw.strip():
        return None
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise invalid_body(str(error)) from None
    if len(raw) > _MAX_LENGTH and any(len(text) > _MAX_LENGTH for text in _strings(body)):
        raise invalid_body(f"String value length exceeds the maximum allowed ({_MAX_LENGTH})")
    return body


def _strings(value: Any) -> Iterator[str]:
    """All strings in a value, including keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _read(body: Any) -> tuple[str, Json]:
    if body is None:
        raise validation_errors(["The request body must not be null"])
    url = body.get("schemaURL") if isinstance(body, dict) else None
    kind = str(url or "").rpartition("/")[2]
    shape = shapes.EVENTS.get(kind) or shapes.EVENTS[kind := "RunEvent"]
    try:
        event: Json = shapes.read(body, shape)
    except shapes.Unreadable as error:
        raise invalid_body(str(error)) from None
    if faults := shapes.faults(event, shape):
        raise validation_errors(faults)
    return kind, event


def _run_event(store: Store, event: Json, time: int) -> None:
    job_body = event["job"]
    namespace = store.namespace(names.stored_namespace(job_body["namespace"]), time).name
    run_id = names.run_uuid(event["run"]["runId"])
    parent = job_rows.find_or_create_parent(store, event, namespace, time)
    inputs = dataset_rows.dataset_names(event["inputs"])
    job = job_rows.write(store, job_body, time, inputs, parent, run_id)
    run = run_rows.write(store, event, run_id, job, time)
    _job_facets(job, job_body, time, run)
    _datasets(store, event, job, run, time)
    state = run_rows.run_state(event["eventType"])
    if job_rows.is_streaming(job_body):
        if not _ends_without_datasets(event):
            job_versions.finish_streaming(store, job, run, time, state)
    elif state in run_rows.DONE:
        job_versions.finish(store, job, run, time, state)


def _datasets(store: Store, event: Json, job: Job, run: Run, time: int) -> None:
    is_bare_end = job_rows.is_streaming(event["job"]) and _ends_without_datasets(event)
    for member, type_ in (("inputs", INPUT), ("outputs", OUTPUT)):
        for dataset_body in event[member] or ():
            dataset_rows.write(store, dataset_body, time, run, type_ == INPUT)
        if not event[member] and not is_bare_end:
            job_versions.unset_current(job, type_)


def _ends_without_datasets(event: Json) -> bool:
    """Whether a run ends without naming a dataset."""
    return run_rows.run_state(event["eventType"]) in run_rows.DONE and not event["inputs"] and not event["outputs"]


def _job_event(store: Store, event: Json, time: int) -> None:
    job_body = event["job"]
    store.namespace(names.stored_namespace(job_body["namespace"]), time)
    job = job_rows.write(store, job_body, time, [], None, None)
    inputs = [dataset_rows.write(store, dataset, time, None, True) for dataset in event["inputs"] or ()]
    outputs = [dataset_rows.write(store, dataset, time, None, False) for dataset in event["outputs"] or ()]
    _job_facets(job, job_body, time, None, job_versions.declare(store, job, inputs, outputs, time))


def _dataset_event(store: Store, event: Json, time: int) -> None:
    store.namespace(names.stored_namespace(event["dataset"]["namespace"]), time)
    version = dataset_rows.write(store, event["dataset"], time, None, False)
    version.dataset.current, version.dataset.updated = version, store.now()


def _job_facets(job: Job, job_body: Json, time: int, run: Run | None, version: JobVersion | None = None) -> None:
    for name, value in (job_body["facets"] or {}).items():
        if value is not None:
            job.facets.append(JobFacet(time, name, shapes.to_stored(value), run, version))
