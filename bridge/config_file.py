"""Configuration files: YAML read with the line of every key, so that errors can point at them."""

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from mappers.errors import ConfigError

#: The path of a key inside a file: section names and list positions.
KeyPath = tuple[str | int, ...]

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class Origin(NamedTuple):
    """Where a key was set."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Mistake(NamedTuple):
    """What is wrong, and the key that is left out because of it; no key means a whole file."""

    at: KeyPath
    said: str


class ConfigFiles(NamedTuple):
    """The merged content of configuration files, where each key of it comes from, and what had to be left out."""

    values: dict[str, Any]
    origins: dict[KeyPath, Origin]
    mistakes: list[Mistake]


def read_config_files(paths: list[Path]) -> ConfigFiles:
    """Read files in order; later ones override single keys of earlier ones."""
    merged = ConfigFiles({}, {}, [])
    for path in paths:
        try:
            value = _read(path, merged)
        except ConfigError as error:
            merged.mistakes.append(Mistake((), str(error)))
        else:
            _merge(merged.values, value)
    return merged


def _read(path: Path, merged: ConfigFiles) -> dict[str, Any]:
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
        value = _Building(path, merged).value(node, ()) if node is not None else None
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not YAML: {_one_line(error)}") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: the file must hold sections, not a {type(value).__name__}")
    return value


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


class _Building:
    """Makes values of the nodes of one file; a key whose value cannot be made is left out, and told."""

    def __init__(self, path: Path, merged: ConfigFiles) -> None:
        self._path = path
        self._origins = merged.origins
        self._mistakes = merged.mistakes
        self._seen: set[int] = set()

    def value(self, node: yaml.Node, at: KeyPath) -> Any:
        """Give what a node says; raises ConfigError when there is no telling."""
        self._origins[at] = origin = Origin(str(self._path), node.start_mark.line + 1)
        if id(node) in self._seen:
            raise ConfigError(f"{origin}: YAML aliases are not supported: write the value out")
        self._seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, at)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*at, i)) for i, item in enumerate(node.value)]
        if node.tag == "tag:yaml.org,2002:str":
            return _VARIABLE.sub(lambda match: _variable(match, origin), str(node.value))
        try:
            return yaml.SafeLoader("").construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            raise ConfigError(f"{origin}: this is not YAML as it is read here: {_one_line(error)}") from error

    def _mapping(self, node: yaml.MappingNode, at: KeyPath) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            place = Origin(str(self._path), key_node.start_mark.line + 1)
            if key in mapping:
                self._mistakes.append(Mistake((*at, key), f"{place}: {key} is set twice"))
                continue
            try:
                mapping[key] = self.value(value_node, (*at, key))
            except ConfigError as error:
                self._mistakes.append(Mistake((*at, key), str(error)))
            self._origins[*at, key] = place
        return mapping


def _variable(match: re.Match[str], origin: Origin) -> str:
    name, default = match.groups()
    value = os.environ.get(name)
    if default is not None:
        return value or default  # as in the shell, from where people know this
    if value is None:
        raise ConfigError(f"{origin}: the environment variable {name} is not set")
    return value


def _merge(base: dict[str, Any], over: dict[str, Any]) -> None:
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            _merge(base[key], value)
        else:
            base[key] = value
