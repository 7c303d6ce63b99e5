"""Environment variables as settings: `LINEAGE_BRIDGE__SECTION__KEY` and `..._FILE`."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_origin

from bridge.settings.model import PREFIX, Settings
from bridge.settings.yaml_model import unknown_key_message
from bridge.settings.yaml_tree import ConfigProblem, KeyPath

FILE_SUFFIX = "_FILE"


def is_secret_file_variable(name: str) -> bool:
    """Return whether a variable names a file that contains a setting; settings such as `token_file` do not count."""
    return name.startswith(PREFIX) and name.endswith(FILE_SUFFIX) and type_at(variable_path(name)) is None


def load_secret_files(secrets: dict[str, Path]) -> dict[str, ConfigProblem]:
    """Replace each `…_FILE` variable with a variable that contains the content of the file.

    Returns the problems with unreadable files by variable.
    """
    problems = {}
    for name, path in secrets.items():
        variable = name.removesuffix(FILE_SUFFIX)
        try:
            content = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            problems[name] = ConfigProblem(variable_path(variable), f"cannot read the file in {name}: {error}")
            continue
        os.environ[variable] = content.rstrip("\r\n")
        del os.environ[name]
    return problems


def environment_variables(exclude: Iterable[str] = ()) -> list[str]:
    return [name for name in os.environ if name.upper().startswith(PREFIX) and name not in exclude]


def variable_path(variable: str) -> tuple[str, ...]:
    return tuple(variable[len(PREFIX) :].lower().split("__"))


def type_at(key_path: KeyPath) -> Any:
    """Return the type of a setting or section, or None if it does not exist."""
    type_: Any = Settings
    for field_name in key_path:
        fields = getattr(type_, "model_fields", {})
        if field_name not in fields:
            return None
        type_ = fields[field_name].annotation
    return type_


def check_variable(name: str, value: str) -> ConfigProblem | None:
    """Check that a variable belongs to a setting, and that its value is JSON if the setting requires JSON."""
    key_path = variable_path(name)
    key = ".".join(key_path)
    type_: Any = Settings
    for index, field_name in enumerate(key_path):
        fields = getattr(type_, "model_fields", None)
        if fields is None:
            parent = ".".join(key_path[:index])
            return ConfigProblem(key_path, f"{name}: {parent} is a single value and has no keys")
        if field_name not in fields:
            return ConfigProblem(key_path, unknown_key_message(key_path[: index + 1], name, list(fields)))
        type_ = fields[field_name].annotation
    if hasattr(type_, "model_fields") or get_origin(type_) is list:
        try:
            json.loads(value)
        except ValueError as error:
            return ConfigProblem(key_path, f"{name}: {key} must be JSON: {error}")
    return None


@contextmanager
def without_variables(names: Iterable[str]) -> Iterator[None]:
    """Remove these environment variables inside the `with` block."""
    removed_variables = {name: os.environ.pop(name) for name in names}
    try:
        yield
    finally:
        os.environ.update(removed_variables)


def variable_origins(secrets: dict[str, Path]) -> dict[KeyPath, str]:
    """Map each setting to the variable that sets it; a variable for a section sets all settings in its value."""
    origins: dict[KeyPath, str] = {}
    for key_path, name in sorted((variable_path(name), name) for name in environment_variables()):
        label = f"{name}{FILE_SUFFIX}" if f"{name}{FILE_SUFFIX}" in secrets else name
        if hasattr(type_at(key_path), "model_fields"):
            origins |= dict.fromkeys(_setting_paths(key_path, json.loads(os.environ[name])), label)
        else:
            origins[key_path] = label
    return origins


def _setting_paths(key_path: KeyPath, content: Any) -> Iterator[KeyPath]:
    """Yield the key paths of all settings in the value of a section."""
    if not hasattr(type_at(key_path), "model_fields"):
        yield key_path
        return
    for key, value in content.items():
        yield from _setting_paths((*key_path, key), value)
