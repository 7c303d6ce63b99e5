"""Settings of sync targets: the common protocol, Marquez and webhook."""

from typing import ClassVar, Literal, Protocol

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from bridge.settings.base import (
    API_PATH_SUFFIX,
    NOT_SET,
    Secret,
    Section,
    ServerUrl,
    SyncFrequency,
    frequency_seconds,
)


class RetrySettings(Section):
    """Maximum attempts per request, and the base of the backoff between retries of an item."""

    max_attempts: int = Field(default=3, ge=1, le=10)
    backoff_seconds: float = Field(default=5, gt=0, allow_inf_nan=False)


class TargetSettings(Protocol):
    """Settings that all targets have in common."""

    @property
    def enabled(self) -> bool:
        """True if the target is kept in sync."""

    @property
    def sync_frequency(self) -> str:
        """How often the whole target is compared with the store."""

    @property
    def comparison_interval_seconds(self) -> float | None:
        """Seconds between comparisons, or None if nothing is compared."""

    @property
    def retry_config(self) -> RetrySettings:
        """Attempts per request, and the base of the backoff between attempts."""


class MarquezSettings(Section):
    """The Marquez target."""

    enabled: bool = False
    url: ServerUrl = Field(default=None, validate_default=True)
    api_key: Secret | None = None
    sync_frequency: SyncFrequency = "hourly"
    retry_config: RetrySettings = RetrySettings()
    concurrency: int = Field(default=4, ge=1, le=8)
    rate: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    @property
    def comparison_interval_seconds(self) -> float | None:
        """Seconds between comparisons, or None if nothing is compared."""
        return frequency_seconds(self.sync_frequency)

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str | None, info: ValidationInfo) -> str | None:
        if url is None and info.data.get("enabled"):
            raise PydanticCustomError(NOT_SET, "is not set: name the server, such as http://127.0.0.1:5000")
        return url and API_PATH_SUFFIX.sub("", url)


FinalState = Literal["SUCCESS", "FAILED", "CANCELLED"]


class WebhookSettings(Section):
    """The webhook target."""

    enabled: bool = False
    url: ServerUrl = Field(default=None, validate_default=True)
    api_key: Secret | None = None
    #: Sent requests cannot be read back, so nothing is compared.
    sync_frequency: ClassVar[str] = "never"
    comparison_interval_seconds: ClassVar[float | None] = None

    states: list[FinalState] = Field(default=["SUCCESS", "FAILED", "CANCELLED"], min_length=1)
    retry_config: RetrySettings = RetrySettings()
    concurrency: int = Field(default=4, ge=1, le=8)
    rate: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    @field_validator("url")
    @classmethod
    def _require_url(cls, url: str | None, info: ValidationInfo) -> str | None:
        if url is None and info.data.get("enabled"):
            raise PydanticCustomError(NOT_SET, "is not set: name the URL to post to")
        return url
