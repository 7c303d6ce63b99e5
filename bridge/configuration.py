"""The settings in effect: read from files and the environment, each with its origin; all mistakes told at once."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, get_origin

from pydantic import ValidationError

from bridge.config_file import ConfigFiles, read_config_files
from bridge.settings import EXPOSED, NOWHERE, PREFIX, Settings
from bridge.target_settings import CREDENTIALS, INCOMPLETE, UNSET
from bridge.unknown_key import keys_at, tell_unknown_key
from bridge.yaml_tree import KeyPath, Mistake
from mappers.errors import ConfigError

_FILE_SUFFIX = "_FILE"
#: What may hold a secret is not repeated in messages.
_UNSPOKEN = frozenset({
    "sha256", "url", "db2_url", "teradata_url", "hdfs_url",
    "jwt_token", "password", "client_secret", "auth", "openmetadata", "api_key", "marquez", "webhook",
})  # fmt: skip
_UNSPOKEN_TYPES = frozenset({"missing", CREDENTIALS, INCOMPLETE, UNSET})
#: Mistakes that are no mistakes of their own where a key was left out because of another.
_FOLLOWING = frozenset({"missing", EXPOSED, INCOMPLETE})


class Configuration(NamedTuple):
    """The settings, where those that are no defaults were set, and the files of secrets by their variables."""

    settings: Settings
    origins: dict[KeyPath, str]
    secrets: dict[str, Path]


def load_settings(paths: Sequence[Path] = ()) -> Settings:
    """Read the settings; raises ConfigError naming key, place and the nearest valid key of all that is wrong."""
    return read_configuration(paths).settings


def read_configuration(paths: Sequence[Path] = ()) -> Configuration:
    """Read the settings and where they come from; raises ConfigError, a line for everything that is wrong."""
    files = read_config_files(list(paths))
    secrets = {name: Path(path) for name, path in os.environ.items() if _names_a_secret(name)}
    wrong = _read_secret_files(secrets)
    wrong |= {name: mistake for name in _variables(wrong) if (mistake := _mistake_in(name, os.environ[name]))}
    mistakes = [*files.mistakes, *wrong.values()]
    with _left_out(wrong):
        try:
            settings = Settings(**files.values)
        except ValidationError as error:
            left_out = [mistake.at for mistake in mistakes]
            mistakes += [_explained(item, files) for item in error.errors() if not _follows(item, left_out)]
    if mistakes:
        raise ConfigError("\n".join(mistake.said for mistake in mistakes))
    origins = {at: str(origin) for at, origin in files.origins.items()} | _set_by_variables(secrets)
    return Configuration(settings, origins, secrets)


def _names_a_secret(name: str) -> bool:
    """Tell whether a variable names a file that holds a value; some settings are names of files themselves."""
    return name.startswith(PREFIX) and name.endswith(_FILE_SUFFIX) and _kind_at(_path(name)) is None


def _read_secret_files(secrets: dict[str, Path]) -> dict[str, Mistake]:
    """Let `…_FILE` variables name files that hold the value, as secrets are mounted; gives those that cannot be."""
    wrong = {}
    for name, path in secrets.items():
        meant = name.removesuffix(_FILE_SUFFIX)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            wrong[name] = Mistake(_path(meant), f"cannot read the file of {name}: {error}")
            continue
        os.environ[meant] = text.rstrip("\r\n")
        del os.environ[name]
    return wrong


def _variables(but: Iterable[str] = ()) -> list[str]:
    return [name for name in os.environ if name.upper().startswith(PREFIX) and name not in but]


def _path(variable: str) -> tuple[str, ...]:
    return tuple(variable[len(PREFIX) :].lower().split("__"))


def _kind_at(at: KeyPath) -> Any:
    """Give the type of a setting or section; None where there is none."""
    kind: Any = Settings
    for part in at:
        fields = getattr(kind, "model_fields", {})
        if part not in fields:
            return None
        kind = fields[part].annotation
    return kind


def _mistake_in(name: str, value: str) -> Mistake | None:
    """Refuse a variable that names no setting, or holds no JSON where a setting is a list or a section."""
    at = _path(name)
    key = ".".join(at)
    kind: Any = Settings
    for i, part in enumerate(at):
        fields = getattr(kind, "model_fields", None)
        if fields is None:
            holder = ".".join(at[:i])
            return Mistake(at, f"{name}: {holder} is one value, given whole in one variable")
        if part not in fields:
            return Mistake(at, tell_unknown_key(at[: i + 1], name, list(fields)))
        kind = fields[part].annotation
    if hasattr(kind, "model_fields") or get_origin(kind) is list:
        try:
            json.loads(value)
        except ValueError as error:
            return Mistake(at, f"{name}: {key} must be given as JSON: {error}")
    return None


@contextmanager
def _left_out(names: Iterable[str]) -> Iterator[None]:
    """Look at the other variables as if these were not set."""
    kept = {name: os.environ.pop(name) for name in names}
    try:
        yield
    finally:
        os.environ.update(kept)


def _follows(error: Any, left_out: list[KeyPath]) -> bool:
    """Tell whether a mistake is only there because something was left out."""
    loc = error["loc"]
    near = any(at == loc[: len(at)] or loc == at[: len(loc)] for at in left_out)
    return error["type"] in _FOLLOWING and near


def _explained(error: Any, files: ConfigFiles) -> Mistake:
    at: KeyPath = error["loc"]
    if error["type"] == INCOMPLETE:
        at = (*at, error["ctx"]["key"])
    key = ".".join(str(part) for part in at)
    origin = _origin(at, files) or key
    if error["type"] == EXPOSED:  # the host may have been named on the command line: then there is no place to tell
        place = _origin((*at[:-1], "host"), files) or PREFIX
        return Mistake(at, error["msg"] if place.upper().startswith(PREFIX) else f"{place}: {error['msg']}")
    if error["type"] == NOWHERE:
        return Mistake(at, f"{origin}: {error['msg']}")
    if error["type"] == "extra_forbidden":
        return Mistake(at, tell_unknown_key(at, origin, keys_at(Settings, at[:-1])))
    silent = error["type"] in _UNSPOKEN_TYPES or at[-1] in _UNSPOKEN
    place = key if origin == key else f"{origin}: {key}"
    return Mistake(at, f"{place}: {error['msg']}" + ("" if silent else f" (got {error['input']!r})"))


def _origin(at: KeyPath, files: ConfigFiles) -> str | None:
    """Name the variable, else the place in a file, that set a key or what holds it."""
    holders = [at[:end] for end in range(len(at), 0, -1)]
    variables = {name.upper(): name for name in os.environ}
    named = (variables.get(PREFIX + "__".join(map(str, holder)).upper()) for holder in holders)
    places = (str(files.origins[holder]) for holder in holders if holder in files.origins)
    return next((name for name in named if name), None) or next(places, None)


def _set_by_variables(secrets: dict[str, Path]) -> dict[KeyPath, str]:
    """Give the variables by the settings that they set; one that holds a section sets what stands in it."""
    found: dict[KeyPath, str] = {}
    for at, name in sorted((_path(name), name) for name in _variables()):
        said = f"{name}{_FILE_SUFFIX}" if f"{name}{_FILE_SUFFIX}" in secrets else name
        section = hasattr(_kind_at(at), "model_fields")
        found |= dict.fromkeys(_settings_in(at, json.loads(os.environ[name])) if section else [at], said)
    return found


def _settings_in(at: KeyPath, content: Any) -> Iterator[KeyPath]:
    """Give the settings of a section that are named in a piece of it."""
    if not hasattr(_kind_at(at), "model_fields"):
        yield at
        return
    for key, value in content.items():
        yield from _settings_in((*at, key), value)
