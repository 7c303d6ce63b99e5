"""All settings with their types, defaults and constraints."""

from typing import Literal

from platformdirs import user_data_path
from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from bridge.settings.base import Section, ServerUrl
from bridge.settings.openmetadata import OpenMetadataSettings
from bridge.settings.targets import MarquezSettings, WebhookSettings
from bridge.store.connect import StoreUrl
from connectors.errors import ConfigError
from mappers.openlineage.row_builder import DEFAULT_IGNORED_FACETS, DEFAULT_IGNORED_JOBS
from mappers.redaction import redact_user_info

PREFIX = "LINEAGE_BRIDGE__"
#: Error types whose messages already name the key.
PUBLIC_WITHOUT_KEYS, INVALID_STORE_URL = "public_without_keys", "invalid_store_url"
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

ApiScope = Literal["ingest", "read", "operate"]


def _default_store() -> str:
    return f"sqlite:///{user_data_path('lineage-bridge') / 'store.db'}"


class StoreSettings(Section):
    """Location of the canonical store."""

    url: str = Field(default_factory=_default_store)
    max_size_mb: int | None = Field(default=None, ge=1)

    @field_validator("url")
    @classmethod
    def _check_store_url(cls, url: str) -> str:
        try:
            StoreUrl(url).file  # noqa: B018 - evaluated for its errors
        except ConfigError as error:
            raise PydanticCustomError(INVALID_STORE_URL, "{problem}", {"problem": str(error)}) from error
        return url


class ApiKey(Section):
    """API key of a producer or reader; only its hash is stored."""

    name: str = Field(min_length=1)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    scopes: list[ApiScope] = Field(min_length=1)


class ServerSettings(Section):
    """Listen address and API keys."""

    host: str = "127.0.0.1"
    port: int = Field(default=8090, ge=0, le=65535)
    public_url: ServerUrl = None
    drain_seconds: int = Field(default=10, ge=1)
    api_keys: list[ApiKey] = Field(default=[], validate_default=True)

    @field_validator("api_keys")
    @classmethod
    def _require_api_keys(cls, keys: list[ApiKey], info: ValidationInfo) -> list[ApiKey]:
        """Reject a host that other machines can reach if there are no API keys."""
        host = info.data.get("host")
        if host is not None and host not in _LOOPBACK and not keys:
            raise PydanticCustomError(
                PUBLIC_WITHOUT_KEYS,
                "server.host {host} is reachable from other machines, but server.api_keys is empty, so anyone could "
                "write. Create a key with `lineage-bridge keys create NAME --scope ingest`, or listen on 127.0.0.1",
                {"host": redact_user_info(host)},
            )
        return keys


class IntakeSettings(Section):
    """Intake limits, followed files and ignored facets."""

    max_body_mb: float = Field(default=10, gt=0)
    max_unpacked_mb: float = Field(default=50, gt=0)
    max_datasets: int = Field(default=10_000, ge=1)
    max_facets: int = Field(default=2_000, ge=1)
    max_rows: int = Field(default=50_000, ge=1_000)
    max_waiting: int = Field(default=5_000, ge=1)
    max_group: int = Field(default=256, ge=1)
    keep_rejected: int = Field(default=10_000, ge=1)
    noise_facets: list[str] = sorted(DEFAULT_IGNORED_FACETS)
    ignored_jobs: list[str] = Field(default=[*DEFAULT_IGNORED_JOBS])
    tail: list[str] = Field(default=[])
    tail_poll_seconds: float = Field(default=1.0, gt=0)


class NeverLinkSettings(Section):
    """Names of datasets whose symlinks are ignored; `*` and `?` are wildcards."""

    namespace: str
    name: str = "*"


class IdentitySettings(Section):
    """Determines which names identify the same dataset."""

    never_link: list[NeverLinkSettings] = Field(default=[])
    max_names: int = Field(default=500, ge=2)
    fold_files: bool = True


class FoldingSettings(Section):
    """Folding of Spark actions into logical jobs, and retirement of edges."""

    job: Literal["parent", "application"] = "parent"
    step: Literal["effect", "listener"] = "effect"
    retire_after_runs: int = Field(default=40, ge=0, le=10_000)


class LegacySettings(Section):
    """Namespaces for the keywords of legacy jobs; URLs must not contain credentials."""

    autosys_instance: str = Field(default="default", pattern=r"^[^/\s]+$")
    db2_url: str | None = Field(default=None, pattern=r"^db2://[^/@\s]+$")
    db2_database: str | None = Field(default=None, pattern=r"^[^./\s]+$")
    teradata_url: str | None = Field(default=None, pattern=r"^teradata://[^/@\s]+$")
    hdfs_url: str | None = Field(default=None, pattern=r"^hdfs://[^/@\s]+$")


class AutosysSettings(Section):
    """Command options that name datasets, and the minimum confidence for datasets found in commands."""

    input_options: list[str] = Field(default=["--input", "--in", "--source", "--src", "--input-path"])
    output_options: list[str] = Field(default=["--output", "--out", "--target", "--dest", "--output-path"])
    least_confidence: float = Field(default=0.5, ge=0, le=1)


class GovernanceSettings(Section):
    """Asset files applied by the service, and handling of remote changes."""

    assets: list[str] = Field(default=[])
    poll_seconds: float = Field(default=10.0, gt=0)
    remote_changes: Literal["apply", "report"] = "report"
    patches: str | None = None
    contracts: bool = True
    check_names: list[str] = Field(default=[])


class ProcessSettings(Section):
    """Lake and work folder of processes, and retention of versions."""

    lake: str | None = Field(default=None, min_length=1)
    work: str = Field(default_factory=lambda: str(user_data_path("lineage-bridge") / "work"), min_length=1)
    keep_versions: int = Field(default=10, ge=1)
    keep_days: float = Field(default=7, gt=0)


class LogSettings(Section):
    """Format and level of the log."""

    format: Literal["console", "json"] = "console"
    level: Literal["debug", "info", "warning", "error"] = "info"


class Settings(BaseSettings):
    """All settings; the environment overrides files."""

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
        """Let the environment override the files."""
        return env_settings, init_settings
