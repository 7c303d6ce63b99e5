"""HTTP routes of queries: by id, or by namespace and name."""

from datetime import datetime
from typing import Any
from urllib.parse import quote

import msgspec

from bridge.queries.query import Query

_ROOT = "/api/v1"
_FIELD = "/{field}"


def routes_of(query_type: type[Query[Any]]) -> list[str]:
    """List the routes of a query. The route by name comes first, because `{id}` would match it."""
    by_name = name_route(query_type)
    routes = [id_route(query_type)] if by_name is None else [by_name, id_route(query_type)]
    if _FIELD in query_type.path:  # clients do not use this route: a path cannot contain a line break
        routes.append(f"{_ROOT}/{query_type.subject}/{{id}}{query_type.path}")
    return routes


def id_route(query_type: type[Query[Any]]) -> str:
    """Return the route that takes the id of the query's subject, or the only route of a query without a subject."""
    path = query_type.path.replace(_FIELD, "")
    return f"{_ROOT}/{query_type.subject}/{{id}}{path}" if query_type.subject else f"{_ROOT}{path}"


def name_route(query_type: type[Query[Any]]) -> str | None:
    """Return the route that takes the name of the query's subject, or None if the subject has no name."""
    if query_type.subject in {None, "run"}:
        return None
    return id_route(query_type).replace("{id}", "by-name")


def to_request(query: Query[Any]) -> tuple[str, dict[str, str]]:
    """Return the path and the parameters that run a query on a service."""
    query_type = type(query)
    parameters = {
        field.name: _format_parameter(value)
        for field in msgspec.structs.fields(query_type)
        if (value := getattr(query, field.name)) != field.default
    }
    if query_type.subject and "id" in parameters:
        return id_route(query_type).format(id=quote(parameters.pop("id"), safe="")), parameters
    return name_route(query_type) or id_route(query_type), parameters


def _format_parameter(value: Any) -> str:
    """Format the value of a query parameter for a URL."""
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, datetime) else str(value)
