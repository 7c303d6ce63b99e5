"""Spool file of the Spark listener: locking, filtering and delivery."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bridge.process.backend import ProcessBackend
from connectors.openlineage.files import open_event_file, read_records

_SUFFIX = ".ndjson"
#: Folder of staged rows, which are not a dataset.
STAGING = "_lineage_bridge_staging"


class _Run(msgspec.Struct, rename="camel"):
    run_id: str = ""


class _Event(msgspec.Struct):
    """The parts of an event that decide whether it is sent."""

    run: _Run = msgspec.field(default_factory=_Run)
    job: dict[str, msgspec.Raw] = {}
    outputs: list[msgspec.Raw] = []


class _JobType(msgspec.Struct, rename="camel"):
    job_type: str = ""


class SpoolResult(NamedTuple):
    """Counts of sent and skipped events, and the reason for each rejected event."""

    events: int
    skipped: int
    rejected: list[str]


def spool_file(folder: Path, run_id: str) -> Path:
    return folder / f"{run_id}{_SUFFIX}"


@contextmanager
def lock_spool(file: Path) -> Iterator[bool]:
    """Lock the spool of a run. Yields False if another process holds the lock, because it is still running."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = file.with_suffix(".lock")
    with lock.open("w") as lock_file:
        try:
            fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
        if not file.exists():
            lock.unlink(missing_ok=True)


def send_abandoned_spools(backend: ProcessBackend, folder: Path) -> int:
    """Send the spools of killed runs and of failed deliveries, and return the number of spools."""
    sent_count = 0
    for file in sorted(folder.glob(f"*{_SUFFIX}")):
        with lock_spool(file) as acquired:
            if acquired:
                send_spool(backend, file)
                sent_count += 1
    return sent_count


def send_spool(backend: ProcessBackend, file: Path) -> SpoolResult:
    """Send the listener's events and remove the file. Events of actions that only read data are skipped."""
    if not file.exists():
        return SpoolResult(0, 0, [])
    with open_event_file(file) as spool:
        payloads = [record.payload for record in read_records(spool)]
    relevant_payloads = list(_relevant_events(payloads))
    rejection_reasons = backend.send_events(relevant_payloads)
    file.unlink()
    return SpoolResult(len(relevant_payloads), len(payloads) - len(relevant_payloads), rejection_reasons)


def _relevant_events(payloads: list[bytes]) -> Iterator[bytes]:
    """Yield the events of the application, and of actions that wrote something."""
    cleaned_payloads = [cleaned for payload in payloads if (cleaned := _without_staging(payload)) is not None]
    events = [_parse_or_none(payload) for payload in cleaned_payloads]
    writing_runs = {event.run.run_id for event in events if event is not None and event.outputs}
    for payload, event in zip(cleaned_payloads, events, strict=True):
        if event is None or event.run.run_id in writing_runs or _job_type(event) == "APPLICATION":
            yield payload


def _parse_or_none(payload: bytes) -> _Event | None:
    try:
        return msgspec.json.decode(payload, type=_Event)
    except msgspec.DecodeError:
        return None  # the backend rejects the event with the reason


def _without_staging(payload: bytes) -> bytes | None:
    """Remove staging folders from an event, because the run itself reports the sources of the table.

    Returns None if the event wrote nothing else.
    """
    if STAGING.encode() not in payload:
        return payload
    try:
        event = msgspec.json.decode(payload, type=dict[str, Any])
        outputs = [dataset for dataset in event.get("outputs") or () if not _is_staged(dataset)]
        if event.get("outputs") and not outputs:
            return None
        event["inputs"] = [dataset for dataset in event.get("inputs") or () if not _is_staged(dataset)]
        for dataset in outputs:
            (dataset.get("facets") or {}).pop("columnLineage", None)
    except (msgspec.DecodeError, AttributeError, TypeError):
        return payload  # the backend rejects the event with the reason
    return msgspec.json.encode(event | {"outputs": outputs})


def _is_staged(dataset: dict[str, Any]) -> bool:
    return f"/{STAGING}/" in str(dataset.get("name"))


def _job_type(event: _Event) -> str:
    """Return the type in the facet jobType, or an empty string if there is none."""
    try:
        facets = msgspec.json.decode(event.job["facets"], type=dict[str, msgspec.Raw])
        return msgspec.json.decode(facets["jobType"], type=_JobType).job_type
    except (KeyError, msgspec.DecodeError):
        return ""
