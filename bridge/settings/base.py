"""Base class, field types and error types shared by all settings sections."""

import re
from typing import Annotated, NamedTuple
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainSerializer, SecretStr
from pydantic_core import PydanticCustomError


class Section(BaseModel):
    """A group of settings; a key it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


#: The types of mistakes whose context names a key inside what was looked at, and of addresses that hold a secret.
INCOMPLETE, CREDENTIALS = "incomplete", "credentials"
#: The type of a mistake that nothing was given where something must be.
NOT_SET = "unset"
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_FREQUENCIES = {"hourly": 3_600.0, "daily": 86_400.0, "weekly": 604_800.0, "never": None}
_DURATION = re.compile(r"([1-9]\d{0,8})([smhd])")

#: What stands behind the address of a server in many a guide.
API_PATH_SUFFIX = re.compile(r"(/api(/v1)?)?/*$")


class MissingSetting(NamedTuple):
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


ServerUrl = Annotated[str | None, AfterValidator(_address)]
SyncFrequency = Annotated[str, AfterValidator(_frequency)]
#: A value that is shown nowhere.
Secret = Annotated[SecretStr, PlainSerializer(lambda _: "***", when_used="json")]
