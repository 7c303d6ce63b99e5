"""Every setting of the way into OpenMetadata; what is incomplete is refused once it is enabled."""

import re
from pathlib import Path
from typing import Annotated, Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, PlainSerializer, SecretStr, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from bridge.section import Section

#: The types of mistakes whose context names a key inside what was looked at, and of addresses that hold a secret.
INCOMPLETE, CREDENTIALS = "incomplete", "credentials"
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_FREQUENCIES = {"hourly": 3_600.0, "daily": 86_400.0, "weekly": 604_800.0, "never": None}
_DURATION = re.compile(r"([1-9]\d{0,8})([smhd])")
#: What stands behind the address of a server in many a guide.
_API = re.compile(r"(/api(/v1)?)?/*$")
_WORDS = ("namespace", "database", "schema", "folder")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


class Gap(NamedTuple):
    """A key without which the settings are of no use, and what to do about it."""

    key: str
    said: str


def _address(url: str | None) -> str | None:
    """Refuse what is no address of a server; nothing in the place of one means that there is none."""
    if not url:
        return None
    try:
        parts = urlsplit(url)
        good = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        parts, good = None, False
    if parts is not None and "@" in parts.netloc:
        raise PydanticCustomError(CREDENTIALS, "an address holds no user or password: give them in openmetadata.auth")
    if not good or "?" in url or "#" in url or any(letter.isspace() for letter in url):
        raise PydanticCustomError("address", "must be an http or https URL, such as https://openmetadata.example.com")
    return url


def _frequency(words: str) -> str:
    if words not in _FREQUENCIES and not _DURATION.fullmatch(words):
        raise PydanticCustomError(
            "frequency", "must be hourly, daily, weekly, never, or a duration such as 90s, 15m, 6h or 2d"
        )
    return words


def _template(template: str) -> str:
    unknown = sorted({*_PLACEHOLDER.findall(template)} - {*_WORDS})
    if unknown:
        known = ", ".join(f"{{{word}}}" for word in _WORDS)
        said = f"{{{unknown[0]}}} stands for nothing; known are {known}"
        raise PydanticCustomError("template", "{said}", {"said": said})
    return template


Address = Annotated[str | None, AfterValidator(_address)]
Template = Annotated[str, Field(min_length=1), AfterValidator(_template)] | None
#: A value that is shown nowhere.
Secret = Annotated[SecretStr, PlainSerializer(lambda _: "***", when_used="json")]


class TargetServer(Section):
    """Where OpenMetadata is."""

    host: Address = None
    api_version: Literal["v1"] = "v1"

    @field_validator("host")
    @classmethod
    def _without_path_of_the_api(cls, host: str | None) -> str | None:
        return host and _API.sub("", host)

    def gap(self) -> Gap | None:
        """Tell what is missing."""
        return None if self.host else Gap("host", "is not set: name the server, such as https://om.example.com")


class TargetAuth(Section):
    """How the bridge proves who it is."""

    type: Literal["jwt", "basic", "oauth"] = "jwt"
    jwt_token: Secret | None = None
    token_file: Path | None = None
    username: str | None = None
    password: Secret | None = None
    token_url: Address = None
    client_id: str | None = None
    client_secret: Secret | None = None
    scope: str | None = None

    def gap(self) -> Gap | None:
        """Tell what the type of authentication lacks."""
        if self.type == "jwt":
            return self._gap_of_token()
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
        return Gap(missing[0], f"is not set; type {self.type} needs {', '.join(wanted)}")

    def _gap_of_token(self) -> Gap | None:
        if self.jwt_token and self.token_file:
            return Gap("jwt_token", "is set, and so is token_file: leave one of them out")
        if self.jwt_token or self.token_file:
            return None
        if self.jwt_token is None:
            return Gap("jwt_token", "is not set; type jwt needs jwt_token or token_file")
        return Gap("jwt_token", "is empty: is the variable that it names set to nothing? Copy the bot's token")


class TargetService(Section):
    """Where datasets go whose namespace no mapping names."""

    name: str = Field(default="lineage_bridge", min_length=1, max_length=256)
    type: Literal["databaseService"] = "databaseService"
    description: str = "Datasets of namespaces that lineage-bridge was given no mapping for."


class SyncSettings(Section):
    """What is sent, and when everything is compared."""

    register_on_completion: bool = True
    update_on_schema_change: bool = True
    track_lineage: bool = True
    track_column_lineage: bool = True
    publish_quality_results: bool = True
    publish_profiling_metrics: bool = True
    sync_governance_metadata: bool = True
    sync_frequency: Annotated[str, AfterValidator(_frequency)] = "hourly"

    @property
    def seconds(self) -> float | None:
        """Give the time from one comparison of everything to the next; None where there is none."""
        duration = _DURATION.fullmatch(self.sync_frequency)
        return float(duration[1]) * _SECONDS[duration[2]] if duration else _FREQUENCIES[self.sync_frequency]


class RetrySettings(Section):
    """How often a call is tried, and how long what failed waits before it is its turn again."""

    max_attempts: int = Field(default=3, ge=1, le=10)
    backoff_seconds: float = Field(default=5, gt=0, allow_inf_nan=False)


class NamespaceMapping(Section):
    """Which service a namespace is, where `*` stands for anything, and how names are laid out in it."""

    namespace: str = Field(min_length=1)
    service: str = Field(min_length=1, max_length=256)
    database: Template = None
    schema_: Template = Field(default=None, alias="schema")


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


class TargetGovernance(Section):
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
    server: TargetServer = Field(default=TargetServer(), validate_default=True)
    auth: TargetAuth = Field(default=TargetAuth(), validate_default=True)
    service: TargetService = TargetService()
    sync: SyncSettings = SyncSettings()
    governance: TargetGovernance = TargetGovernance()
    batch_size: int = Field(default=100, ge=1, le=500)
    retry_config: RetrySettings = RetrySettings()
    mappings: list[NamespaceMapping] = Field(default=[])
    paths_as: Literal["table", "container"] = "table"
    concurrency: int = Field(default=8, ge=1, le=16)
    rate: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    create: Literal["all", "entities", "nothing"] = "all"
    most_deletions: int = Field(default=50, ge=0)
    unresolved: Literal["report", "own_service"] = "report"

    @field_validator("server", "auth")
    @classmethod
    def _complete(cls, section: TargetServer | TargetAuth, others: ValidationInfo) -> TargetServer | TargetAuth:
        gap = section.gap() if others.data.get("enabled") else None
        if gap is not None:
            raise PydanticCustomError(INCOMPLETE, "{said}", gap._asdict())
        return section
