"""Query: the raw event log."""

from typing import Annotated, Any

import msgspec
import zstandard

from bridge.queries.query import MAX_PAGE_SIZE, Query, QueryContext
from mappers.timestamps import format_timestamp

_COLUMNS = """
seq, event_hash, event_type, event_time, received_at, source, historical, receipts, notes_json, failure, payload
"""
_AFTER = f"SELECT {_COLUMNS} FROM run_event WHERE org_id = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq LIMIT ?4"
_NEWEST = f"SELECT {_COLUMNS} FROM run_event WHERE org_id = ?1 AND seq <= ?2 ORDER BY seq DESC LIMIT ?3"
#: What every reader of JSON takes for a whole number.
MAX_SAFE_INTEGER = (1 << 53) - 1
_BOM = b"\xef\xbb\xbf"


class EventRecord(msgspec.Struct, frozen=True):
    """An event as it was sent, and what became of it."""

    seq: int
    hash: str
    event_type: str | None
    event_time: str
    received_at: str
    source: str
    historical: bool
    #: How often it came.
    receipts: int
    #: What had to be assumed to read it.
    notes: list[str]
    #: Why it could not be merged, if it could not.
    failure: str | None
    event: msgspec.Raw


class EventsResult(msgspec.Struct, frozen=True):
    """Some events; `next` is what to ask for those after them, at the end, too."""

    items: list[EventRecord]
    next: int


class EventsQuery(Query[EventsResult], frozen=True, kw_only=True):
    """The events as they came in; the newest, or those after a number."""

    path = "/events"
    result_type = EventsResult
    after: (
        Annotated[
            int,
            msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER, description="`next` of the answer before; the newest without."),
        ]
        | None
    ) = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_PAGE_SIZE, description="How many.")] = 50

    def run(self, view: QueryContext) -> EventsResult:
        """Read them."""
        settled = view.db.last_stable_seq()
        if self.after is None:
            rows = view.db.fetch_all(_NEWEST, view.org, settled, self.limit)[::-1]
        else:
            rows = view.db.fetch_all(_AFTER, view.org, self.after, settled, self.limit)
        last = rows[-1][0] if rows else self.after or 0
        return EventsResult([event_record(row) for row in rows], last)


def event_record(row: tuple[Any, ...]) -> EventRecord:
    """Give a row of the log."""
    seq, hash_, kind, event_time, received_at, source, historical, receipts, notes, failure, payload = row
    sent = zstandard.decompress(payload).removeprefix(_BOM)
    return EventRecord(
        seq,
        hash_.hex(),
        kind or None,
        format_timestamp(event_time),
        format_timestamp(received_at),
        source,
        bool(historical),
        receipts,
        msgspec.json.decode(notes, type=list[str]) if notes else [],
        failure,
        msgspec.Raw(msgspec.json.format(sent, indent=-1)),
    )
