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


_Timestamp = Annotated[datetime, msgspec.Meta(tz=True)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]


class _ExportedLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    hash: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
    source: Annotated[str, msgspec.Meta(pattern="^[^\0]*$")]
    receipts: _Count
    #: The input, byte for byte. An input that is not UTF-8 is in `payload_base64` instead.
    payload: str | None = None
    payload_base64: bytes | None = None

    def original_bytes(self) -> bytes | None:
        """Return the input as it was sent, or None if the line does not contain the input."""
        return self.payload.encode() if self.payload is not None else self.payload_base64


class ExportedEvent(_ExportedLine, frozen=True, kw_only=True, omit_defaults=True, tag="event"):
    """An event of the log with its source, number of receipts, time and notes."""

    received_at: _Timestamp
    historical: bool
    notes: list[str] = []
    failure: str | None = None


class ExportedRejection(_ExportedLine, frozen=True, kw_only=True, omit_defaults=True, tag="rejected"):
    """A rejected input."""

    reason: str
    path: str
    first_at: _Timestamp
    last_at: _Timestamp
    size: _Count


_decoder: msgspec.json.Decoder[ExportedEvent | ExportedRejection] = msgspec.json.Decoder(
    ExportedEvent | ExportedRejection
)


def export_events(db: Database, org: str) -> Iterator[bytes]:
    """Yield a line per event, in the order of the log, then a line per rejected input, all from one snapshot."""
    with db.snapshot():
        for hash_, source, receipts, compressed_payload, received_at, historical, notes_json, failure in db.stream(
            _EVENTS, org
        ):
            notes = msgspec.json.decode(notes_json, type=list[str]) if notes_json else []
            text, raw = _text_or_bytes(compressed_payload)
            event = ExportedEvent(
                hash=hash_.hex(), source=source, receipts=receipts, payload=text, payload_base64=raw,
                received_at=to_datetime(received_at), historical=bool(historical), notes=notes, failure=failure,
            )  # fmt: skip
            yield msgspec.json.encode(event) + b"\n"
        for hash_, source, receipts, compressed_payload, reason, path, first_at, last_at, size in db.stream(
            _REJECTED, org
        ):
            text, raw = _text_or_bytes(compressed_payload)
            rejection = ExportedRejection(
                hash=hash_.hex(), source=source, receipts=receipts, payload=text, payload_base64=raw,
                reason=reason, path=path, first_at=to_datetime(first_at), last_at=to_datetime(last_at), size=size,
            )  # fmt: skip
            yield msgspec.json.encode(rejection) + b"\n"


def parse_line(line: bytes) -> ExportedEvent | ExportedRejection:
    """Decode a line. Raises InvalidInput if the line is malformed."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"not a line of `export --events`: {error}") from error


def _text_or_bytes(compressed_payload: bytes | None) -> tuple[str | None, bytes | None]:
    """Return a payload as text, or as bytes if it is not UTF-8."""
    if compressed_payload is None:
        return None, None
    raw = zstandard.decompress(compressed_payload)
    try:
        return raw.decode(), None
    except UnicodeDecodeError:
        return None, raw
