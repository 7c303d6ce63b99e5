"""All settings with their types, defaults and constraints."""

from typing import Literal

from platformdirs import user_data_path
from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from bridge.settings.base import Section
from bridge.settings.openmetadata import OpenMetadataSettings
from bridge.settings.targets import MarquezSettings, WebhookSettings
from bridge.store.connect import StoreUrl
from connectors.errors import ConfigError
from mappers.openlineage.row_builder import DEFAULT_IGNORED_FACETS

PREFIX = "LINEAGE_BRIDGE__"
#: The types of mistakes whose messages name the key: the service is open to everybody, the store is nowhere.
PUBLIC_WITHOUT_KEYS, INVALID_STORE_URL = "exposed", "nowhere"
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

ApiScope = Literal["ingest", "read", "operate"]


def _default_store() -> str:
    return f"sqlite:///{user_data_path('lineage-bridge') / 'store.db'}"


class StoreSettings(Section):
    """Where the canonical store lives."""

    url: str = Field(default_factory=_default_store)
    max_size_mb: int | None = Field(default=None, ge=1)

    @field_validator("url")
    @classmethod
    def _check_store_url(cls, url: str) -> str:
        try:
            StoreUrl(url).file  # noqa: B018 - it is asked for what it refuses
        except ConfigError as error:
            raise PydanticCustomError(INVALID_STORE_URL, "{said}", {"said": str(error)}) from error
        return url


class ApiKey(Section):
    """A producer's or reader's key: only its hash is kept."""

    name: str = Field(min_length=1)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    scopes: list[ApiScope] = Field(min_length=1)


class ServerSettings(Section):
    """Where the service listens, and who may speak to it."""

    host: str = "127.0.0.1"
    port: int = Field(default=8090, ge=0, le=65535)
    drain_seconds: int = Field(default=10, ge=1)
    api_keys: list[ApiKey] = Field(default=[], validate_default=True)

    @field_validator("api_keys")
    @classmethod
    def _require_api_keys(cls, keys: list[ApiKey], others: ValidationInfo) -> list[ApiKey]:
        host = others.data.get("host")
        if host is not None and host not in _LOOPBACK and not keys:
            raise PydanticCustomError(
                PUBLIC_WITHOUT_KEYS,
                "server.host {host} can be reached from other machines, and server.api_keys is empty: anybody could "
                "write. Make a key with `lineage-bridge keys create NAME --scope ingest`, or listen on 127.0.0.1",
                {"host": host},
            )
        return keys


class IntakeSettings(Section):
    """How much the intake takes at once, and what it leaves out."""

    max_body_mb: float = Field(default=10, gt=0)
    max_unpacked_mb: float = Field(default=50, gt=0)
    max_datasets: int = Field(default=10_000, ge=1)
    max_facets: int = Field(default=2_000, ge=1)
    max_waiting: int = Field(default=5_000, ge=1)
    max_group: int = Field(default=256, ge=1)
    keep_rejected: int = Field(default=10_000, ge=1)
    noise_facets: list[str] = sorted(DEFAULT_IGNORED_FACETS)
    tail: list[str] = Field(default=[])
    tail_poll_seconds: float = Field(default=1.0, gt=0)


class NeverLinkSettings(Section):
    """A name whose symlinks are not believed; `*` and `?` are wildcards."""

    namespace: str
    name: str = "*"


class IdentitySettings(Section):
    """Which names are the same dataset."""

    never_link: list[NeverLinkSettings] = Field(default=[])


class FoldingSettings(Section):
    """How the actions of a Spark application are shown as one job, and when what it no longer does is gone."""

    job: Literal["parent", "application"] = "parent"
    step: Literal["effect", "listener"] = "effect"
    retire_after_runs: int = Field(default=40, ge=0, le=10_000)


class LegacySettings(Section):
    """What the words stand for that legacy jobs use instead of addresses; an address holds no password."""

    autosys_instance: str = Field(default="default", pattern=r"^[^/\s]+$")
    db2_url: str | None = Field(default=None, pattern=r"^db2://[^/@\s]+$")
    db2_database: str | None = Field(default=None, pattern=r"^[^./\s]+$")
    teradata_url: str | None = Field(default=None, pattern=r"^teradata://[^/@\s]+$")
    hdfs_url: str | None = Field(default=None, pattern=r"^hdfs://[^/@\s]+$")


class AutosysSettings(Section):
    """What a scan of definitions takes for datasets."""

    input_options: list[str] = Field(default=["--input", "--in", "--source", "--src", "--input-path"])
    output_options: list[str] = Field(default=["--output", "--out", "--target", "--dest", "--output-path"])
    least_confidence: float = Field(default=0.5, ge=0, le=1)


class GovernanceSettings(Section):
    """Which asset files the service keeps true, and what becomes of changes that others make in OpenMetadata."""

    assets: list[str] = Field(default=[])
    poll_seconds: float = Field(default=10.0, gt=0)
    remote_changes: Literal["apply", "report"] = "report"
    patches: str | None = None
    contracts: bool = True


class ProcessSettings(Section):
    """Where processes keep what they write, and for how long they keep what nobody needs."""

    lake: str | None = Field(default=None, min_length=1)
    work: str = Field(default_factory=lambda: str(user_data_path("lineage-bridge") / "work"), min_length=1)
    keep_versions: int = Field(default=10, ge=1)
    keep_days: float = Field(default=7, gt=0)


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
    autosys: AutosysSettings = AutosysSettings()
    openmetadata: OpenMetadataSettings = OpenMetadataSettings()
    marquez: MarquezSettings = MarquezSettings()
    webhook: WebhookSettings = WebhookSettings()
    governance: GovernanceSettings = GovernanceSettings()
    process: ProcessSettings = ProcessSettings()
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
