"""POST /lineage: an event is read, kept in the log, and then told to the model; the two do not know of each other."""

import json
from typing import Any

import msgspec

from tests.standins.marquez import dataset_rows, job_rows, job_versions, names, run_rows, shapes
from tests.standins.marquez.errors import Conflict, Illegal, page, unreadable, violated
from tests.standins.marquez.exchange import Answer, Call
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import INPUT, OUTPUT, Job, JobFacet, Json, Row, Run

#: How many characters a text may have.
_LONGEST = 20_000_000


def post(call: Call) -> Answer:
    """Take an event."""
    told = _parsed(call.raw)
    kind, event = _read(told)
    if "\\u0000" in json.dumps(told):
        raise page(500)
    store = call.store
    at = (event["eventTime"]).micros
    store.log.append(Row(len(store.log), at, kind, shapes.shown(event)))
    if call.log_only:
        raise page(500)
    try:
        {"RunEvent": _run_event, "JobEvent": _job_event, "DatasetEvent": _dataset_event}[kind](store, event, at)
    except Illegal:
        raise page(400) from None
    except Conflict:
        raise page(500) from None
    return Answer(201)


def _parsed(raw: bytes) -> Any:
    if not raw.strip():
        return None
    try:
        told = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as broken:
        raise unreadable(str(broken)) from None
    if len(raw) > _LONGEST and _longest(told) > _LONGEST:
        raise unreadable(f"String value length exceeds the maximum allowed ({_LONGEST})")
    return told


def _longest(value: Any) -> int:
    """Measure the longest text in a value."""
    if isinstance(value, dict):
        return max(map(_longest, value.values()), default=0)
    if isinstance(value, list):
        return max(map(_longest, value), default=0)
    return len(value) if isinstance(value, str) else 0


def _read(told: Any) -> tuple[str, Json]:
    if told is None:
        raise violated(["The request body must not be null"])
    url = told.get("schemaURL") if isinstance(told, dict) else None
    kind = str(url or "").rpartition("/")[2]
    shape = shapes.EVENTS.get(kind) or shapes.EVENTS[kind := "RunEvent"]
    try:
        event: Json = shapes.read(told, shape)
    except shapes.Unreadable as bad:
        raise unreadable(str(bad)) from None
    if faults := shapes.faults(event, shape):
        raise violated(faults)
    return kind, event


def _run_event(store: Store, event: Json, at: int) -> None:
    told, event_type = event["job"], event["eventType"]
    namespace = store.namespace(names.replaced(told["namespace"]), at).name
    run_id = names.run_uuid(event["run"]["runId"])
    parent = job_rows.parent_of(store, event, namespace, at)
    inputs = dataset_rows.ids(event["inputs"])
    job = job_rows.write(store, told, at, inputs, parent, run_id)
    run = run_rows.write(store, event, run_id, job, at)
    _job_facets(job, told, at, run)
    _datasets(store, event, job, run, at)
    state = "RUNNING" if event_type is None else run_rows.state_of(event_type)
    if job_rows.is_streaming(told):
        if not _ends_bare(event, state):
            job_versions.finish_streaming(store, job, run, at, state)
    elif state in run_rows.DONE:
        job_versions.finish(store, job, run, at, state)


def _datasets(store: Store, event: Json, job: Job, run: Run, at: int) -> None:
    state = "" if event["eventType"] is None else run_rows.state_of(event["eventType"])
    bare = job_rows.is_streaming(event["job"]) and _ends_bare(event, state)
    for member, type_ in (("inputs", INPUT), ("outputs", OUTPUT)):
        for told in event[member] or ():
            dataset_rows.write(store, told, at, run, type_ == INPUT)
        if not event[member] and not bare:
            job_versions.forget(job, type_)


def _ends_bare(event: Json, state: str) -> bool:
    return state in run_rows.DONE and not event["inputs"] and not event["outputs"]


def _job_event(store: Store, event: Json, at: int) -> None:
    told = event["job"]
    store.namespace(names.replaced(told["namespace"]), at)
    job = job_rows.write(store, told, at, [], None, None)
    read = [dataset_rows.write(store, dataset, at, None, True) for dataset in event["inputs"] or ()]
    written = [dataset_rows.write(store, dataset, at, None, False) for dataset in event["outputs"] or ()]
    version = job_versions.declare(store, job, read, written, at)
    _job_facets(job, told, at, None)
    for facet in job.facets:
        if facet.run is None and facet.version is None:
            facet.version = version


def _dataset_event(store: Store, event: Json, at: int) -> None:
    store.namespace(names.replaced(event["dataset"]["namespace"]), at)
    version = dataset_rows.write(store, event["dataset"], at, None, False)
    version.dataset.current, version.dataset.updated = version, store.now()


def _job_facets(job: Job, told: Json, at: int, run: Run | None) -> None:
    for name, value in (told["facets"] or {}).items():
        if value is not None:
            kept = shapes.without_nulls(shapes.shown(value))
            job.facets.append(JobFacet(at, name, kept, run, None))
