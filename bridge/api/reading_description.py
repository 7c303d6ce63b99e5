"""The routes that answer questions, as the API describes them: made from the questions and the answers themselves."""

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from bridge.api.description import Described, refusals
from bridge.api.reading import READING_ROUTES, elsewhere
from bridge.catalogue.question import Question
from bridge.catalogue.registry import Resolve

_REF = "#/components/schemas/{name}"
#: What each question is answered of a small estate, made by `make docs`.
_EXAMPLES = Path(__file__).with_name("reading_examples.json")


@cache
def _described() -> tuple[dict[str, Described], dict[str, Described]]:
    kinds = list(dict.fromkeys(READING_ROUTES.values()))
    answers, schemas = msgspec.json.schema_components([kind.answer for kind in kinds], ref_template=_REF)
    answer_of = dict(zip(kinds, answers, strict=True))
    examples = msgspec.json.decode(_EXAMPLES.read_bytes())
    routes = {
        path: {"get": _operation(path, kind, answer_of[kind], examples[kind.__name__])}
        for path, kind in READING_ROUTES.items()
    }
    return routes, schemas


def with_reading_routes(openapi: Described) -> Described:
    """Add the routes that answer questions to a description of the others."""
    routes, schemas = _described()
    components = openapi.get("components", {})
    return {
        **openapi,
        "paths": openapi["paths"] | routes,
        "components": {**components, "schemas": components.get("schemas", {}) | schemas},
    }


def _operation(path: str, kind: type[Question[Any]], answer: Described, example: Described) -> Described:
    described = msgspec.json.schema_components([kind], ref_template=_REF)[1][kind.__name__]
    content = {"application/json": {"schema": answer, "example": example["answer"]}}
    told = {"description": "The answer.", "content": content}
    statuses: tuple[int, ...] = (400, 401, 403, 404, 500, 503) if kind.about else (400, 401, 403, 500, 503)
    statuses += (409,) if kind is Resolve else ()
    return {
        "summary": (kind.__doc__ or "").rstrip("."),
        "parameters": [
            _parameter(path, name, schema, required=name in described.get("required", ()))
            | ({"example": example["parameters"][name]} if name in example["parameters"] else {})
            for name, schema in described["properties"].items()
            if name not in elsewhere(path, kind)
        ],
        "responses": {"200": told} | {str(status): said for status, said in refusals(*statuses).items()},
    }


def _parameter(path: str, name: str, schema: Described, *, required: bool) -> Described:
    """Describe a parameter: null is said by leaving it out."""
    inside = f"{{{name}}}" in path
    choices = [choice for choice in schema.get("anyOf", [schema]) if choice.get("type") != "null"]
    (plain,) = choices
    described = plain.get("description") or schema.get("description")
    extra = {"default": schema["default"]} if schema.get("default") is not None else {}
    extra |= {"format": schema["format"]} if "format" in schema else {}
    return {
        "name": name,
        "in": "path" if inside else "query",
        "required": inside or required or (name == "name" and "by-name" in path),
        "schema": {key: value for key, value in plain.items() if key != "description"} | extra,
        **({"description": described} if described else {}),
    }
