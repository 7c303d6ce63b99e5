"""Where each question is asked over HTTP: by the id of a thing, or by its names, which never go into paths."""

from datetime import datetime
from typing import Any
from urllib.parse import quote

import msgspec

from bridge.catalogue.question import Question

_ROOT = "/api/v1"
_FIELD = "/{field}"


def routes_of(kind: type[Question[Any]]) -> list[str]:
    """Give the routes of a question, the one of names first: no name is an id."""
    routes = [by_id(kind)] if by_name(kind) is None else [by_name(kind) or "", by_id(kind)]
    if _FIELD in kind.path:  # for people; what holds a line break is in no path
        routes.append(f"{_ROOT}/{kind.about}/{{id}}{kind.path}")
    return routes


def by_id(kind: type[Question[Any]]) -> str:
    """Give the route of a question; a thing that it is about is named by its id."""
    path = kind.path.replace(_FIELD, "")
    return f"{_ROOT}/{kind.about}/{{id}}{path}" if kind.about else f"{_ROOT}{path}"


def by_name(kind: type[Question[Any]]) -> str | None:
    """Give the route of a question whose thing is named by namespace and name; None where it has no name."""
    if kind.about in {None, "run"}:
        return None
    return by_id(kind).replace("{id}", "by-name")


def asked(question: Question[Any]) -> tuple[str, dict[str, str]]:
    """Give the path and the parameters by which a question is asked."""
    kind = type(question)
    given = {
        field.name: _text(value)
        for field in msgspec.structs.fields(kind)
        if (value := getattr(question, field.name)) != field.default
    }
    if kind.about and "id" in given:
        return by_id(kind).format(id=quote(given.pop("id"), safe="")), given
    return by_name(kind) or by_id(kind), given


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, datetime) else str(value)
