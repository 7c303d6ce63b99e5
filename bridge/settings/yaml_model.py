"""Loads a YAML file into a pydantic model, and writes the model's JSON Schema."""

import difflib
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from bridge.settings.yaml_tree import KeyPath, Origin, parse_yaml, single_line
from connectors.errors import ConfigError


def unknown_key_message(at: KeyPath, origin: object, valid: list[str]) -> str:
    """Say that a key is unknown, where it was set, and which one was meant."""
    (near,) = difflib.get_close_matches(str(at[-1]), valid, n=1, cutoff=0.0)
    key = ".".join(map(str, at))
    return f"{origin}: unknown key {key}; did you mean {near}? Valid: {', '.join(valid)}"


def valid_keys(model: type[BaseModel], at: KeyPath) -> list[str]:
    """Give the keys that may stand at a place of a model."""
    found: Any = model
    for part in at:
        if isinstance(part, int):
            continue
        fields = {field.alias or name: field for name, field in found.model_fields.items()}
        found = _model_in(fields[part].annotation) if part in fields else found
    return [field.alias or name for name, field in found.model_fields.items()]


def _model_in(annotation: Any) -> Any:
    """Find the model within an annotation such as a list of it, or nothing."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_in(one) for one in getattr(annotation, "__args__", ()))
    return next((one for one in inner if one is not None), None)


def json_schema(model: type[BaseModel], title: str) -> str:
    """Write the schema."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **model.model_json_schema(by_alias=True),
        "title": title,
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


M = TypeVar("M", bound=BaseModel)

_MAX_BYTES = 1 << 20
#: What YAML can spell and nothing that keeps texts can hold.
_UNKEPT = re.compile("[\0\ud800-\udfff]")
#: Mistakes whose words name no value: the whole of what was written would be of no help.
_UNSPOKEN = frozenset({"missing", "twice", "extra_forbidden", "model_type", "list_type", "dict_type"})


def read_model(path: Path, model: type[M]) -> M:
    """Read a file; raises ConfigError with a line for each thing that is wrong: its file, line and key."""
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)
        text = raw.decode()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is no UTF-8: {single_line(error)}") from error
    if len(raw) > _MAX_BYTES:
        raise ConfigError(f"{path}: is larger than {_MAX_BYTES >> 20} MB")
    tree = parse_yaml(path, text)
    mistakes = [mistake.said for mistake in tree.mistakes]
    for at, said in _unstorable_values(tree.values):
        mistakes.append(f"{tree.origins.get(at, path)}: {'.'.join(map(str, at))}: {said}")
    try:
        value = model.model_validate(tree.values)
    except ValidationError as error:
        mistakes += [_format_error(model, one, tree.origins, path) for one in error.errors()]
        raise ConfigError("\n".join(mistakes)) from error
    if mistakes:
        raise ConfigError("\n".join(mistakes))
    return value


def _unstorable_values(value: Any, at: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Find what cannot be kept: it would stop whoever writes it down, and all others with it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if _UNKEPT.search(key):
                yield at, f"the key {key!r} holds characters that no text may hold"
            yield from _unstorable_values(inner, (*at, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _unstorable_values(inner, (*at, i))
    elif isinstance(value, str) and _UNKEPT.search(value):
        yield at, f"holds characters that no text may hold (got {value!r})"
    elif isinstance(value, float) and not math.isfinite(value):
        yield at, f"is no number that can be kept (got {value!r})"


def _format_error(model: type[BaseModel], error: Any, origins: dict[KeyPath, Origin], path: Path) -> str:
    at: KeyPath = tuple(error["loc"])
    known = next((origins[at[:end]] for end in range(len(at), -1, -1) if at[:end] in origins), Origin(str(path), 1))
    key = ".".join(map(str, at)) or "the file"
    if error["type"] == "extra_forbidden":
        return unknown_key_message(at, known, valid_keys(model, at[:-1]))
    if error["type"] == "missing":
        return f"{known}: {key} is missing"
    told = "" if error["type"] in _UNSPOKEN else f" (got {error['input']!r})"
    return f"{known}: {key}: {error['msg']}{told}"
