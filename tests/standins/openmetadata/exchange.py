"""Requests and responses of handlers."""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import msgspec

from tests.standins.openmetadata.access import Principal
from tests.standins.openmetadata.errors import ApiError, Unreadable, invalid_format, no_route, validation_error
from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.shapes import Reader
from tests.standins.openmetadata.state import Store


@dataclass
class ApiResponse:
    """Status, body and headers of a response."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    #: Whether to send a strong ETag.
    etag: bool = False


class Call:
    """A request, as handlers receive it."""

    def __init__(
        self,
        store: Store,
        base: str,
        args: dict[str, str],
        query: str,
        headers: dict[str, str],
        body: bytes,
        principal: Principal,
    ) -> None:
        self.store = store
        self.base = base
        self.args = args
        self.query = {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}
        self.headers = headers
        self.raw = body
        self.principal = principal
        #: Names of bulk rows that fail -> message.
        self.failing: dict[str, str] = {}
        self.version = ""
        #: Tokens by email and password.
        self.logins: dict[tuple[str, str], str] = {}

    def json(self) -> Any:
        """Parse the body; invalid JSON raises BrokenJson."""
        try:
            return msgspec.json.decode(self.raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return _parse_leniently(self.raw)

    def read(self, shape: Reader) -> Any:
        """Deserialize the body; reports all constraint violations at once."""
        faults: list[str] = []
        try:
            value = shape(self.json(), faults, "")
        except Unreadable:
            raise invalid_format() from None
        if faults:
            raise validation_error(*sorted(set(faults)))
        return value

    def number(self, name: str, default: int | None = None) -> int:
        """Parse a number of the query; text is answered with 404."""
        try:
            return int(self.query[name]) if name in self.query or default is None else default
        except ValueError:
            raise no_route() from None

    def flag(self, name: str) -> bool:
        return self.query.get(name, "").lower() == "true"


class BrokenJson(Exception):
    """Invalid JSON; the response is plain text."""


def _parse_leniently(raw: bytes) -> Any:
    def reject_constant(name: str) -> Any:
        raise BrokenJson(f"Non-standard token '{name}'")

    try:
        return json.loads(raw.decode(), parse_constant=reject_constant)
    except UnicodeDecodeError:
        raise invalid_format() from None
    except ValueError as error:
        at = getattr(error, "pos", 0)
        problem = "Unexpected end-of-input within/between Object entries"
        if at < len(raw.rstrip()):
            problem = f"Unexpected character ('{raw.decode()[at]}' (code {raw[at]}))"
        else:
            at = len(raw)
        raise BrokenJson(
            f"{problem}\n at [Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); "
            f"line: 1, column: {at + 1}]"
        ) from None


def check_fields(kind: Kind, query: dict[str, str]) -> set[str]:
    """Parse `fields`; unknown names are rejected."""
    requested = [name.strip() for name in query.get("fields", "").split(",") if name.strip()]
    if requested == ["*"]:
        return set(kind.fields)
    for name in requested:
        if name not in kind.fields:
            raise ApiError(400, f"Invalid field name {name}")
    return set(requested)


def check_include(query: dict[str, str]) -> str:
    include = query.get("include", "non-deleted")
    if include not in ("all", "deleted", "non-deleted"):
        raise ApiError(400, "query param include must be one of [all, deleted, non-deleted]")
    return include
