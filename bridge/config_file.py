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


class ConfigFiles(NamedTuple):
    """The merged content of configuration files, and where each key of it comes from."""

    values: dict[str, Any]
    origins: dict[KeyPath, Origin]


def read_config_files(paths: list[Path]) -> ConfigFiles:
    """Read files in order; later ones override single keys of earlier ones."""
    merged = ConfigFiles({}, {})
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
            node = yaml.compose(text, Loader=yaml.SafeLoader)
        except OSError as error:
            raise ConfigError(f"cannot read the configuration {path}: {error.strerror}") from error
        except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
            raise ConfigError(f"{path} is not YAML: {_one_line(error)}") from error
        if node is None:
            continue
        try:
            value = _build(node, (), path, merged.origins, set())
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise ConfigError(f"{path} is not YAML as it is read here: {_one_line(error)}") from error
        if value is None:
            continue
        if not isinstance(value, dict):
            raise ConfigError(f"{path}: the file must hold sections, not a {type(value).__name__}")
        _merge(merged.values, value)
    return merged


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _build(node: yaml.Node, at: KeyPath, path: Path, origins: dict[KeyPath, Origin], seen: set[int]) -> Any:
    origins[at] = Origin(str(path), node.start_mark.line + 1)
    if id(node) in seen:
        raise ConfigError(f"{origins[at]}: YAML aliases are not supported: write the value out")
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        mapping = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            if key in mapping:
                raise ConfigError(f"{path}:{key_node.start_mark.line + 1}: {key} is set twice")
            mapping[key] = _build(value_node, (*at, key), path, origins, seen)
            origins[*at, key] = Origin(str(path), key_node.start_mark.line + 1)
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return [_build(item, (*at, i), path, origins, seen) for i, item in enumerate(node.value)]
    if node.tag == "tag:yaml.org,2002:str":
        return _VARIABLE.sub(lambda match: _variable(match, origins[at]), str(node.value))
    return yaml.SafeLoader("").construct_object(node)


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
