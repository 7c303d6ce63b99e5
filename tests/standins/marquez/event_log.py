"""The event log: no ids, and no defined order among events of the same time."""

import hashlib

from tests.standins.marquez import times
from tests.standins.marquez.errors import bad_request
from tests.standins.marquez.exchange import ApiResponse, Call
from tests.standins.marquez.tables import Row

_AFTER = "1970-01-01T00:00:00Z"
_BEFORE = "2030-01-01T00:00:00Z"


def list_events(call: Call) -> ApiResponse:
    """List run events of a time range; totalCount includes the other events."""
    direction = call.query.get("sortDirection", "desc").upper()
    if direction not in ("DESC", "ASC"):
        raise bad_request("query param sortDirection must be one of [DESC, ASC]")
    before, after = _time(call, "before", _BEFORE), _time(call, "after", _AFTER)
    limit, offset = call.number("limit", 100), call.number("offset", 0)
    rows = [row for row in call.store.log if after <= row.time < before]
    sign = 1 if direction == "ASC" else -1
    events = sorted(
        (row for row in rows if row.kind == "RunEvent"), key=lambda row: (sign * row.time, _tie(row, limit, offset))
    )
    return ApiResponse(
        body={"totalCount": len(rows), "events": [row.event for row in events[offset : offset + limit]]},
    )


def _tie(row: Row, limit: int, offset: int) -> bytes:
    """Order rows of the same time randomly, but reproducibly per page."""
    return hashlib.blake2b(f"{row.number} {limit} {offset}".encode(), digest_size=8).digest()


def _time(call: Call, name: str, default: str) -> int:
    try:
        return times.parse_zoned(call.query.get(name) or default)
    except times.InvalidTime as error:
        raise bad_request(f"Parameter is invalid: {error}") from None
