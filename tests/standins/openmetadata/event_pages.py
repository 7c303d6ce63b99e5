"""GET /events: pages of events, filtered by change, entity type and time."""

import base64
import binascii

from tests.standins.openmetadata.entity import Data
from tests.standins.openmetadata.errors import ApiError, validation_error
from tests.standins.openmetadata.events import Event
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.governance_kinds import EVERY
from tests.standins.openmetadata.names import split_words

_MAX_LIMIT, _DEFAULT_LIMIT = 1000, 100
#: Event types of each filter.
_FILTERS = {
    "entityCreated": ("entityCreated",),
    "entityUpdated": ("entityUpdated",),
    "entityRestored": ("entityRestored",),
    "entityDeleted": ("entityDeleted", "entitySoftDeleted"),
}
_KINDS = {kind.name for kind in EVERY} | {
    *split_words(
        "testCase testDefinition testSuite dashboard chart dashboardDataModel query storedProcedure searchIndex metric "
        "dashboardService metadataService searchService ingestionPipeline bot persona eventsubscription workflow page"
    )
}


def read(call: Call) -> ApiResponse:
    """Return a page of events; without filters it is empty."""
    limit = _limit(call)
    kinds_by_type = {
        event_type: kinds
        for name, event_types in _FILTERS.items()
        for kinds in [_kinds(call, name)]
        for event_type in event_types
    }
    since, until = call.number("timestamp", 0), call.number("endTs", 0)
    found: list[Event] = []
    for event in call.store.events.rows[_offset(call.query.get("after", "")) :]:
        kinds = kinds_by_type.get(event.type)
        if kinds is None or (kinds and event.kind not in kinds):
            continue
        if event.at < since or (until and event.at > until):
            continue
        found.append(event)
        if len(found) > limit:
            break
    page = found[:limit]
    paging: Data = {"total": len(page)}
    if len(found) > limit:
        paging["after"] = base64.b64encode(str(page[-1].offset).encode()).decode()
    return ApiResponse(body={"data": [event.to_json() for event in page], "paging": paging})


def _limit(call: Call) -> int:
    limit = call.number("limit", _DEFAULT_LIMIT)
    if limit < 1:
        raise validation_error("limit must be greater than or equal to 1")
    if limit > _MAX_LIMIT:
        raise validation_error(f"limit must be less than or equal to {_MAX_LIMIT}")
    return limit


def _kinds(call: Call, name: str) -> set[str] | None:
    """Entity types of a filter: empty for all types, None without the filter."""
    value = call.query.get(name)
    if not value:
        return None
    if value == "*":
        return set()
    kinds = {kind.strip() for kind in value.split(",")}
    for kind in sorted(kinds - _KINDS):
        raise ApiError(400, f"Invalid entity {kind} in query param {name}")
    return kinds


def _offset(cursor: str) -> int:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4)).decode(errors="replace")
    except binascii.Error:
        raise ApiError(400, "Input byte array has wrong 4-byte ending unit") from None
    if cursor and not text.isdecimal():
        raise ApiError(400, f'For input string: "{text}"')
    return int(text or 0)
