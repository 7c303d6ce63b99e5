"""Settings of the OpenMetadata target; incomplete settings are rejected if the target is enabled."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from bridge.settings.base import (
    API_PATH_SUFFIX,
    INCOMPLETE,
    MissingSetting,
    Secret,
    Section,
    ServerUrl,
    SyncFrequency,
    frequency_seconds,
)
from bridge.settings.targets import RetrySettings

_PLACEHOLDERS = ("namespace", "database", "schema", "folder")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def _check_template(template: str) -> str:
    unknown_names = sorted({*_PLACEHOLDER.findall(template)} - {*_PLACEHOLDERS})
    if unknown_names:
        placeholders = ", ".join(f"{{{name}}}" for name in _PLACEHOLDERS)
        unknown_name, *_ = unknown_names
        message = f"{{{unknown_name}}} is not a placeholder; placeholders: {placeholders}"
        raise PydanticCustomError("template", "{problem}", {"problem": message})
    return template


NameTemplate = Annotated[str, Field(min_length=1), AfterValidator(_check_template)] | None


class OpenMetadataServerSettings(Section):
    """Location of the OpenMetadata server."""

    host: ServerUrl = None
    api_version: Literal["v1"] = "v1"

    @field_validator("host")
    @classmethod
    def _strip_api_path(cls, host: str | None) -> str | None:
        return host and API_PATH_SUFFIX.sub("", host)

    def find_missing_setting(self) -> MissingSetting | None:
        """Return the required key that is missing, if any."""
        if self.host:
            return None
        return MissingSetting("host", "is not set: name the server, such as https://om.example.com")


class OpenMetadataAuthSettings(Section):
    """Authentication of the bridge."""

    type: Literal["jwt", "basic", "oauth"] = "jwt"
    jwt_token: Secret | None = None
    token_file: Path | None = None
    username: str | None = None
    password: Secret | None = None
    token_url: ServerUrl = None
    client_id: str | None = None
    client_secret: Secret | None = None
    scope: str | None = None

    def find_missing_setting(self) -> MissingSetting | None:
        """Return the key that this type of authentication lacks, if any."""
        if self.type == "jwt":
            return self._find_missing_token_setting()
        required_settings: dict[str, Secret | str | None] = {"username": self.username, "password": self.password}
        if self.type == "oauth":
            required_settings = {
                "token_url": self.token_url,
                "client_id": self.client_id,
                "client_secret": self.client_secret,
            }
        missing_keys = [key for key, value in required_settings.items() if not value]
        if not missing_keys:
            return None
        return MissingSetting(
            missing_keys[0], f"is not set; type {self.type} requires {', '.join(required_settings)}"
        )

    def _find_missing_token_setting(self) -> MissingSetting | None:
        if self.jwt_token and self.token_file:
            return MissingSetting("jwt_token", "conflicts with token_file: set only one of them")
        if self.jwt_token or self.token_file:
            return None
        if self.jwt_token is None:
            return MissingSetting("jwt_token", "is not set; type jwt requires jwt_token or token_file")
        return MissingSetting(
            "jwt_token", "is empty: check the environment variable it refers to, or copy the token of the bot"
        )


class OpenMetadataServiceSettings(Section):
    """Service for datasets in namespaces without a mapping."""

    name: str = Field(default="lineage_bridge", min_length=1, max_length=256)
    type: Literal["databaseService"] = "databaseService"
    description: str = "Datasets of namespaces without a mapping in lineage-bridge."


class OpenMetadataSyncSettings(Section):
    """Determines which kinds of items are synced, and how often everything is compared."""

    register_on_completion: bool = True
    update_on_schema_change: bool = True
    track_lineage: bool = True
    track_column_lineage: bool = True
    publish_quality_results: bool = True
    publish_profiling_metrics: bool = True
    sync_governance_metadata: bool = True
    sync_frequency: SyncFrequency = "hourly"

    @property
    def comparison_interval_seconds(self) -> float | None:
        """Seconds between comparisons, or None if nothing is compared."""
        return frequency_seconds(self.sync_frequency)


class NamespaceMapping(Section):
    """Service and name templates of a namespace; `*` matches anything."""

    namespace: str = Field(min_length=1)
    service: str = Field(min_length=1, max_length=256)
    database: NameTemplate = None
    schema_: NameTemplate = Field(default=None, alias="schema")


ConflictWinner = Literal["report", "local", "remote"]
_GOVERNANCE_FIELDS = frozenset({
    "description", "displayName", "owners", "tags", "glossaryTerms", "tier", "domain", "dataProducts",
    "retentionPeriod", "certification", "customProperties", "columns",
})  # fmt: skip


def _check_field(field: str) -> str:
    if field.partition(".")[0] not in _GOVERNANCE_FIELDS:
        valid_fields = ", ".join(sorted(_GOVERNANCE_FIELDS))
        raise PydanticCustomError("field", "{problem}", {"problem": f"unknown field {field}; fields: {valid_fields}"})
    return field


class OpenMetadataGovernanceSettings(Section):
    """Names of tags and terms in OpenMetadata, and conflict policies."""

    classification: str = Field(default="LineageBridge", pattern=r"^[^.\"]+$", max_length=128)
    glossary: str = Field(default="LineageBridge", pattern=r"^[^.\"]+$", max_length=128)
    access_classification: str = Field(default="LineageBridgeAccess", pattern=r"^[^.\"]+$", max_length=128)
    tags: dict[str, str] = Field(default={"PII": "PII.Sensitive"})
    conflicts: ConflictWinner = "report"
    conflicts_of: dict[Annotated[str, AfterValidator(_check_field)], ConflictWinner] = Field(default={})


class OpenMetadataSettings(Section):
    """The OpenMetadata target."""

    enabled: bool = False
    server: OpenMetadataServerSettings = Field(default=OpenMetadataServerSettings(), validate_default=True)
    auth: OpenMetadataAuthSettings = Field(default=OpenMetadataAuthSettings(), validate_default=True)
    service: OpenMetadataServiceSettings = OpenMetadataServiceSettings()
    sync: OpenMetadataSyncSettings = OpenMetadataSyncSettings()
    governance: OpenMetadataGovernanceSettings = OpenMetadataGovernanceSettings()
    batch_size: int = Field(default=100, ge=1, le=500)
    retry_config: RetrySettings = RetrySettings()
    mappings: list[NamespaceMapping] = Field(default=[])
    paths_as: Literal["table", "container"] = "table"
    concurrency: int = Field(default=8, ge=1, le=16)
    rate: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    create: Literal["all", "entities", "nothing"] = "all"
    most_deletions: int = Field(default=50, ge=0)
    unresolved: Literal["report", "own_service"] = "report"

    @property
    def sync_frequency(self) -> str:
        """How often the whole target is compared with the store."""
        return self.sync.sync_frequency

    @property
    def comparison_interval_seconds(self) -> float | None:
        """Seconds between comparisons, or None if nothing is compared."""
        return self.sync.comparison_interval_seconds

    @field_validator("server", "auth")
    @classmethod
    def _require_complete(
        cls, section: OpenMetadataServerSettings | OpenMetadataAuthSettings, info: ValidationInfo
    ) -> OpenMetadataServerSettings | OpenMetadataAuthSettings:
        missing_setting = section.find_missing_setting() if info.data.get("enabled") else None
        if missing_setting is not None:
            raise PydanticCustomError(INCOMPLETE, "{message}", missing_setting._asdict())
        return section
