"""Settings of sync targets: the common protocol, Marquez and webhook."""

from typing import ClassVar, Literal, Protocol

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from bridge.settings.base import API_PATH_SUFFIX, NOT_SET, Secret, Section, ServerUrl, SyncFrequency, seconds_of


class RetrySettings(Section):
    """How often a call is tried, and how long what failed waits before it is its turn again."""

    max_attempts: int = Field(default=3, ge=1, le=10)
    backoff_seconds: float = Field(default=5, gt=0, allow_inf_nan=False)


class TargetSettings(Protocol):
    """What every target is set by."""

    @property
    def enabled(self) -> bool:
        """Tell whether it is to be kept."""

    @property
    def sync_frequency(self) -> str:
        """Say how often everything is compared."""

    @property
    def comparison_interval_seconds(self) -> float | None:
        """Give the time from one comparison of everything to the next; None where there is none."""

    @property
    def retry_config(self) -> RetrySettings:
        """Say how often a call is tried, and how long what failed waits."""


class MarquezSettings(Section):
    """The way into Marquez."""

    enabled: bool = False
    url: ServerUrl = Field(default=None, validate_default=True)
    api_key: Secret | None = None
    sync_frequency: SyncFrequency = "hourly"
    retry_config: RetrySettings = RetrySettings()
    concurrency: int = Field(default=4, ge=1, le=8)
    rate: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    @property
    def comparison_interval_seconds(self) -> float | None:
        """Give the time from one comparison of everything to the next; None where there is none."""
        return seconds_of(self.sync_frequency)

    @field_validator("url")
    @classmethod
    def _without_path_of_the_api(cls, url: str | None, others: ValidationInfo) -> str | None:
        if url is None and others.data.get("enabled"):
            raise PydanticCustomError(NOT_SET, "is not set: name the server, such as http://127.0.0.1:5000")
        return url and API_PATH_SUFFIX.sub("", url)


FinalState = Literal["SUCCESS", "FAILED", "CANCELLED"]


class WebhookSettings(Section):
    """The way to whoever wants to hear how runs end."""

    enabled: bool = False
    url: ServerUrl = Field(default=None, validate_default=True)
    api_key: Secret | None = None
    #: What was told cannot be read, and so nothing is compared.
    sync_frequency: ClassVar[str] = "never"
    comparison_interval_seconds: ClassVar[float | None] = None

    states: list[FinalState] = Field(default=["SUCCESS", "FAILED", "CANCELLED"], min_length=1)
    retry_config: RetrySettings = RetrySettings()
    concurrency: int = Field(default=4, ge=1, le=8)
    rate: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    @field_validator("url")
    @classmethod
    def _require_url(cls, url: str | None, others: ValidationInfo) -> str | None:
        if url is None and others.data.get("enabled"):
            raise PydanticCustomError(NOT_SET, "is not set: name the address that events are sent to")
        return url
