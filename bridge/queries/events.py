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
#: The largest integer that every JSON parser reads exactly.
MAX_SAFE_INTEGER = (1 << 53) - 1
_BOM = b"\xef\xbb\xbf"


class EventRecord(msgspec.Struct, frozen=True):
    """An event as it was sent, and how it was processed."""

    seq: int
    hash: str
    event_type: str | None
    event_time: str
    received_at: str
    source: str
    historical: bool
    #: How often the event was received.
    receipts: int
    #: Assumptions that were needed to interpret the event.
    notes: list[str]
    #: Reason why the event could not be merged; null if it was merged.
    failure: str | None
    event: msgspec.Raw


class EventsResult(msgspec.Struct, frozen=True):
    """A page of events; `next` is the cursor for later events, even if this page ends at the end of the log."""

    items: list[EventRecord]
    next: int


class EventsQuery(Query[EventsResult], frozen=True, kw_only=True):
    """Raw events: the newest events, or the events after a sequence number."""

    path = "/events"
    result_type = EventsResult
    after: (
        Annotated[
            int,
            msgspec.Meta(
                ge=0,
                le=MAX_SAFE_INTEGER,
                description="`next` of the previous response; without it, the newest events.",
            ),
        ]
        | None
    ) = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_PAGE_SIZE, description="Maximum number of events.")] = 50

    def run(self, ctx: QueryContext) -> EventsResult:
        last_stable_seq = ctx.db.last_stable_seq()
        if self.after is None:
            newest_first = ctx.db.fetch_all(_NEWEST, ctx.org, last_stable_seq, self.limit)
            rows = list(reversed(newest_first))
        else:
            rows = ctx.db.fetch_all(_AFTER, ctx.org, self.after, last_stable_seq, self.limit)
        records = [event_record(row) for row in rows]
        last_seq = records[-1].seq if records else self.after or 0
        return EventsResult(records, last_seq)


def event_record(row: tuple[Any, ...]) -> EventRecord:
    """Build the record of an event from a row of `_COLUMNS`."""
    seq, hash_, event_type, event_time, received_at, source, historical, receipts, notes, failure, payload = row
    event_json = zstandard.decompress(payload).removeprefix(_BOM)
    return EventRecord(
        seq,
        hash_.hex(),
        event_type or None,
        format_timestamp(event_time),
        format_timestamp(received_at),
        source,
        bool(historical),
        receipts,
        msgspec.json.decode(notes, type=list[str]) if notes else [],
        failure,
        msgspec.Raw(msgspec.json.format(event_json, indent=-1)),
    )
