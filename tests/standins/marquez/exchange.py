"""A call as handlers see it, and what they answer."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import msgspec

from tests.standins.marquez.errors import bad_parameter, plain, unreadable
from tests.standins.marquez.store import Store

_LARGEST = (1 << 31) - 1


@dataclass
class Answer:
    """What is sent back."""

    status: int = 200
    body: Any = None


class Call:
    """One request on its way to a handler."""

    def __init__(self, store: Store, args: dict[str, str], query: str, body: bytes, log_only: bool = False) -> None:
        self.store = store
        self.args = args
        self.query = {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}
        self.raw = body
        self.log_only = log_only

    def object(self) -> dict[str, Any]:
        """Read a body that must be an object."""
        try:
            found = msgspec.json.decode(self.raw or b"null")
        except (msgspec.DecodeError, UnicodeDecodeError) as broken:
            raise unreadable(str(broken)) from None
        if not isinstance(found, dict):
            raise unreadable("Cannot deserialize value")
        return found

    def number(self, name: str, default: int) -> int:
        """Read a number of the query: a text is a path that does not exist, a negative one a mistake."""
        given = self.query.get(name) or str(default)
        try:
            found = int(given)
        except ValueError:
            raise plain(404) from None
        if found > _LARGEST:
            raise plain(404)
        if found < 0:
            raise bad_parameter(f"{name} must be greater than or equal to 0")
        return found

    def page(self, rows: list[Any]) -> list[Any]:
        """Cut the page that was asked for."""
        limit, offset = self.number("limit", 100), self.number("offset", 0)
        return rows[offset : offset + limit]
