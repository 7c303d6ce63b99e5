"""Settings of the OpenMetadata target; incomplete settings are rejected once it is enabled."""

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
    seconds_of,
)
from bridge.settings.targets import RetrySettings

_WORDS = ("namespace", "database", "schema", "folder")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def _template(template: str) -> str:
    unknown = sorted({*_PLACEHOLDER.findall(template)} - {*_WORDS})
    if unknown:
        known = ", ".join(f"{{{word}}}" for word in _WORDS)
        said = f"{{{unknown[0]}}} stands for nothing; known are {known}"
        raise PydanticCustomError("template", "{said}", {"said": said})
    return template


NameTemplate = Annotated[str, Field(min_length=1), AfterValidator(_template)] | None


class OpenMetadataServerSettings(Section):
    """Where OpenMetadata is."""

    host: ServerUrl = None
    api_version: Literal["v1"] = "v1"

    @field_validator("host")
    @classmethod
    def _strip_api_path(cls, host: str | None) -> str | None:
        return host and API_PATH_SUFFIX.sub("", host)

    def missing_setting(self) -> MissingSetting | None:
        """Tell what is missing."""
        return (
            None
            if self.host
            else MissingSetting("host", "is not set: name the server, such as https://om.example.com")
        )


class OpenMetadataAuthSettings(Section):
    """How the bridge proves who it is."""

    type: Literal["jwt", "basic", "oauth"] = "jwt"
    jwt_token: Secret | None = None
    token_file: Path | None = None
    username: str | None = None
    password: Secret | None = None
    token_url: ServerUrl = None
    client_id: str | None = None
    client_secret: Secret | None = None
    scope: str | None = None

    def missing_setting(self) -> MissingSetting | None:
        """Tell what the type of authentication lacks."""
        if self.type == "jwt":
            return self._missing_token_setting()
        wanted = {
            "basic": {"username": self.username, "password": self.password},
            "oauth": {
                "token_url": self.token_url,
                "client_id": self.client_id,
                "client_secret": self.client_secret,
            },
        }[self.type]
        missing = [key for key, value in wanted.items() if not value]
        if not missing:
            return None
        return MissingSetting(missing[0], f"is not set; type {self.type} needs {', '.join(wanted)}")

    def _missing_token_setting(self) -> MissingSetting | None:
        if self.jwt_token and self.token_file:
            return MissingSetting("jwt_token", "is set, and so is token_file: leave one of them out")
        if self.jwt_token or self.token_file:
            return None
        if self.jwt_token is None:
            return MissingSetting("jwt_token", "is not set; type jwt needs jwt_token or token_file")
        return MissingSetting(
            "jwt_token", "is empty: is the variable that it names set to nothing? Copy the bot's token"
        )


class OpenMetadataServiceSettings(Section):
    """Where datasets go whose namespace no mapping names."""

    name: str = Field(default="lineage_bridge", min_length=1, max_length=256)
    type: Literal["databaseService"] = "databaseService"
    description: str = "Datasets of namespaces that lineage-bridge was given no mapping for."


class OpenMetadataSyncSettings(Section):
    """What is sent, and when everything is compared."""

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
        """Give the time from one comparison of everything to the next; None where there is none."""
        return seconds_of(self.sync_frequency)


class NamespaceMapping(Section):
    """Which service a namespace is, where `*` stands for anything, and how names are laid out in it."""

    namespace: str = Field(min_length=1)
    service: str = Field(min_length=1, max_length=256)
    database: NameTemplate = None
    schema_: NameTemplate = Field(default=None, alias="schema")


ConflictWinner = Literal["report", "local", "remote"]
_GOVERNED = frozenset({
    "description", "displayName", "owners", "tags", "glossaryTerms", "tier", "domain", "dataProducts",
    "retentionPeriod", "certification", "customProperties", "columns",
})  # fmt: skip


def _governed(field: str) -> str:
    if field.partition(".")[0] not in _GOVERNED:
        known = ", ".join(sorted(_GOVERNED))
        raise PydanticCustomError("field", "{said}", {"said": f"{field} is no field; known are {known}"})
    return field


class OpenMetadataGovernanceSettings(Section):
    """What plain words of asset files are called in OpenMetadata, and who wins where both sides changed something."""

    classification: str = Field(default="LineageBridge", pattern=r"^[^.\"]+$", max_length=128)
    glossary: str = Field(default="LineageBridge", pattern=r"^[^.\"]+$", max_length=128)
    access_classification: str = Field(default="LineageBridgeAccess", pattern=r"^[^.\"]+$", max_length=128)
    tags: dict[str, str] = Field(default={"PII": "PII.Sensitive"})
    conflicts: ConflictWinner = "report"
    conflicts_of: dict[Annotated[str, AfterValidator(_governed)], ConflictWinner] = Field(default={})


class OpenMetadataSettings(Section):
    """The way into OpenMetadata."""

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
        """Say how often everything is compared."""
        return self.sync.sync_frequency

    @property
    def comparison_interval_seconds(self) -> float | None:
        """Give the time from one comparison of everything to the next; None where there is none."""
        return self.sync.comparison_interval_seconds

    @field_validator("server", "auth")
    @classmethod
    def _require_complete(
        cls, section: OpenMetadataServerSettings | OpenMetadataAuthSettings, others: ValidationInfo
    ) -> OpenMetadataServerSettings | OpenMetadataAuthSettings:
        gap = section.missing_setting() if others.data.get("enabled") else None
        if gap is not None:
            raise PydanticCustomError(INCOMPLETE, "{said}", gap._asdict())
        return section
