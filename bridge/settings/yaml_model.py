"""Loads a YAML file into a pydantic model, and writes the model's JSON Schema."""

import difflib
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from bridge.settings.yaml_tree import CONTAINER_TYPES, KeyPath, Origin, describe_value, parse_yaml, single_line
from connectors.errors import ConfigError


def unknown_key_message(key_path: KeyPath, origin: object, valid_names: list[str]) -> str:
    """Build the message for an unknown key, with its origin and the nearest valid key."""
    (nearest,) = difflib.get_close_matches(str(key_path[-1]), valid_names, n=1, cutoff=0.0)
    key = ".".join(map(str, key_path))
    return f"{origin}: unknown key {key}; did you mean {nearest}? Valid: {', '.join(valid_names)}"


def valid_keys(model: type[BaseModel], key_path: KeyPath) -> list[str]:
    """List the valid keys of the section at a key path."""
    section: Any = model
    for key in key_path:
        if isinstance(key, int):
            continue
        fields = {field.alias or name: field for name, field in section.model_fields.items()}
        if key in fields:
            section = _find_model(fields[key].annotation)
    return [field.alias or name for name, field in section.model_fields.items()]


def _find_model(annotation: Any) -> Any:
    """Return the model inside an annotation such as `list[Model]`, if any."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        model = _find_model(argument)
        if model is not None:
            return model
    return None


def json_schema(model: type[BaseModel], title: str) -> str:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **model.model_json_schema(by_alias=True),
        "title": title,
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


M = TypeVar("M", bound=BaseModel)

_MAX_BYTES = 1 << 20
#: Characters that YAML can express but text columns cannot store.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
#: Error types whose messages do not repeat the value.
_TYPES_WITHOUT_VALUE = CONTAINER_TYPES | {"missing", "twice", "extra_forbidden", "unknown_view"}


def read_model(path: Path, model: type[M]) -> M:
    """Read a YAML file; raises ConfigError with one line per problem (file, line and key)."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        text = content.decode()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not valid UTF-8: {single_line(error)}") from error
    if len(content) > _MAX_BYTES:
        raise ConfigError(f"{path}: is larger than {_MAX_BYTES >> 20} MB")
    tree = parse_yaml(path, text)
    problems = [problem.message for problem in tree.problems]
    for key_path, message in _unstorable_values(tree.values):
        problems.append(f"{tree.origins.get(key_path, path)}: {'.'.join(map(str, key_path))}: {message}")
    try:
        instance = model.model_validate(tree.values)
    except ValidationError as error:
        problems += [_format_error(model, details, tree.origins, path) for details in error.errors()]
        raise ConfigError("\n".join(problems)) from error
    if problems:
        raise ConfigError("\n".join(problems))
    return instance


def read_origins(path: Path) -> dict[KeyPath, Origin]:
    """Return the file and line of each key of a YAML file that `read_model` has accepted."""
    return parse_yaml(path, path.read_text(encoding="utf-8")).origins


def _unstorable_values(value: Any, key_path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Yield path and message of every value that no store accepts; one such value would block its whole batch."""
    if isinstance(value, dict):
        for key, child in value.items():
            if _UNSTORABLE.search(key):
                yield key_path, f"key {key!r} contains unsupported characters"
            yield from _unstorable_values(child, (*key_path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _unstorable_values(child, (*key_path, index))
    elif isinstance(value, str) and _UNSTORABLE.search(value):
        yield key_path, f"contains unsupported characters{describe_value(key_path, value)}"
    elif isinstance(value, float) and not math.isfinite(value):
        yield key_path, f"is not a finite number (got {value!r})"


def _format_error(model: type[BaseModel], error: Any, origins: dict[KeyPath, Origin], path: Path) -> str:
    """Format a validation error with its origin, its key and its value."""
    # The validators of a whole model know which of its keys is wrong.
    key_path: KeyPath = (*error["loc"], *error.get("ctx", {}).get("key_path", ()))
    enclosing_paths = (key_path[:end] for end in range(len(key_path), -1, -1))
    origin = next(
        (origins[enclosing_path] for enclosing_path in enclosing_paths if enclosing_path in origins),
        Origin(str(path), 1),
    )
    key = ".".join(map(str, key_path)) or "the file"
    if error["type"] == "extra_forbidden":
        return unknown_key_message(key_path, origin, valid_keys(model, key_path[:-1]))
    if error["type"] == "missing":
        return f"{origin}: {key} is missing"
    value = "" if error["type"] in _TYPES_WITHOUT_VALUE else describe_value(key_path, error["input"])
    return f"{origin}: {key}: {error['msg']}{value}{_suggest_literal(error)}"


def _suggest_literal(error: Any) -> str:
    """Suggest the allowed value that is most similar to an invalid one."""
    if error["type"] != "literal_error" or not isinstance(error["input"], str):
        return ""
    allowed_values = re.findall(r"'([^']+)'", error["ctx"]["expected"])
    matches = difflib.get_close_matches(error["input"], allowed_values, 1)
    return f"; did you mean {matches[0]}?" if matches else ""
