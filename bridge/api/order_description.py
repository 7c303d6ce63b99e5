"""The routes of orders, as the API describes them: made from the orders themselves."""

from functools import cache
from typing import Any

import msgspec

from bridge.api.description import Described, refusals
from bridge.api.order_examples import EXAMPLES
from bridge.api.ordering import ORDER_ROUTES
from bridge.orders.order import Order

_REF = "#/components/schemas/{name}"
_REFUSED = (400, 401, 403, 404, 409, 413, 415, 500, 503)


@cache
def _described() -> tuple[dict[tuple[str, str], Described], dict[str, Described]]:
    kinds = list(ORDER_ROUTES.values())
    refs, schemas = msgspec.json.schema_components([*kinds, *(kind.answer for kind in kinds)], ref_template=_REF)
    bodies = {kind.__name__: schemas.pop(kind.__name__) for kind in kinds}
    answers = dict(zip(ORDER_ROUTES, refs[len(kinds) :], strict=True))
    routes = {route: _operation(kind, bodies[kind.__name__], answers[route]) for route, kind in ORDER_ROUTES.items()}
    return routes, schemas


def with_order_routes(openapi: Described) -> Described:
    """Add the routes of orders to a description of the others."""
    routes, schemas = _described()
    paths = dict(openapi["paths"])
    for (method, path), operation in routes.items():
        paths[path] = {**paths.get(path, {}), method.lower(): operation}
    components = openapi.get("components", {})
    return {
        **openapi,
        "paths": paths,
        "components": {**components, "schemas": components.get("schemas", {}) | schemas},
    }


def _operation(kind: type[Order[Any]], body: Described, answer: Described) -> Described:
    told = {"description": "Done.", "content": {"application/json": {"schema": answer}}}
    operation = {
        "summary": (kind.__doc__ or "").rstrip("."),
        "responses": {"200": told} | {str(status): said for status, said in refusals(*_REFUSED).items()},
    }
    example = EXAMPLES[kind]
    if kind.method == "DELETE":
        required = body.get("required", ())
        parameters = [
            {"name": name, "in": "query", "required": name in required, "schema": _plain(schema)}
            | ({"example": example[name]} if name in example else {})
            for name, schema in body["properties"].items()
        ]
        return operation | {"parameters": parameters}
    content = {"application/json": {"schema": body, "example": example}}
    return operation | {"requestBody": {"required": True, "content": content}}


def _plain(schema: Described) -> Described:
    """Describe a parameter: null is said by leaving it out."""
    plain: Described
    (plain,) = [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]
    return plain
