"""Base class, field types and error types shared by all settings sections."""

import re
from typing import Annotated, NamedTuple
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainSerializer, SecretStr
from pydantic_core import PydanticCustomError


class Section(BaseModel):
    """A group of settings; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


#: Error type: a section lacks a key; the error context names the key.
INCOMPLETE = "incomplete"
#: Error type: a URL contains credentials.
CREDENTIALS = "credentials"
#: Error type: a required value is missing.
NOT_SET = "not_set"
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_FREQUENCIES = {"hourly": 3_600.0, "daily": 86_400.0, "weekly": 604_800.0, "never": None}
_DURATION = re.compile(r"([1-9]\d{0,8})([smhd])")

#: API path that users often copy together with the server URL.
API_PATH_SUFFIX = re.compile(r"(?:/api(?:/v1)?)?(?<!/)/*+$")


class MissingSetting(NamedTuple):
    """A required key that is missing, and how to set it."""

    key: str
    message: str


def _check_url(url: str | None) -> str | None:
    """Check a server URL; an empty string counts as no URL."""
    if not url:
        return None
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts = None
        is_valid = False
    if parts is not None and "@" in parts.netloc:
        raise PydanticCustomError(CREDENTIALS, "a URL must not contain a user or password: use the settings for them")
    if not is_valid or "?" in url or "#" in url or any(character.isspace() for character in url):
        raise PydanticCustomError("address", "must be an http or https URL, such as https://server.example.com")
    return url


def _check_frequency(frequency: str) -> str:
    if frequency not in _FREQUENCIES and not _DURATION.fullmatch(frequency):
        raise PydanticCustomError(
            "frequency", "must be hourly, daily, weekly, never, or a duration such as 90s, 15m, 6h or 2d"
        )
    return frequency


def frequency_seconds(frequency: str) -> float | None:
    """Convert a frequency to an interval in seconds, or to None for `never`."""
    duration = _DURATION.fullmatch(frequency)
    if duration is None:
        return _FREQUENCIES[frequency]
    count, unit = duration.groups()
    return float(count) * _SECONDS[unit]


ServerUrl = Annotated[str | None, AfterValidator(_check_url)]
SyncFrequency = Annotated[str, AfterValidator(_check_frequency)]
#: A value that is never shown.
Secret = Annotated[SecretStr, PlainSerializer(lambda _: "***", when_used="json")]
