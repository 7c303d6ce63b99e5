"""Where the listener leaves its events while a process runs, and how they get from there to who keeps them."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bridge.process.backend import ProcessBackend
from connectors.openlineage.files import open_event_file, read_records

_ENDING = ".ndjson"
#: The folder of rows on their way into tables, which are nobody's dataset.
STAGING = "_lineage_bridge_staging"


class _Run(msgspec.Struct, rename="camel"):
    run_id: str = ""


class _Event(msgspec.Struct):
    run: _Run = msgspec.field(default_factory=_Run)
    job: dict[str, msgspec.Raw] = {}
    outputs: list[msgspec.Raw] = []


class _JobType(msgspec.Struct, rename="camel"):
    job_type: str = ""


class SpoolResult(NamedTuple):
    """How many events were sent, how many left out, and why some were not taken."""

    events: int
    left_out: int
    refused: list[str]


def spool_file(folder: Path, run_id: str) -> Path:
    """Name the file of a run."""
    return folder / f"{run_id}{_ENDING}"


@contextmanager
def lock_spool(file: Path) -> Iterator[bool]:
    """Hold the file of a run; tells whether nobody else does. It is let go with the process, however that ends."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = file.with_suffix(".lock")
    with lock.open("w") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
        if not file.exists():
            lock.unlink(missing_ok=True)


def send_abandoned_spools(link: ProcessBackend, folder: Path) -> int:
    """Send what runs left that were killed, or that nobody answered; gives how many there were."""
    found = 0
    for file in sorted(folder.glob(f"*{_ENDING}")):
        with lock_spool(file) as ours:
            if ours:
                send_spool(link, file)
                found += 1
    return found


def send_spool(link: ProcessBackend, file: Path) -> SpoolResult:
    """Send what the listener left, then remove the file; what merely looked at data is left out: checks do that."""
    if not file.exists():
        return SpoolResult(0, 0, [])
    with open_event_file(file) as opened:
        payloads = [record.payload for record in read_records(opened)]
    kept = list(_relevant_events(payloads))
    refused = link.send_events(kept)
    file.unlink()
    return SpoolResult(len(kept), len(payloads) - len(kept), refused)


def _relevant_events(payloads: list[bytes]) -> Iterator[bytes]:
    """Give the events of the application, and of actions that wrote something."""
    found = [one for payload in payloads if (one := _without_staging(payload)) is not None]
    events = [(payload, _read(payload)) for payload in found]
    writing = {event.run.run_id for _, event in events if event is not None and event.outputs}
    for payload, event in events:
        if event is None or event.run.run_id in writing or _job_type(event) == "APPLICATION":
            yield payload


def _read(payload: bytes) -> _Event | None:
    try:
        return msgspec.json.decode(payload, type=_Event)
    except msgspec.DecodeError:
        return None  # whoever keeps events says why this is none


def _without_staging(payload: bytes) -> bytes | None:
    """Leave out rows on their way into a table: the run itself tells what the table is made from.

    Gives None for an event of nothing else.
    """
    if STAGING.encode() not in payload:
        return payload
    try:
        event = msgspec.json.decode(payload, type=dict[str, Any])
        written = [one for one in event.get("outputs") or () if not _is_staged(one)]
        if event.get("outputs") and not written:
            return None
        event["inputs"] = [one for one in event.get("inputs") or () if not _is_staged(one)]
        for one in written:
            (one.get("facets") or {}).pop("columnLineage", None)
    except (msgspec.DecodeError, AttributeError, TypeError):
        return payload  # as above
    return msgspec.json.encode(event | {"outputs": written})


def _is_staged(dataset: dict[str, Any]) -> bool:
    return f"/{STAGING}/" in str(dataset.get("name"))


def _job_type(event: _Event) -> str:
    try:
        facets = msgspec.json.decode(event.job["facets"], type=dict[str, msgspec.Raw])
        return msgspec.json.decode(facets["jobType"], type=_JobType).job_type
    except (KeyError, msgspec.DecodeError):
        return ""
