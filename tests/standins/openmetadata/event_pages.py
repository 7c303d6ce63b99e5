"""Events as a client asks for them: by what happened and to which types, since a moment, page by page."""

import base64
import binascii

from tests.standins.openmetadata.entity import Data
from tests.standins.openmetadata.errors import ApiError, violated
from tests.standins.openmetadata.events import Event
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.governance_kinds import EVERY
from tests.standins.openmetadata.names import words

_MOST, _DEFAULT = 1000, 100
#: The events of each filter.
_FILTERS = {
    "entityCreated": ("entityCreated",),
    "entityUpdated": ("entityUpdated",),
    "entityRestored": ("entityRestored",),
    "entityDeleted": ("entityDeleted", "entitySoftDeleted"),
}
_KINDS = {kind.name for kind in EVERY} | {
    *words(
        "testCase testDefinition testSuite dashboard chart dashboardDataModel query storedProcedure searchIndex metric "
        "dashboardService metadataService searchService ingestionPipeline bot persona eventsubscription workflow page"
    )
}


def read(call: Call) -> ApiResponse:
    """Answer a page of events; without any filter there are none."""
    limit = _limit(call)
    wanted = {word: kinds for name, words_ in _FILTERS.items() for kinds in [_kinds(call, name)] for word in words_}
    since, until = call.number("timestamp", 0), call.number("endTs", 0)
    found: list[Event] = []
    for event in call.store.events.rows[_offset(call.query.get("after", "")) :]:
        kinds = wanted.get(event.type)
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
    return ApiResponse(body={"data": [event.shown() for event in page], "paging": paging})


def _limit(call: Call) -> int:
    limit = call.number("limit", _DEFAULT)
    if limit < 1:
        raise violated("limit must be greater than or equal to 1")
    if limit > _MOST:
        raise violated(f"limit must be less than or equal to {_MOST}")
    return limit


def _kinds(call: Call, name: str) -> set[str] | None:
    """Read a filter: the types that it names, none if it names all, None if it is not there."""
    given = call.query.get(name)
    if not given:
        return None
    if given == "*":
        return set()
    kinds = {one.strip() for one in given.split(",")}
    for one in sorted(kinds - _KINDS):
        raise ApiError(400, f"Invalid entity {one} in query param {name}")
    return kinds


def _offset(cursor: str) -> int:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4)).decode(errors="replace")
    except binascii.Error:
        raise ApiError(400, "Input byte array has wrong 4-byte ending unit") from None
    if cursor and not text.isdecimal():
        raise ApiError(400, f'For input string: "{text}"')
    return int(text or 0)
