"""Requests and responses of handlers."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import msgspec

from tests.standins.marquez.errors import bad_parameter, invalid_body, standard_error
from tests.standins.marquez.store import Store

_LARGEST = (1 << 31) - 1


@dataclass
class ApiResponse:
    """Status and body of a response."""

    status: int = 200
    body: Any = None


class Call:
    """A request, as handlers receive it."""

    def __init__(self, store: Store, args: dict[str, str], query: str, body: bytes, log_only: bool = False) -> None:
        self.store = store
        self.args = args
        self.query = {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}
        self.raw = body
        self.log_only = log_only

    def object(self) -> dict[str, Any]:
        """Parse a body that must be an object."""
        try:
            body = msgspec.json.decode(self.raw or b"null")
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise invalid_body(str(error)) from None
        if not isinstance(body, dict):
            raise invalid_body("Cannot deserialize value")
        return body

    def number(self, name: str, default: int) -> int:
        """Parse a number of the query. Text is answered with 404, a negative number with 400."""
        text = self.query.get(name) or str(default)
        try:
            value = int(text)
        except ValueError:
            raise standard_error(404) from None
        if value > _LARGEST:
            raise standard_error(404)
        if value < 0:
            raise bad_parameter(f"{name} must be greater than or equal to 0")
        return value

    def page(self, rows: list[Any]) -> list[Any]:
        """Return the requested page of rows."""
        limit, offset = self.number("limit", 100), self.number("offset", 0)
        return rows[offset : offset + limit]
