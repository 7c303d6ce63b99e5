"""A YAML file as a model, with the file, line and key of all that is wrong with it."""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from bridge.unknown_key import keys_at, tell_unknown_key
from bridge.yaml_tree import KeyPath, Origin, one_line, read_tree
from mappers.errors import ConfigError

M = TypeVar("M", bound=BaseModel)

_MOST_BYTES = 1 << 20
#: What YAML can spell and nothing that keeps texts can hold.
_UNKEPT = re.compile("[\0\ud800-\udfff]")
#: Mistakes whose words name no value: the whole of what was written would be of no help.
_UNSPOKEN = frozenset({"missing", "twice", "extra_forbidden", "model_type", "list_type", "dict_type"})


def read_model(path: Path, model: type[M]) -> M:
    """Read a file; raises ConfigError with a line for each thing that is wrong: its file, line and key."""
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
        text = raw.decode()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is no UTF-8: {one_line(error)}") from error
    if len(raw) > _MOST_BYTES:
        raise ConfigError(f"{path}: is larger than {_MOST_BYTES >> 20} MB")
    tree = read_tree(path, text)
    mistakes = [mistake.said for mistake in tree.mistakes]
    for at, said in _unkept(tree.values):
        mistakes.append(f"{tree.origins.get(at, path)}: {'.'.join(map(str, at))}: {said}")
    try:
        value = model.model_validate(tree.values)
    except ValidationError as error:
        mistakes += [_explained(model, one, tree.origins, path) for one in error.errors()]
        raise ConfigError("\n".join(mistakes)) from error
    if mistakes:
        raise ConfigError("\n".join(mistakes))
    return value


def _unkept(value: Any, at: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Find what cannot be kept: it would stop whoever writes it down, and all others with it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if _UNKEPT.search(key):
                yield at, f"the key {key!r} holds characters that no text may hold"
            yield from _unkept(inner, (*at, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _unkept(inner, (*at, i))
    elif isinstance(value, str) and _UNKEPT.search(value):
        yield at, f"holds characters that no text may hold (got {value!r})"
    elif isinstance(value, float) and not math.isfinite(value):
        yield at, f"is no number that can be kept (got {value!r})"


def _explained(model: type[BaseModel], error: Any, origins: dict[KeyPath, Origin], path: Path) -> str:
    at: KeyPath = tuple(error["loc"])
    known = next((origins[at[:end]] for end in range(len(at), -1, -1) if at[:end] in origins), Origin(str(path), 1))
    key = ".".join(map(str, at)) or "the file"
    if error["type"] == "extra_forbidden":
        return tell_unknown_key(at, known, keys_at(model, at[:-1]))
    if error["type"] == "missing":
        return f"{known}: {key} is missing"
    told = "" if error["type"] in _UNSPOKEN else f" (got {error['input']!r})"
    return f"{known}: {key}: {error['msg']}{told}"
