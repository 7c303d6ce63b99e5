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
    read_secret_files,
    variable_origins,
    without_variables,
)
from bridge.settings.model import INVALID_STORE_URL, PREFIX, PUBLIC_WITHOUT_KEYS, Settings
from bridge.settings.yaml_model import unknown_key_message, valid_keys
from bridge.settings.yaml_tree import ConfigProblem, KeyPath, Origin, parse_yaml, single_line
from connectors.errors import ConfigError

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class MergedConfigFiles(NamedTuple):
    """The merged content of configuration files, where each key of it comes from, and what had to be left out."""

    values: dict[str, Any]
    origins: dict[KeyPath, Origin]
    mistakes: list[ConfigProblem]


def read_config_files(paths: list[Path]) -> MergedConfigFiles:
    """Read files in order; later ones override single keys of earlier ones."""
    merged = MergedConfigFiles({}, {}, [])
    for path in paths:
        try:
            value = _read(path, merged)
        except ConfigError as error:
            merged.mistakes.append(ConfigProblem((), str(error)))
        else:
            _merge(merged.values, value)
    return merged


def _read(path: Path, merged: MergedConfigFiles) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not YAML: {single_line(error)}") from error
    value, origins, mistakes = parse_yaml(path, text, _expand_variables)
    merged.origins.update(origins)
    merged.mistakes.extend(mistakes)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: the file must hold sections, not a {type(value).__name__}")
    return value


def _expand_variables(text: str, origin: Origin) -> str:
    return _VARIABLE.sub(lambda match: _expand_variable(match, origin), text)


def _expand_variable(match: re.Match[str], origin: Origin) -> str:
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


#: What may hold a secret is not repeated in messages.
_SECRET_KEYS = frozenset({
    "sha256", "url", "db2_url", "teradata_url", "hdfs_url",
    "jwt_token", "password", "client_secret", "auth", "openmetadata", "api_key", "marquez", "webhook",
})  # fmt: skip
_TYPES_WITHOUT_VALUE = frozenset({"missing", CREDENTIALS, INCOMPLETE, NOT_SET})
#: Mistakes that are no mistakes of their own where a key was left out because of another.
_CONSEQUENTIAL_TYPES = frozenset({"missing", PUBLIC_WITHOUT_KEYS, INCOMPLETE})


class LoadedSettings(NamedTuple):
    """The settings, where those that are no defaults were set, and the files of secrets by their variables."""

    settings: Settings
    origins: dict[KeyPath, str]
    secrets: dict[str, Path]


def load_settings(paths: Sequence[Path] = ()) -> Settings:
    """Read the settings; raises ConfigError naming key, place and the nearest valid key of all that is wrong."""
    return read_configuration(paths).settings


def read_configuration(paths: Sequence[Path] = ()) -> LoadedSettings:
    """Read the settings and where they come from; raises ConfigError, a line for everything that is wrong."""
    files = read_config_files(list(paths))
    secrets = {name: Path(path) for name, path in os.environ.items() if is_secret_file_variable(name)}
    wrong = read_secret_files(secrets)
    wrong |= {
        name: mistake for name in environment_variables(wrong) if (mistake := check_variable(name, os.environ[name]))
    }
    mistakes = [*files.mistakes, *wrong.values()]
    with without_variables(wrong):
        try:
            settings = Settings(**files.values)
        except ValidationError as error:
            left_out = [mistake.at for mistake in mistakes]
            mistakes += [_explained(item, files) for item in error.errors() if not _is_consequence(item, left_out)]
    if mistakes:
        raise ConfigError("\n".join(mistake.said for mistake in mistakes))
    origins = {at: str(origin) for at, origin in files.origins.items()} | variable_origins(secrets)
    return LoadedSettings(settings, origins, secrets)


def _is_consequence(error: Any, left_out: list[KeyPath]) -> bool:
    """Tell whether a mistake is only there because something was left out."""
    loc = error["loc"]
    near = any(at == loc[: len(at)] or loc == at[: len(loc)] for at in left_out)
    return error["type"] in _CONSEQUENTIAL_TYPES and near


def _explained(error: Any, files: MergedConfigFiles) -> ConfigProblem:
    at: KeyPath = error["loc"]
    if error["type"] == INCOMPLETE:
        at = (*at, error["ctx"]["key"])
    key = ".".join(str(part) for part in at)
    origin = _origin(at, files) or key
    if (
        error["type"] == PUBLIC_WITHOUT_KEYS
    ):  # the host may have been named on the command line: then there is no place to tell
        place = _origin((*at[:-1], "host"), files) or PREFIX
        return ConfigProblem(at, error["msg"] if place.upper().startswith(PREFIX) else f"{place}: {error['msg']}")
    if error["type"] == INVALID_STORE_URL:
        return ConfigProblem(at, f"{origin}: {error['msg']}")
    if error["type"] == "extra_forbidden":
        return ConfigProblem(at, unknown_key_message(at, origin, valid_keys(Settings, at[:-1])))
    silent = error["type"] in _TYPES_WITHOUT_VALUE or at[-1] in _SECRET_KEYS
    place = key if origin == key else f"{origin}: {key}"
    return ConfigProblem(at, f"{place}: {error['msg']}" + ("" if silent else f" (got {error['input']!r})"))


def _origin(at: KeyPath, files: MergedConfigFiles) -> str | None:
    """Name the variable, else the place in a file, that set a key or what holds it."""
    holders = [at[:end] for end in range(len(at), 0, -1)]
    variables = {name.upper(): name for name in os.environ}
    named = (variables.get(PREFIX + "__".join(map(str, holder)).upper()) for holder in holders)
    places = (str(files.origins[holder]) for holder in holders if holder in files.origins)
    return next((name for name in named if name), None) or next(places, None)
