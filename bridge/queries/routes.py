"""HTTP routes of queries: by id, or by namespace and name."""

from datetime import datetime
from typing import Any
from urllib.parse import quote

import msgspec

from bridge.queries.query import Query

_ROOT = "/api/v1"
_FIELD = "/{field}"


def routes_of(kind: type[Query[Any]]) -> list[str]:
    """Give the routes of a question, the one of names first: no name is an id."""
    routes = [id_route(kind)] if name_route(kind) is None else [name_route(kind) or "", id_route(kind)]
    if _FIELD in kind.path:  # for people; what holds a line break is in no path
        routes.append(f"{_ROOT}/{kind.subject}/{{id}}{kind.path}")
    return routes


def id_route(kind: type[Query[Any]]) -> str:
    """Give the route of a question; a thing that it is about is named by its id."""
    path = kind.path.replace(_FIELD, "")
    return f"{_ROOT}/{kind.subject}/{{id}}{path}" if kind.subject else f"{_ROOT}{path}"


def name_route(kind: type[Query[Any]]) -> str | None:
    """Give the route of a question whose thing is named by namespace and name; None where it has no name."""
    if kind.subject in {None, "run"}:
        return None
    return id_route(kind).replace("{id}", "by-name")


def to_request(question: Query[Any]) -> tuple[str, dict[str, str]]:
    """Give the path and the parameters by which a question is asked."""
    kind = type(question)
    given = {
        field.name: _text(value)
        for field in msgspec.structs.fields(kind)
        if (value := getattr(question, field.name)) != field.default
    }
    if kind.subject and "id" in given:
        return id_route(kind).format(id=quote(given.pop("id"), safe="")), given
    return name_route(kind) or id_route(kind), given


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, datetime) else str(value)
