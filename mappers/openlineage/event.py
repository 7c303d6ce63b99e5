"""Parses OpenLineage events, including irregular ones that real producers send."""

import re
import uuid
from typing import Any, NamedTuple

import msgspec

from mappers.cache import bounded_lru_cache
from mappers.canonical.identity import digest
from mappers.canonical_json import canonical_json, decode_for_encoding, decode_json, decode_member
from mappers.errors import InputTooLarge, InvalidInput
from mappers.openlineage.facet_parser import (
    ParsedDataset,
    ParsedFacet,
    parse_dataset,
    parse_facets,
)
from mappers.openlineage.facets import SymlinksFacet
from mappers.openlineage.redaction import may_contain_secrets, redact_event
from mappers.timestamps import parse_timestamp

_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
_EVENT_TYPES = frozenset({"START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"})
_EVENT_MEMBERS = frozenset(
    {"eventTime", "eventType", "producer", "schemaURL", "run", "job", "dataset", "inputs", "outputs"}
)
_RUN_MEMBERS, _JOB_MEMBERS = frozenset({"runId", "facets"}), frozenset({"namespace", "name", "facets"})
_JSON_SPACE = b" \t\r\n"


class EventLimits(NamedTuple):
    """Maximum number of datasets in an event, including the names in symlinks, and of facets on one entity."""

    datasets: int = 10_000
    facets: int = 2_000


#: For events that were accepted earlier, perhaps with other limits.
NO_LIMITS = EventLimits(datasets=1 << 62, facets=1 << 62)


class Event(NamedTuple):
    """A RunEvent, JobEvent (without a run) or DatasetEvent (without a job)."""

    micros: int
    event_type: str
    producer: str | None
    schema_url: str | None
    run_uuid: str | None
    run_facets: dict[str, ParsedFacet]
    job: tuple[str, str] | None
    job_facets: dict[str, ParsedFacet]
    inputs: list[ParsedDataset]
    outputs: list[ParsedDataset]
    dataset: ParsedDataset | None
    event_hash: bytes
    notes: tuple[str, ...]
    #: The event without its secrets, if it contained any. All other fields are derived from it.
    redacted_body: bytes | None = None


class _RunJson(msgspec.Struct):
    runId: str  # noqa: N815 - the spec's spelling
    facets: dict[str, msgspec.Raw] | None = None


class _JobJson(msgspec.Struct):
    namespace: str
    name: str
    facets: dict[str, msgspec.Raw] | None = None


class _Envelope(msgspec.Struct):
    eventTime: str  # noqa: N815
    eventType: str | None = None  # noqa: N815
    producer: str | None = None
    schemaURL: str | None = None  # noqa: N815
    run: _RunJson | None = None
    job: _JobJson | None = None
    dataset: msgspec.Raw = msgspec.Raw()
    inputs: list[msgspec.Raw] | None = None
    outputs: list[msgspec.Raw] | None = None


class _RegularRunJson(_RunJson, forbid_unknown_fields=True):
    pass


class _RegularJobJson(_JobJson, forbid_unknown_fields=True):
    pass


class _RegularEnvelope(_Envelope, forbid_unknown_fields=True):
    """An event that has no members outside of the specification."""

    run: _RegularRunJson | None = None
    job: _RegularJobJson | None = None


_envelope_decoder = msgspec.json.Decoder(_Envelope)
_regular_envelope_decoder = msgspec.json.Decoder(_RegularEnvelope)
_any_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def parse_event(body: bytes, limits: EventLimits = EventLimits()) -> Event:  # noqa: B008 - an immutable tuple
    """Parse an event without its secrets.

    Raises InvalidInput with the offending field, or InputTooLarge if a limit is exceeded.
    """
    event, envelope = _parse(body, limits)
    if _may_contain_secrets(event, envelope) and (redacted_body := redact_event(body)) is not body:
        return _parse(redacted_body, limits)[0]._replace(redacted_body=redacted_body)
    return event


def parse_unredacted_event(body: bytes, limits: EventLimits) -> Event:
    """Parse an event with its secrets."""
    return _parse(body, limits)[0]


def _parse(body: bytes, limits: EventLimits) -> tuple[Event, _Envelope]:
    notes: list[str] = []
    body = _replace_nul(body.removeprefix(b"\xef\xbb\xbf").strip(_JSON_SPACE), notes)
    if not body.startswith(b"{"):
        decode_json(body, _any_decoder)  # raises InvalidInput if the body is not JSON
        raise InvalidInput("an event must be a JSON object")
    try:
        envelope: _Envelope = _regular_envelope_decoder.decode(body)
    except (ValueError, RecursionError):
        envelope = decode_json(body, _envelope_decoder)
    try:
        micros, note = parse_timestamp(envelope.eventTime)
    except ValueError as error:
        raise InvalidInput(f"not a time: {envelope.eventTime[:64]!r}", "eventTime") from error
    if note:
        notes.append(f"eventTime {note}")
    _resolve_kind(envelope, notes)
    _check_limits(envelope, limits)
    job = _job_name(envelope)
    event_hash = _event_hash(body, micros)
    inputs = _parse_datasets(envelope.inputs, "inputs", notes, limits) if job else []
    outputs = _parse_datasets(envelope.outputs, "outputs", notes, limits) if job else []
    dataset = _parse_dataset(bytes(envelope.dataset), "dataset", notes, limits) if not job else None
    _check_identifiers([*inputs, *outputs, *([dataset] if dataset else [])], limits)
    event = Event(
        micros=micros,
        event_type=_event_type(envelope, notes),
        producer=envelope.producer,
        schema_url=envelope.schemaURL,
        run_uuid=normalize_run_uuid(envelope.run.runId, job, notes) if envelope.run and job else None,
        run_facets=parse_facets(envelope.run.facets, "run.facets", notes) if envelope.run else {},
        job=job,
        job_facets=parse_facets(envelope.job.facets, "job.facets", notes) if envelope.job else {},
        inputs=inputs,
        outputs=outputs,
        dataset=dataset,
        event_hash=event_hash,
        notes=tuple(notes),
    )
    return event, envelope


def _may_contain_secrets(event: Event, envelope: _Envelope) -> bool:
    """Check quickly whether an event needs a closer look.

    Most datasets and facets occur in many events and are checked once. Irregular events are checked as a whole.
    """
    run, job = envelope.run, envelope.job
    is_regular = (
        type(envelope) is _RegularEnvelope
        and (run is None or (event.run_uuid == run.runId.lower() and _are_all_parsed(run.facets, event.run_facets)))
        and (job is None or _are_all_parsed(job.facets, event.job_facets))
        and len(envelope.inputs or ()) == len(event.inputs)
        and len(envelope.outputs or ()) == len(event.outputs)
        and (bytes(envelope.dataset) == b"") == (event.dataset is None)
    )
    if not is_regular:
        return True
    for dataset in (*event.inputs, *event.outputs, *([event.dataset] if event.dataset else ())):
        if dataset.may_contain_secrets:
            return True
    for facet in (*event.run_facets.values(), *event.job_facets.values()):
        if facet.may_contain_secrets:
            return True
    sent_type = envelope.eventType or ""
    return _may_names_contain_secrets(event.producer or "", event.schema_url or "", sent_type, *(event.job or ()))


def _are_all_parsed(raw_facets: dict[str, msgspec.Raw] | None, facets: dict[str, ParsedFacet]) -> bool:
    return len(raw_facets or ()) == len(facets)


@bounded_lru_cache(4096)
def _may_names_contain_secrets(*names: str) -> bool:
    return may_contain_secrets("\n".join(names).encode(errors="replace"))


def normalize_run_uuid(run_id: str, job: tuple[str, str], notes: list[str]) -> str:
    """Convert a run id to a lower-case UUID; a run id that is not a UUID is hashed together with the job."""
    if _UUID.fullmatch(run_id):
        return run_id.lower()
    notes.append(f"run id {run_id[:128]!r} is not a UUID: replaced by one derived from it")
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join((*job, run_id))))


def _replace_nul(body: bytes, notes: list[str]) -> bytes:
    if b"\\u0000" not in body:
        return body
    replaced_body = _NUL.sub(rb"\1\\ufffd", body)
    if replaced_body != body:
        notes.append("U+0000 was replaced by U+FFFD")
    return replaced_body


def _resolve_kind(envelope: _Envelope, notes: list[str]) -> None:
    """Check that the event has a job or a dataset; if it is a DatasetEvent with both, clear the job."""
    has_dataset = bytes(envelope.dataset) not in (b"", b"null")
    if envelope.job is None:
        if envelope.run is not None:
            raise InvalidInput("a run requires a job", "job")
        if not has_dataset:
            raise InvalidInput("an event requires a run with a job, a job, or a dataset")
    elif envelope.run is None and has_dataset:
        kind = (envelope.schemaURL or "").rpartition("/")[2]
        notes.append(f"both a job and a dataset: read as {kind or 'JobEvent'}")
        if kind == "DatasetEvent":
            envelope.job = None
    if not envelope.schemaURL:
        notes.append("schemaURL is missing")
    if not envelope.producer:
        notes.append("producer is missing")


def _check_limits(envelope: _Envelope, limits: EventLimits) -> None:
    datasets = len(envelope.inputs or ()) + len(envelope.outputs or ())
    if datasets > limits.datasets:
        raise InputTooLarge(f"{datasets} datasets in one event; the limit is {limits.datasets}")
    for entity in (envelope.run, envelope.job):
        if entity and entity.facets and len(entity.facets) > limits.facets:
            raise InputTooLarge(f"{len(entity.facets)} facets on one entity; the limit is {limits.facets}")


def _check_identifiers(datasets: list[ParsedDataset], limits: EventLimits) -> None:
    """Count the identifiers of symlinks as datasets, because each of them names one."""
    name_count = len(datasets)
    for dataset in datasets:
        facet = dataset.facets.get("symlinks")
        if facet is not None and isinstance(facet.value, SymlinksFacet):
            name_count += len(facet.value.identifiers or ())
    if name_count > limits.datasets:
        raise InputTooLarge(f"{name_count} datasets and symlinks in one event; the limit is {limits.datasets}")


def _job_name(envelope: _Envelope) -> tuple[str, str] | None:
    if envelope.job is None:
        return None
    for key in ("namespace", "name"):
        if not getattr(envelope.job, key):
            raise InvalidInput("must not be empty", f"job.{key}")
    return envelope.job.namespace, envelope.job.name


def _event_type(envelope: _Envelope, notes: list[str]) -> str:
    """Return the event type in upper case, OTHER if it is unknown, or an empty string without a run."""
    if envelope.run is None:
        if envelope.eventType:
            notes.append(f"eventType {envelope.eventType[:64]!r} without a run: ignored")
        return ""
    sent_type = envelope.eventType or ""
    event_type = sent_type.upper() if sent_type.upper() in _EVENT_TYPES else "OTHER"
    if event_type != sent_type:
        notes.append(f"eventType {sent_type[:64]!r} is not in the spec: read as {event_type}")
    return event_type


def _parse_datasets(
    raw_datasets: list[msgspec.Raw] | None, path: str, notes: list[str], limits: EventLimits
) -> list[ParsedDataset]:
    return [
        _parse_dataset(bytes(raw), f"{path}[{index}]", notes, limits) for index, raw in enumerate(raw_datasets or ())
    ]


def _parse_dataset(raw: bytes, path: str, notes: list[str], limits: EventLimits) -> ParsedDataset:
    try:
        dataset = parse_dataset(raw)
    except InvalidInput as error:
        raise InvalidInput(error.reason, f"{path}.{error.path}".rstrip(".")) from error
    if len(dataset.facets) + len(dataset.input_facets) + len(dataset.output_facets) > limits.facets:
        raise InputTooLarge(f"{path} has more than {limits.facets} facets")
    notes.extend(f"{path}.{note}" for note in dataset.notes)
    return dataset


def _event_hash(body: bytes, micros: int) -> bytes:
    """Hash the content of an event, with nulls dropped and keys sorted; converts its times to microseconds."""
    document = decode_for_encoding(body)
    document["eventTime"] = micros
    run = decode_member(document, "run")
    run_facets = decode_member(run, "facets") if run else None
    nominal_time = decode_member(run_facets, "nominalTime") if run_facets else None
    if isinstance(nominal_time, dict):
        for key in ("nominalStartTime", "nominalEndTime"):
            try:
                nominal_time[key], _ = parse_timestamp(nominal_time[key])
            except (KeyError, TypeError, ValueError):
                continue  # absent or not a time: hashed as sent
    return digest(canonical_json(document))
