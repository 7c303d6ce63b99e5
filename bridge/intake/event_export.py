"""Exports events and rejected inputs as JSON lines."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated

import msgspec
import zstandard

from bridge.store.database import Database
from mappers.errors import InvalidInput
from mappers.timestamps import to_datetime

_EVENTS = """
SELECT event_hash, source, receipts, payload, received_at, historical, notes_json, failure
FROM run_event WHERE org_id = ?1 ORDER BY seq
"""
_REJECTED = """
SELECT payload_hash, source, receipts, payload, reason, path, first_at, last_at, payload_size
FROM rejected_event WHERE org_id = ?1 ORDER BY last_at, payload_hash
"""


_Moment = Annotated[datetime, msgspec.Meta(tz=True)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]


class _Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    hash: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
    source: Annotated[str, msgspec.Meta(pattern="^[^\0]*$")]
    receipts: _Count
    #: What was sent, byte for byte; in base64 where it is no UTF-8.
    payload: str | None = None
    payload_base64: bytes | None = None

    def sent(self) -> bytes | None:
        """Give the bytes as they were sent; None when they are not kept."""
        return self.payload.encode() if self.payload is not None else self.payload_base64


class ExportedEvent(_Line, frozen=True, kw_only=True, omit_defaults=True, tag="event"):
    """An event of the log, and what is not said in it."""

    received_at: _Moment
    historical: bool
    notes: list[str] = []
    failure: str | None = None


class ExportedRejection(_Line, frozen=True, kw_only=True, omit_defaults=True, tag="rejected"):
    """An input that was refused."""

    reason: str
    path: str
    first_at: _Moment
    last_at: _Moment
    size: _Count


_decoder: msgspec.json.Decoder[ExportedEvent | ExportedRejection] = msgspec.json.Decoder(
    ExportedEvent | ExportedRejection
)


def export_events(db: Database, org: str) -> Iterator[bytes]:
    """Write a line for each event, in the order of the log, then for each refused input. Reads one state."""
    with db.snapshot():
        for hash_, source, receipts, packed, received_at, historical, notes, failure in db.stream(_EVENTS, org):
            said = msgspec.json.decode(notes, type=list[str]) if notes else []
            text, raw = _spelled(packed)
            event = ExportedEvent(
                hash=hash_.hex(), source=source, receipts=receipts, payload=text, payload_base64=raw,
                received_at=to_datetime(received_at), historical=bool(historical), notes=said, failure=failure,
            )  # fmt: skip
            yield msgspec.json.encode(event) + b"\n"
        for hash_, source, receipts, packed, reason, path, first_at, last_at, size in db.stream(_REJECTED, org):
            text, raw = _spelled(packed)
            rejected = ExportedRejection(
                hash=hash_.hex(), source=source, receipts=receipts, payload=text, payload_base64=raw,
                reason=reason, path=path, first_at=to_datetime(first_at), last_at=to_datetime(last_at), size=size,
            )  # fmt: skip
            yield msgspec.json.encode(rejected) + b"\n"


def parse_line(line: bytes) -> ExportedEvent | ExportedRejection:
    """Read a line again; raises RefusedEvent when it is none."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"not a line of `export --events`: {error}") from error


def _spelled(packed: bytes | None) -> tuple[str | None, bytes | None]:
    """Give a payload as text, or, where it is none, as bytes."""
    if packed is None:
        return None, None
    raw = zstandard.decompress(packed)
    try:
        return raw.decode(), None
    except UnicodeDecodeError:
        return None, raw
