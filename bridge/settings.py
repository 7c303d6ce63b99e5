"""Every setting of the bridge, from files and the environment, typed and checked at the start."""

import difflib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_origin

from platformdirs import user_data_path
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from bridge.config_file import ConfigFiles, KeyPath, read_config_files
from mappers.errors import ConfigError
from mappers.openlineage.statements import DEFAULT_NOISE

PREFIX = "LINEAGE_BRIDGE__"
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_FILE_SUFFIX = "_FILE"
#: What may hold a secret is not repeated in messages.
_UNSPOKEN = frozenset({"sha256", "url", "db2_url", "teradata_url", "hdfs_url"})

Scope = Literal["ingest", "read", "operate"]


class Section(BaseModel):
    """A group of settings; a key it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _default_store() -> str:
    return f"sqlite:///{user_data_path('lineage-bridge') / 'store.db'}"


class StoreSettings(Section):
    """Where the canonical store lives."""

    url: str = Field(default_factory=_default_store)
    max_size_mb: int | None = Field(default=None, ge=1)


class ApiKey(Section):
    """A producer's or reader's key: only its hash is kept."""

    name: str = Field(min_length=1)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    scopes: list[Scope] = Field(min_length=1)


class ServerSettings(Section):
    """Where the service listens, and who may speak to it."""

    host: str = "127.0.0.1"
    port: int = Field(default=8090, ge=0, le=65535)
    drain_seconds: int = Field(default=10, ge=1)
    api_keys: list[ApiKey] = []


class IntakeSettings(Section):
    """How much the intake takes at once, and what it leaves out."""

    max_body_mb: float = Field(default=10, gt=0)
    max_unpacked_mb: float = Field(default=50, gt=0)
    max_datasets: int = Field(default=10_000, ge=1)
    max_facets: int = Field(default=2_000, ge=1)
    max_waiting: int = Field(default=5_000, ge=1)
    max_group: int = Field(default=256, ge=1)
    keep_rejected: int = Field(default=10_000, ge=1)
    noise_facets: list[str] = sorted(DEFAULT_NOISE)
    tail: list[str] = []
    tail_poll_seconds: float = Field(default=1.0, gt=0)


class NeverLinkRule(Section):
    """A name whose symlinks are not believed; `*` and `?` are wildcards."""

    namespace: str
    name: str = "*"


class IdentitySettings(Section):
    """Which names are the same dataset."""

    never_link: list[NeverLinkRule] = []


class FoldingSettings(Section):
    """How the actions of a Spark application are shown as one job."""

    job: Literal["parent", "application"] = "parent"
    step: Literal["effect", "listener"] = "effect"


class LegacySettings(Section):
    """What the words stand for that legacy jobs use instead of addresses; an address holds no password."""

    autosys_instance: str = Field(default="default", pattern=r"^[^/\s]+$")
    db2_url: str | None = Field(default=None, pattern=r"^db2://[^/@\s]+$")
    db2_database: str | None = Field(default=None, pattern=r"^[^./\s]+$")
    teradata_url: str | None = Field(default=None, pattern=r"^teradata://[^/@\s]+$")
    hdfs_url: str | None = Field(default=None, pattern=r"^hdfs://[^/@\s]+$")


class LogSettings(Section):
    """How the service writes its log."""

    format: Literal["console", "json"] = "console"
    level: Literal["debug", "info", "warning", "error"] = "info"


class Settings(BaseSettings):
    """Everything that can be set; the environment overrides files."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        nested_model_default_partial_update=True,
    )

    org: str = Field(default="default", min_length=1, max_length=64)
    store: StoreSettings = StoreSettings()
    server: ServerSettings = ServerSettings()
    intake: IntakeSettings = IntakeSettings()
    identity: IdentitySettings = IdentitySettings()
    folding: FoldingSettings = FoldingSettings()
    legacy: LegacySettings = LegacySettings()
    log: LogSettings = LogSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the signature is pydantic-settings'
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - as above
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - as above
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let the environment win over the files."""
        return env_settings, init_settings


def load_settings(paths: Sequence[Path] = ()) -> Settings:
    """Read the settings; raises ConfigError naming key, place and the nearest valid key."""
    files = read_config_files(list(paths))
    _read_secret_files()
    _check_variables()
    try:
        settings = Settings(**files.values)
    except ValidationError as error:
        raise ConfigError("\n".join(_explain(item, files) for item in error.errors())) from error
    _check_exposure(settings)
    return settings


def secret_files() -> dict[str, Path]:
    """Give the files that hold the value of a setting, by the `…_FILE` variables that name them."""
    return {n: Path(path) for n, path in os.environ.items() if n.startswith(PREFIX) and n.endswith(_FILE_SUFFIX)}


def _read_secret_files() -> None:
    """Let `…_FILE` variables name files that hold the value, as secrets are mounted."""
    for name, path in secret_files().items():
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot read the file of {name}: {error}") from error
        os.environ[name.removesuffix(_FILE_SUFFIX)] = text.rstrip("\r\n")
        del os.environ[name]


def _check_variables() -> None:
    """Refuse a variable that names no setting, or holds no JSON where a setting is a list or a section."""
    for name, value in os.environ.items():
        if not name.upper().startswith(PREFIX):
            continue
        parts = name[len(PREFIX) :].lower().split("__")
        kind: Any = Settings
        for i, part in enumerate(parts):
            fields = getattr(kind, "model_fields", None)
            if fields is None:
                raise ConfigError(f"{name}: {'.'.join(parts[:i])} is one value, given whole in one variable")
            if part not in fields:
                raise ConfigError(_unknown(".".join(parts[: i + 1]), name, list(fields)))
            kind = fields[part].annotation
        if hasattr(kind, "model_fields") or get_origin(kind) is list:
            try:
                json.loads(value)
            except ValueError as error:
                raise ConfigError(f"{name}: {'.'.join(parts)} must be given as JSON: {error}") from error


def _explain(error: Any, files: ConfigFiles) -> str:
    at: KeyPath = error["loc"]
    key = ".".join(str(part) for part in at)
    origin = _origin(at, files) or key
    if error["type"] == "extra_forbidden":
        return _unknown(key, origin, _fields_at(at[:-1]))
    silent = error["type"] == "missing" or at[-1] in _UNSPOKEN
    return f"{origin}: {key}: {error['msg']}" + ("" if silent else f" (got {error['input']!r})")


def _origin(at: KeyPath, files: ConfigFiles) -> str | None:
    """Name the variable, else the place in a file, that set a key or what holds it."""
    holders = [at[:end] for end in range(len(at), 0, -1)]
    variables = {name.upper(): name for name in os.environ}
    named = (variables.get(PREFIX + "__".join(map(str, holder)).upper()) for holder in holders)
    places = (str(files.origins[holder]) for holder in holders if holder in files.origins)
    return next((name for name in named if name), None) or next(places, None)


def _unknown(key: str, origin: str, valid: list[str]) -> str:
    near = difflib.get_close_matches(key.rpartition(".")[2], valid, n=1, cutoff=0.0)
    return f"{origin}: unknown key {key}; did you mean {near[0] if near else valid[0]}? Valid: {', '.join(valid)}"


def _fields_at(at: KeyPath) -> list[str]:
    model: Any = Settings
    for part in at:
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation
        model = next((a for a in getattr(annotation, "__args__", ()) if hasattr(a, "model_fields")), annotation)
    return list(model.model_fields)


def _check_exposure(settings: Settings) -> None:
    if settings.server.host not in _LOOPBACK and not settings.server.api_keys:
        raise ConfigError(
            f"server.host {settings.server.host} can be reached from other machines, and server.api_keys is "
            "empty: anybody could write. Make a key with `lineage-bridge keys create NAME --scope ingest`, "
            "or listen on 127.0.0.1"
        )
