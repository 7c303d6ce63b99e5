"""Configuration files: YAML read with the line of every key, so that errors can point at them."""

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from bridge.yaml_tree import KeyPath, Mistake, Origin, one_line, read_tree
from mappers.errors import ConfigError

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


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
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not YAML: {one_line(error)}") from error
    value, origins, mistakes = read_tree(path, text, _with_variables)
    merged.origins.update(origins)
    merged.mistakes.extend(mistakes)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: the file must hold sections, not a {type(value).__name__}")
    return value


def _with_variables(text: str, origin: Origin) -> str:
    return _VARIABLE.sub(lambda match: _variable(match, origin), text)


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
