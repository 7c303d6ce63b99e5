"""POST /lineage: an event is read, kept in the log, and then told to the model; the two do not know of each other."""

from collections.abc import Iterator
from typing import Any

import msgspec

from tests.standins.marquez import dataset_rows, job_rows, job_versions, names, run_rows, shapes
from tests.standins.marquez.errors import Conflict, Illegal, page, unreadable, violated
from tests.standins.marquez.exchange import Answer, Call
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import INPUT, OUTPUT, Job, JobFacet, JobVersion, Json, Row, Run

#: How many characters a text may have.
_LONGEST = 20_000_000


def post(call: Call) -> Answer:
    """Take an event."""
    told = _parsed(call.raw)
    kind, event = _read(told)
    if b"\\u0000" in call.raw and any("\0" in text for text in _texts(told)):  # no database takes it
        raise page(500)
    store = call.store
    at = event["eventTime"].micros
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
    if len(raw) > _LONGEST and any(len(text) > _LONGEST for text in _texts(told)):
        raise unreadable(f"String value length exceeds the maximum allowed ({_LONGEST})")
    return told


def _texts(value: Any) -> Iterator[str]:
    """Give all texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


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
    told = event["job"]
    namespace = store.namespace(names.replaced(told["namespace"]), at).name
    run_id = names.run_uuid(event["run"]["runId"])
    parent = job_rows.parent_of(store, event, namespace, at)
    inputs = dataset_rows.ids(event["inputs"])
    job = job_rows.write(store, told, at, inputs, parent, run_id)
    run = run_rows.write(store, event, run_id, job, at)
    _job_facets(job, told, at, run)
    _datasets(store, event, job, run, at)
    state = run_rows.state_of(event["eventType"])
    if job_rows.is_streaming(told):
        if not _ends_bare(event):
            job_versions.finish_streaming(store, job, run, at, state)
    elif state in run_rows.DONE:
        job_versions.finish(store, job, run, at, state)


def _datasets(store: Store, event: Json, job: Job, run: Run, at: int) -> None:
    bare = job_rows.is_streaming(event["job"]) and _ends_bare(event)
    for member, type_ in (("inputs", INPUT), ("outputs", OUTPUT)):
        for told in event[member] or ():
            dataset_rows.write(store, told, at, run, type_ == INPUT)
        if not event[member] and not bare:
            job_versions.forget(job, type_)


def _ends_bare(event: Json) -> bool:
    """Whether a run ends without naming a dataset."""
    return run_rows.state_of(event["eventType"]) in run_rows.DONE and not event["inputs"] and not event["outputs"]


def _job_event(store: Store, event: Json, at: int) -> None:
    told = event["job"]
    store.namespace(names.replaced(told["namespace"]), at)
    job = job_rows.write(store, told, at, [], None, None)
    read = [dataset_rows.write(store, dataset, at, None, True) for dataset in event["inputs"] or ()]
    written = [dataset_rows.write(store, dataset, at, None, False) for dataset in event["outputs"] or ()]
    _job_facets(job, told, at, None, job_versions.declare(store, job, read, written, at))


def _dataset_event(store: Store, event: Json, at: int) -> None:
    store.namespace(names.replaced(event["dataset"]["namespace"]), at)
    version = dataset_rows.write(store, event["dataset"], at, None, False)
    version.dataset.current, version.dataset.updated = version, store.now()


def _job_facets(job: Job, told: Json, at: int, run: Run | None, version: JobVersion | None = None) -> None:
    for name, value in (told["facets"] or {}).items():
        if value is not None:
            job.facets.append(JobFacet(at, name, shapes.kept(value), run, version))
