"""Handlers of entity lists: cursors, filters and pages."""

import base64
import binascii
import json
from typing import Any, Protocol, TypeVar

from tests.standins.openmetadata.errors import ApiError, validation_error
from tests.standins.openmetadata.exchange import ApiResponse, Call, check_fields, check_include
from tests.standins.openmetadata.governance_kinds import TAG, TERM
from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.reads import render_fields
from tests.standins.openmetadata.state import Entity

_FILTERS = ("service", "database", "databaseSchema", "apiCollection")
_MAX_LIMIT = 1_000_000


class _HasNameAndId(Protocol):
    id: str

    @property
    def name(self) -> str: ...


Listed = TypeVar("Listed", bound=_HasNameAndId)


def entities(call: Call, kind: Kind) -> ApiResponse:
    """Return a page of entities of a kind."""
    fields = check_fields(kind, call.query)
    include = check_include(call.query)
    limit = check_limit(call.number("limit", 10))
    if "after" in call.query and "before" in call.query:
        raise ApiError(400, "Only one of before or after query parameter allowed")
    found = [entity for entity in call.store.in_order(kind) if _matches(entity, include, call.query)]
    page, paging = page_of(found, limit, call.query)
    paging["total"] = len(found)
    return ApiResponse(body={"data": [render_fields(call, entity, fields) for entity in page], "paging": paging})


def check_limit(limit: int) -> int:
    if limit < 0:
        raise validation_error("limit must be greater than or equal to 0")
    if limit > _MAX_LIMIT:
        raise validation_error(f"limit must be less than or equal to {_MAX_LIMIT}")
    return limit


def _matches(entity: Entity, include: str, query: dict[str, str]) -> bool:
    if include != "all" and entity.deleted != (include == "deleted"):
        return False
    for name in _FILTERS:
        if name in query and not any(_is_named(ancestor, name, query[name]) for ancestor in entity.ancestors()):
            return False
    if not entity.kind.asset and not _is_inside(entity, query):
        return False
    return not (query.get("root") == "true" and entity.parent is not None and entity.parent.kind is entity.kind)


def _is_inside(entity: Entity, query: dict[str, str]) -> bool:
    """Match tags by FQN of the classification, and terms by id of the glossary."""
    ancestors = list(entity.ancestors())
    if (
        entity.kind is TAG
        and "parent" in query
        and not any(ancestor.fqn == query["parent"] for ancestor in ancestors)
    ):
        return False
    return (
        entity.kind is not TERM
        or "glossary" not in query
        or any(ancestor.id == query["glossary"] for ancestor in ancestors)
    )


def _is_named(ancestor: Entity, name: str, fqn: str) -> bool:
    return ancestor.fqn == fqn and (ancestor.kind.is_service if name == "service" else ancestor.kind.name == name)


def page_of(found: list[Listed], limit: int, query: dict[str, str]) -> tuple[list[Listed], dict[str, Any]]:
    """Return a page and its cursors."""
    if limit == 0:
        return [], {}
    if "before" in query:
        position = _parse_cursor(query["before"])
        end = sum(1 for entity in found if (entity.name, entity.id) < position)
        start = max(0, end - limit)
    else:
        start = 0
        if "after" in query:
            position = _parse_cursor(query["after"])
            start = sum(1 for entity in found if (entity.name, entity.id) <= position)
        end = min(start + limit, len(found))
    page = found[start:end]
    paging = {}
    if page and start > 0:
        paging["before"] = _make_cursor(page[0])
    if page and end < len(found):
        paging["after"] = _make_cursor(page[-1])
    return page, paging


def _make_cursor(entity: _HasNameAndId) -> str:
    text = json.dumps({"id": entity.id, "name": entity.name}, separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(text.encode()).decode()


def _parse_cursor(raw: str) -> tuple[str, str]:
    for char in raw:
        if not (char.isalnum() or char in "+/=-_"):
            raise ApiError(400, f"Illegal base64 character {ord(char):x}")
    try:
        content = json.loads(base64.b64decode(raw))
    except (binascii.Error, ValueError):
        raise ApiError(400, "Input byte array has wrong 4-byte ending unit") from None
    if "name" not in content:
        raise ApiError(400, "name must not be null")
    return content["name"], content.get("id", "")
