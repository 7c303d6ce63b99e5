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
    """Tell whether a variable names a file that holds a value; some settings are names of files themselves."""
    return name.startswith(PREFIX) and name.endswith(FILE_SUFFIX) and type_at(variable_path(name)) is None


def read_secret_files(secrets: dict[str, Path]) -> dict[str, ConfigProblem]:
    """Let `…_FILE` variables name files that hold the value, as secrets are mounted; gives those that cannot be."""
    wrong = {}
    for name, path in secrets.items():
        meant = name.removesuffix(FILE_SUFFIX)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            wrong[name] = ConfigProblem(variable_path(meant), f"cannot read the file of {name}: {error}")
            continue
        os.environ[meant] = text.rstrip("\r\n")
        del os.environ[name]
    return wrong


def environment_variables(but: Iterable[str] = ()) -> list[str]:
    return [name for name in os.environ if name.upper().startswith(PREFIX) and name not in but]


def variable_path(variable: str) -> tuple[str, ...]:
    return tuple(variable[len(PREFIX) :].lower().split("__"))


def type_at(at: KeyPath) -> Any:
    """Give the type of a setting or section; None where there is none."""
    kind: Any = Settings
    for part in at:
        fields = getattr(kind, "model_fields", {})
        if part not in fields:
            return None
        kind = fields[part].annotation
    return kind


def check_variable(name: str, value: str) -> ConfigProblem | None:
    """Refuse a variable that names no setting, or holds no JSON where a setting is a list or a section."""
    at = variable_path(name)
    key = ".".join(at)
    kind: Any = Settings
    for i, part in enumerate(at):
        fields = getattr(kind, "model_fields", None)
        if fields is None:
            holder = ".".join(at[:i])
            return ConfigProblem(at, f"{name}: {holder} is one value, given whole in one variable")
        if part not in fields:
            return ConfigProblem(at, unknown_key_message(at[: i + 1], name, list(fields)))
        kind = fields[part].annotation
    if hasattr(kind, "model_fields") or get_origin(kind) is list:
        try:
            json.loads(value)
        except ValueError as error:
            return ConfigProblem(at, f"{name}: {key} must be given as JSON: {error}")
    return None


@contextmanager
def without_variables(names: Iterable[str]) -> Iterator[None]:
    """Look at the other variables as if these were not set."""
    kept = {name: os.environ.pop(name) for name in names}
    try:
        yield
    finally:
        os.environ.update(kept)


def variable_origins(secrets: dict[str, Path]) -> dict[KeyPath, str]:
    """Give the variables by the settings that they set; one that holds a section sets what stands in it."""
    found: dict[KeyPath, str] = {}
    for at, name in sorted((variable_path(name), name) for name in environment_variables()):
        said = f"{name}{FILE_SUFFIX}" if f"{name}{FILE_SUFFIX}" in secrets else name
        section = hasattr(type_at(at), "model_fields")
        found |= dict.fromkeys(_settings_in(at, json.loads(os.environ[name])) if section else [at], said)
    return found


def _settings_in(at: KeyPath, content: Any) -> Iterator[KeyPath]:
    """Give the settings of a section that are named in a piece of it."""
    if not hasattr(type_at(at), "model_fields"):
        yield at
        return
    for key, value in content.items():
        yield from _settings_in((*at, key), value)
