"""Loads settings from files and environment; reports all errors at once, with their origin."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from bridge.settings.base import CREDENTIALS, INCOMPLETE, NOT_SET
from bridge.settings.environment import (
    check_variable,
    environment_variables,
    is_secret_file_variable,
    load_secret_files,
    variable_origins,
    without_variables,
)
from bridge.settings.model import INVALID_STORE_URL, PREFIX, PUBLIC_WITHOUT_KEYS, Settings
from bridge.settings.yaml_model import unknown_key_message, valid_keys
from bridge.settings.yaml_tree import (
    CONTAINER_TYPES,
    ConfigProblem,
    KeyPath,
    Origin,
    describe_value,
    parse_yaml,
    single_line,
)
from connectors.errors import ConfigError

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*+)(?::-([^}]*+))?(\}|\Z)")


class MergedConfigFiles(NamedTuple):
    """Merged content of configuration files, origin of every key, and problems."""

    values: dict[str, Any]
    origins: dict[KeyPath, Origin]
    problems: list[ConfigProblem]


def read_config_files(paths: list[Path]) -> MergedConfigFiles:
    """Read and merge files; later files override individual keys of earlier files."""
    merged_files = MergedConfigFiles({}, {}, [])
    for path in paths:
        try:
            values = _read_config_file(path, merged_files)
        except ConfigError as error:
            merged_files.problems.append(ConfigProblem((), str(error)))
        else:
            _merge_into(merged_files.values, values)
    return merged_files


def _read_config_file(path: Path, merged: MergedConfigFiles) -> dict[str, Any]:
    """Read the values of a file; adds the origins and problems of its keys to `merged`."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not YAML: {single_line(error)}") from error
    content, origins, problems = parse_yaml(path, text, _expand_variables)
    merged.origins.update(origins)
    merged.problems.extend(problems)
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: the file must contain sections, not a {type(content).__name__}")
    return content


def _expand_variables(text: str, origin: Origin) -> str:
    return _VARIABLE.sub(lambda match: _expand_variable(match, origin), text)


def _expand_variable(match: re.Match[str], origin: Origin) -> str:
    name, default, end = match.groups()
    if not end:
        return match[0]  # not closed
    value = os.environ.get(name)
    if default is not None:
        return value or default  # as in the shell
    if value is None:
        raise ConfigError(f"{origin}: the environment variable {name} is not set")
    return value


def _merge_into(base: dict[str, Any], overrides: dict[str, Any]) -> None:
    for key, value in overrides.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            _merge_into(base[key], value)
        else:
            base[key] = value


_TYPES_WITHOUT_VALUE = CONTAINER_TYPES | {"missing", CREDENTIALS, INCOMPLETE, NOT_SET}
#: Errors that follow from another error in a related key.
_CONSEQUENTIAL_TYPES = frozenset({"missing", PUBLIC_WITHOUT_KEYS, INCOMPLETE})


class LoadedSettings(NamedTuple):
    """Settings, origins of all values that are not defaults, and secret files by variable."""

    settings: Settings
    origins: dict[KeyPath, str]
    secret_files: dict[str, Path]


def load_settings(paths: Sequence[Path] = ()) -> Settings:
    """Load settings; raises ConfigError with one line per problem: key, origin and nearest valid key."""
    return load_settings_with_origins(paths).settings


def load_settings_with_origins(paths: Sequence[Path] = ()) -> LoadedSettings:
    """Load settings with their origins; raises ConfigError with one line per problem."""
    files = read_config_files(list(paths))
    secret_files = {name: Path(path) for name, path in os.environ.items() if is_secret_file_variable(name)}
    variable_problems = load_secret_files(secret_files)
    for name in environment_variables(exclude=variable_problems):
        problem = check_variable(name, os.environ[name])
        if problem is not None:
            variable_problems[name] = problem
    problems = [*files.problems, *variable_problems.values()]
    with without_variables(variable_problems):
        try:
            settings = Settings(**files.values)
        except ValidationError as error:
            invalid_paths = [problem.key_path for problem in problems]
            problems += [
                _format_error(details, files)
                for details in error.errors()
                if not _is_consequence(details, invalid_paths)
            ]
    if problems:
        raise ConfigError("\n".join(problem.message for problem in problems))
    origins = {key_path: str(origin) for key_path, origin in files.origins.items()} | variable_origins(secret_files)
    return LoadedSettings(settings, origins, secret_files)


def _is_consequence(error: Any, invalid_paths: list[KeyPath]) -> bool:
    """Return whether an error is merely a consequence of another error in a parent or child key."""
    key_path = error["loc"]
    is_related = any(
        invalid == key_path[: len(invalid)] or key_path == invalid[: len(key_path)] for invalid in invalid_paths
    )
    return error["type"] in _CONSEQUENTIAL_TYPES and is_related


def _format_error(error: Any, files: MergedConfigFiles) -> ConfigProblem:
    """Format a validation error with its origin, its key and, unless it may be secret, its value."""
    key_path: KeyPath = error["loc"]
    if error["type"] == INCOMPLETE:
        key_path = (*key_path, error["ctx"]["key"])
    key = ".".join(str(part) for part in key_path)
    origin = _find_origin(key_path, files) or key
    if error["type"] == PUBLIC_WITHOUT_KEYS:  # a host from the command line has no file and line
        host_origin = _find_origin((*key_path[:-1], "host"), files)
        if host_origin is None or host_origin.upper().startswith(PREFIX):
            return ConfigProblem(key_path, error["msg"])
        return ConfigProblem(key_path, f"{host_origin}: {error['msg']}")
    if error["type"] == INVALID_STORE_URL:
        return ConfigProblem(key_path, f"{origin}: {error['msg']}")
    if error["type"] == "extra_forbidden":
        return ConfigProblem(key_path, unknown_key_message(key_path, origin, valid_keys(Settings, key_path[:-1])))
    label = key if origin == key else f"{origin}: {key}"
    message = f"{label}: {error['msg']}"
    if error["type"] not in _TYPES_WITHOUT_VALUE:
        message += describe_value(key_path, error["input"])
    return ConfigProblem(key_path, message)


def _find_origin(key_path: KeyPath, files: MergedConfigFiles) -> str | None:
    """Return the variable that set a key or its section; otherwise, the file and line that set it."""
    paths = [key_path[:end] for end in range(len(key_path), 0, -1)]
    variables = {name.upper(): name for name in os.environ}
    for path in paths:
        variable = PREFIX + "__".join(map(str, path)).upper()
        if variable in variables:
            return variables[variable]
    for path in paths:
        if path in files.origins:
            return str(files.origins[path])
    return None
