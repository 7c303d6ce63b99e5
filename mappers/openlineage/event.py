"""One OpenLineage event, read as tolerantly as real producers need."""

import re
import uuid
from typing import Any, NamedTuple

import msgspec

from mappers.canonical.identity import digest
from mappers.errors import RefusedEvent, TooLarge
from mappers.openlineage.clock_time import parse_time
from mappers.openlineage.parts import (
    DatasetPart,
    FacetPart,
    canonical_json,
    decode,
    read_dataset,
    read_facets,
)

_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
_EVENT_TYPES = frozenset({"START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"})
_JSON_SPACE = b" \t\r\n"


class Limits(NamedTuple):
    """How much one event may hold."""

    datasets: int = 10_000
    facets: int = 2_000


#: For an event that was taken once, whatever the limits are now.
UNLIMITED = Limits(datasets=1 << 62, facets=1 << 62)


class Event(NamedTuple):
    """An event of any of the three kinds: without a run it is declared, without a job it is a dataset's."""

    micros: int
    event_type: str
    producer: str | None
    schema_url: str | None
    run_uuid: str | None
    run_facets: dict[str, FacetPart]
    job: tuple[str, str] | None
    job_facets: dict[str, FacetPart]
    inputs: list[DatasetPart]
    outputs: list[DatasetPart]
    dataset: DatasetPart | None
    event_hash: bytes
    notes: tuple[str, ...]


class _RunShape(msgspec.Struct):
    runId: str  # noqa: N815 - the spec's spelling
    facets: dict[str, msgspec.Raw] | None = None


class _JobShape(msgspec.Struct):
    namespace: str
    name: str
    facets: dict[str, msgspec.Raw] | None = None


class _Envelope(msgspec.Struct):
    eventTime: str  # noqa: N815
    eventType: str | None = None  # noqa: N815
    producer: str | None = None
    schemaURL: str | None = None  # noqa: N815
    run: _RunShape | None = None
    job: _JobShape | None = None
    dataset: msgspec.Raw = msgspec.Raw()
    inputs: list[msgspec.Raw] | None = None
    outputs: list[msgspec.Raw] | None = None


_envelope_decoder = msgspec.json.Decoder(_Envelope)
_any_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def read_event(body: bytes, limits: Limits = Limits()) -> Event:  # noqa: B008 - an immutable tuple
    """Read an event from JSON; raises RefusedEvent naming the field when it is none."""
    notes: list[str] = []
    body = _replace_nul(body.removeprefix(b"\xef\xbb\xbf").strip(_JSON_SPACE), notes)
    if not body.startswith(b"{"):
        decode(body, _any_decoder)
        raise RefusedEvent("an event is a JSON object")
    envelope = decode(body, _envelope_decoder)
    whole = decode(body, _any_decoder)
    try:
        micros, note = parse_time(envelope.eventTime)
    except ValueError as error:
        raise RefusedEvent(f"not a time: {envelope.eventTime[:64]!r}", "eventTime") from error
    if note:
        notes.append(f"eventTime {note}")
    _check_kind(envelope, notes)
    _check_limits(envelope, limits)
    job = _job(envelope)
    return Event(
        micros=micros,
        event_type=_event_type(envelope, notes),
        producer=envelope.producer,
        schema_url=envelope.schemaURL,
        run_uuid=run_uuid(envelope.run.runId, job, notes) if envelope.run and job else None,
        run_facets=read_facets(envelope.run.facets, "run.facets", notes) if envelope.run else {},
        job=job,
        job_facets=read_facets(envelope.job.facets, "job.facets", notes) if envelope.job else {},
        inputs=_datasets(envelope.inputs, "inputs", notes, limits) if job else [],
        outputs=_datasets(envelope.outputs, "outputs", notes, limits) if job else [],
        dataset=_dataset(bytes(envelope.dataset), "dataset", notes, limits) if not job else None,
        event_hash=_event_hash(whole, micros),
        notes=tuple(notes),
    )


def run_uuid(run_id: str, job: tuple[str, str], notes: list[str]) -> str:
    """Give the UUID of a run; one that is not named by a UUID gets one from its job and name."""
    if _UUID.fullmatch(run_id):
        return run_id.lower()
    notes.append(f"run id {run_id[:128]!r} is no UUID: one was computed from it")
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join((*job, run_id))))


def _replace_nul(body: bytes, notes: list[str]) -> bytes:
    if b"\\u0000" not in body:
        return body
    replaced = _NUL.sub(rb"\1\\ufffd", body)
    if replaced != body:
        notes.append("U+0000 was replaced by U+FFFD")
    return replaced


def _check_kind(envelope: _Envelope, notes: list[str]) -> None:
    has_dataset = bytes(envelope.dataset) not in (b"", b"null")
    if envelope.job is None:
        if envelope.run is not None:
            raise RefusedEvent("a run needs its job", "job")
        if not has_dataset:
            raise RefusedEvent("neither a run with its job, nor a job, nor a dataset")
    elif envelope.run is None and has_dataset:
        kind = (envelope.schemaURL or "").rpartition("/")[2]
        notes.append(f"both a job and a dataset: read as {kind or 'JobEvent'}")
        if kind == "DatasetEvent":
            envelope.job = None
    if not envelope.schemaURL:
        notes.append("schemaURL is missing")
    if not envelope.producer:
        notes.append("producer is missing")


def _check_limits(envelope: _Envelope, limits: Limits) -> None:
    datasets = len(envelope.inputs or ()) + len(envelope.outputs or ())
    if datasets > limits.datasets:
        raise TooLarge(f"{datasets} datasets in one event; the limit is {limits.datasets}")
    for shape in (envelope.run, envelope.job):
        if shape and shape.facets and len(shape.facets) > limits.facets:
            raise TooLarge(f"{len(shape.facets)} facets on one entity; the limit is {limits.facets}")


def _job(envelope: _Envelope) -> tuple[str, str] | None:
    if envelope.job is None:
        return None
    for key in ("namespace", "name"):
        if not getattr(envelope.job, key):
            raise RefusedEvent("must not be empty", f"job.{key}")
    return envelope.job.namespace, envelope.job.name


def _event_type(envelope: _Envelope, notes: list[str]) -> str:
    if envelope.run is None:
        if envelope.eventType:
            notes.append(f"eventType {envelope.eventType[:64]!r} without a run: ignored")
        return ""
    sent = envelope.eventType or ""
    known = sent.upper() if sent.upper() in _EVENT_TYPES else "OTHER"
    if known != sent:
        notes.append(f"eventType {sent[:64]!r} is not in the spec: read as {known}")
    return known


def _datasets(raw: list[msgspec.Raw] | None, where: str, notes: list[str], limits: Limits) -> list[DatasetPart]:
    return [_dataset(bytes(item), f"{where}[{i}]", notes, limits) for i, item in enumerate(raw or ())]


def _dataset(raw: bytes, where: str, notes: list[str], limits: Limits) -> DatasetPart:
    try:
        part = read_dataset(raw)
    except RefusedEvent as error:
        raise RefusedEvent(error.reason, f"{where}.{error.path}".rstrip(".")) from error
    if len(part.facets) + len(part.input_facets) + len(part.output_facets) > limits.facets:
        raise TooLarge(f"{where} has more facets than {limits.facets}")
    notes.extend(f"{where}.{note}" for note in part.notes)
    return part


def _event_hash(whole: dict[str, Any], micros: int) -> bytes:
    """Identify the event by its content: nulls dropped, times in UTC microseconds, keys sorted."""
    whole["eventTime"] = micros
    run = whole.get("run")
    nominal = ((run or {}).get("facets") or {}).get("nominalTime")
    if isinstance(nominal, dict):
        for key in ("nominalStartTime", "nominalEndTime"):
            try:
                nominal[key] = parse_time(nominal[key])[0]
            except (KeyError, TypeError, ValueError):
                continue  # absent or no time: it is hashed as it was sent
    return digest(canonical_json(whole))
