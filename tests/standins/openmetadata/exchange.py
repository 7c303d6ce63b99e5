"""A call as handlers see it, and what they answer."""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import msgspec

from tests.standins.openmetadata.access import Principal
from tests.standins.openmetadata.errors import ApiError, Unreadable, no_route, unreadable, violated
from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.shapes import Reader
from tests.standins.openmetadata.state import Store


@dataclass
class ApiResponse:
    """What is sent back."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    #: Whether the answer carries a strong ETag of its body.
    etag: bool = False


class Call:
    """One request on its way to a handler."""

    def __init__(
        self,
        store: Store,
        base: str,
        args: dict[str, str],
        query: str,
        headers: dict[str, str],
        body: bytes,
        who: Principal,
    ) -> None:
        self.store = store
        self.base = base
        self.args = args
        self.query = {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}
        self.headers = headers
        self.raw = body
        self.who = who
        #: Names of rows of a bulk that a test lets fail, with the message.
        self.failing: dict[str, str] = {}
        self.version = ""
        #: Tokens of people by e-mail and password.
        self.logins: dict[tuple[str, str], str] = {}

    def json(self) -> Any:
        """Parse the body; broken JSON is answered in plain text."""
        try:
            return msgspec.json.decode(self.raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return _lenient(self.raw)

    def read(self, shape: Reader) -> Any:
        """Parse the body, and read it by its shape; lists every violated constraint at once."""
        faults: list[str] = []
        try:
            value = shape(self.json(), faults, "")
        except Unreadable:
            raise unreadable() from None
        if faults:
            raise violated(*sorted(set(faults)))
        return value

    def number(self, name: str, default: int | None = None) -> int:
        """Read a number of the query; a text in its place is a path that does not exist."""
        try:
            return int(self.query[name]) if name in self.query or default is None else default
        except ValueError:
            raise no_route() from None

    def flag(self, name: str) -> bool:
        return self.query.get(name, "").lower() == "true"


class BrokenJson(Exception):
    """A body that is no JSON: answered in plain text."""


def _lenient(raw: bytes) -> Any:
    def no_constant(name: str) -> Any:
        raise BrokenJson(f"Non-standard token '{name}'")

    try:
        return json.loads(raw.decode(), parse_constant=no_constant)
    except UnicodeDecodeError:
        raise unreadable() from None
    except ValueError as error:
        at = getattr(error, "pos", 0)
        what = "Unexpected end-of-input within/between Object entries"
        if at < len(raw.rstrip()):
            what = f"Unexpected character ('{raw.decode()[at]}' (code {raw[at]}))"
        else:
            at = len(raw)
        raise BrokenJson(
            f"{what}\n at [Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); "
            f"line: 1, column: {at + 1}]"
        ) from None


def check_fields(kind: Kind, query: dict[str, str]) -> set[str]:
    """Read `fields`; refuses a property that cannot be asked for."""
    asked = [name.strip() for name in query.get("fields", "").split(",") if name.strip()]
    if asked == ["*"]:
        return set(kind.fields)
    for name in asked:
        if name not in kind.fields:
            raise ApiError(400, f"Invalid field name {name}")
    return set(asked)


def check_include(query: dict[str, str]) -> str:
    include = query.get("include", "non-deleted")
    if include not in ("all", "deleted", "non-deleted"):
        raise ApiError(400, "query param include must be one of [all, deleted, non-deleted]")
    return include
