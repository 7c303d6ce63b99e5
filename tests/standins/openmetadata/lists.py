"""Lists of entities: pages with cursors, filters, and what a page shows."""

import base64
import binascii
import json
from typing import Any, Protocol, TypeVar

from tests.standins.openmetadata.errors import ApiError, violated
from tests.standins.openmetadata.exchange import ApiResponse, Call, check_fields, check_include
from tests.standins.openmetadata.governance_kinds import TAG, TERM
from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.reads import shown
from tests.standins.openmetadata.state import Entity

_FILTERS = ("service", "database", "databaseSchema", "apiCollection")
_MOST = 1_000_000


class _Named(Protocol):
    id: str

    @property
    def name(self) -> str: ...


Listed = TypeVar("Listed", bound=_Named)


def entities(call: Call, kind: Kind) -> ApiResponse:
    """Answer one page of the entities of a kind."""
    fields = check_fields(kind, call.query)
    include = check_include(call.query)
    limit = checked_limit(call.number("limit", 10))
    if "after" in call.query and "before" in call.query:
        raise ApiError(400, "Only one of before or after query parameter allowed")
    found = [entity for entity in call.store.in_order(kind) if _fits(entity, include, call.query)]
    page, paging = page_of(found, limit, call.query)
    paging["total"] = len(found)
    return ApiResponse(body={"data": [shown(call, entity, fields) for entity in page], "paging": paging})


def checked_limit(limit: int) -> int:
    if limit < 0:
        raise violated("limit must be greater than or equal to 0")
    if limit > _MOST:
        raise violated(f"limit must be less than or equal to {_MOST}")
    return limit


def _fits(entity: Entity, include: str, query: dict[str, str]) -> bool:
    if include != "all" and entity.deleted != (include == "deleted"):
        return False
    for name in _FILTERS:
        if name in query and not any(_is(above, name, query[name]) for above in entity.ancestors()):
            return False
    if not entity.kind.asset and not _is_inside(entity, query):
        return False
    return not (query.get("root") == "true" and entity.parent is not None and entity.parent.kind is entity.kind)


def _is_inside(entity: Entity, query: dict[str, str]) -> bool:
    """Tell whether a tag lies in the classification that is asked for, or a term in the glossary, given by its id."""
    above = list(entity.ancestors())
    if entity.kind is TAG and "parent" in query and not any(one.fqn == query["parent"] for one in above):
        return False
    return entity.kind is not TERM or "glossary" not in query or any(one.id == query["glossary"] for one in above)


def _is(above: Entity, name: str, fqn: str) -> bool:
    return above.fqn == fqn and (above.kind.is_service if name == "service" else above.kind.name == name)


def page_of(found: list[Listed], limit: int, query: dict[str, str]) -> tuple[list[Listed], dict[str, Any]]:
    """Cut a page out of all that was found, and say where others begin."""
    if limit == 0:
        return [], {}
    if "before" in query:
        at = _cursor(query["before"])
        end = sum(1 for entity in found if (entity.name, entity.id) < at)
        start = max(0, end - limit)
    else:
        start = 0
        if "after" in query:
            at = _cursor(query["after"])
            start = sum(1 for entity in found if (entity.name, entity.id) <= at)
        end = min(start + limit, len(found))
    page = found[start:end]
    paging = {}
    if page and start > 0:
        paging["before"] = _written(page[0])
    if page and end < len(found):
        paging["after"] = _written(page[-1])
    return page, paging


def _written(entity: _Named) -> str:
    text = json.dumps({"id": entity.id, "name": entity.name}, separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(text.encode()).decode()


def _cursor(raw: str) -> tuple[str, str]:
    for char in raw:
        if not (char.isalnum() or char in "+/=-_"):
            raise ApiError(400, f"Illegal base64 character {ord(char):x}")
    try:
        read = json.loads(base64.b64decode(raw))
    except (binascii.Error, ValueError):
        raise ApiError(400, "Input byte array has wrong 4-byte ending unit") from None
    if "name" not in read:
        raise ApiError(400, "name must not be null")
    return read["name"], read.get("id", "")
