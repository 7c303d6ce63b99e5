"""What all targets are set by, and every setting of those that need little."""

import re
from typing import Annotated, ClassVar, Literal, NamedTuple, Protocol
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, PlainSerializer, SecretStr, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from bridge.section import Section

#: The types of mistakes whose context names a key inside what was looked at, and of addresses that hold a secret.
INCOMPLETE, CREDENTIALS = "incomplete", "credentials"
#: The type of a mistake that nothing was given where something must be.
UNSET = "unset"
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_FREQUENCIES = {"hourly": 3_600.0, "daily": 86_400.0, "weekly": 604_800.0, "never": None}
_DURATION = re.compile(r"([1-9]\d{0,8})([smhd])")

#: What stands behind the address of a server in many a guide.
API_PATH = re.compile(r"(/api(/v1)?)?/*$")


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
        raise PydanticCustomError(CREDENTIALS, "an address holds no user or password: there are settings for them")
    if not good or "?" in url or "#" in url or any(letter.isspace() for letter in url):
        raise PydanticCustomError("address", "must be an http or https URL, such as https://server.example.com")
    return url


def _frequency(words: str) -> str:
    if words not in _FREQUENCIES and not _DURATION.fullmatch(words):
        raise PydanticCustomError(
            "frequency", "must be hourly, daily, weekly, never, or a duration such as 90s, 15m, 6h or 2d"
        )
    return words


def seconds_of(frequency: str) -> float | None:
    """Give a period in seconds; None where there is none."""
    duration = _DURATION.fullmatch(frequency)
    return float(duration[1]) * _SECONDS[duration[2]] if duration else _FREQUENCIES[frequency]


Address = Annotated[str | None, AfterValidator(_address)]
Frequency = Annotated[str, AfterValidator(_frequency)]
#: A value that is shown nowhere.
Secret = Annotated[SecretStr, PlainSerializer(lambda _: "***", when_used="json")]


class RetrySettings(Section):
    """How often a call is tried, and how long what failed waits before it is its turn again."""

    max_attempts: int = Field(default=3, ge=1, le=10)
    backoff_seconds: float = Field(default=5, gt=0, allow_inf_nan=False)


class KeptSettings(Protocol):
    """What every target is set by."""

    @property
    def enabled(self) -> bool:
        """Tell whether it is to be kept."""

    @property
    def sync_frequency(self) -> str:
        """Say how often everything is compared."""

    @property
    def seconds(self) -> float | None:
        """Give the time from one comparison of everything to the next; None where there is none."""

    @property
    def retry_config(self) -> RetrySettings:
        """Say how often a call is tried, and how long what failed waits."""


class MarquezSettings(Section):
    """The way into Marquez."""

    enabled: bool = False
    url: Address = Field(default=None, validate_default=True)
    api_key: Secret | None = None
    sync_frequency: Frequency = "hourly"
    retry_config: RetrySettings = RetrySettings()
    concurrency: int = Field(default=4, ge=1, le=8)
    rate: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    @property
    def seconds(self) -> float | None:
        """Give the time from one comparison of everything to the next; None where there is none."""
        return seconds_of(self.sync_frequency)

    @field_validator("url")
    @classmethod
    def _without_path_of_the_api(cls, url: str | None, others: ValidationInfo) -> str | None:
        if url is None and others.data.get("enabled"):
            raise PydanticCustomError(UNSET, "is not set: name the server, such as http://127.0.0.1:5000")
        return url and API_PATH.sub("", url)


Ended = Literal["SUCCESS", "FAILED", "CANCELLED"]


class WebhookSettings(Section):
    """The way to whoever wants to hear how runs end."""

    enabled: bool = False
    url: Address = Field(default=None, validate_default=True)
    api_key: Secret | None = None
    #: What was told cannot be read, and so nothing is compared.
    sync_frequency: ClassVar[str] = "never"
    seconds: ClassVar[float | None] = None

    states: list[Ended] = Field(default=["SUCCESS", "FAILED", "CANCELLED"], min_length=1)
    retry_config: RetrySettings = RetrySettings()
    concurrency: int = Field(default=4, ge=1, le=8)
    rate: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    @field_validator("url")
    @classmethod
    def _is_there(cls, url: str | None, others: ValidationInfo) -> str | None:
        if url is None and others.data.get("enabled"):
            raise PydanticCustomError(UNSET, "is not set: name the address that events are sent to")
        return url
