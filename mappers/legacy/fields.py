"""The members of a legacy body, read by name; what does not fit is refused with its path."""

from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from mappers.errors import RefusedEvent
from mappers.openlineage.clock_time import parse_time
from mappers.openlineage.parts import decode

_SPACE = b" \t\r\n"
_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


class Time(NamedTuple):
    """A moment, and its text with a time zone."""

    micros: int
    text: str


def read_time(text: str, path: str, notes: list[str]) -> Time:
    """Read a time; one without a zone is in UTC, which is noted."""
    try:
        micros, note = parse_time(text)
    except ValueError as error:
        raise RefusedEvent(f"not a time: {text[:64]!r}", path) from error
    if note:
        notes.append(f"{path} {note}")
    moment = datetime.fromisoformat(text)
    return Time(micros, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat())


class Fields:
    """One object of a body. Nulls and empty texts count as absent, numbers as the text they are written as."""

    def __init__(self, members: dict[str, Any], path: str, notes: list[str]) -> None:
        self._members = {key: value for key, value in members.items() if value is not None and value != ""}
        self._path = path
        self._asked: set[str] = set()
        self.notes = notes

    @classmethod
    def of_body(cls, body: bytes, notes: list[str]) -> "Fields":
        """Read a whole body; raises RefusedEvent when it is no JSON object."""
        members = decode(body.removeprefix(b"\xef\xbb\xbf").strip(_SPACE), _decoder)
        if not isinstance(members, dict):
            raise RefusedEvent("the body is no JSON object")
        return cls(members, "", notes)

    def at(self, key: str) -> str:
        """Give the path of a member."""
        return f"{self._path}.{key}".lstrip(".")

    def get(self, *keys: str) -> tuple[str, Any]:
        """Give the first of these members that is there, with its name; None, and the first name, when none is."""
        self._asked.update(keys)
        return next(((key, self._members[key]) for key in keys if key in self._members), (keys[0], None))

    def text(self, *keys: str) -> str | None:
        """Give a text, None when it is absent."""
        key, value = self.get(*keys)
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            raise RefusedEvent("must be a text", self.at(key))
        return None if value is None else _written(value, self.at(key)).strip() or None

    def needed(self, *keys: str) -> str:
        """Give a text that must be there."""
        text = self.text(*keys)
        if text is None:
            raise RefusedEvent("is missing", self.at(keys[0]))
        return text

    def time(self, *keys: str) -> Time | None:
        """Give a time, None when it is absent."""
        key, _ = self.get(*keys)
        text = self.text(*keys)
        return read_time(text, self.at(key), self.notes) if text else None

    def inside(self, key: str) -> "Fields":
        """Give the members of an object; an absent one has none."""
        _, value = self.get(key)
        if not isinstance(value, dict | None):
            raise RefusedEvent("must be an object", self.at(key))
        return Fields(value or {}, self.at(key), self.notes)

    def each(self, key: str) -> "list[Fields]":
        """Give the objects of a list; an absent list is empty."""
        _, value = self.get(key)
        if not isinstance(value, list | None):
            raise RefusedEvent("must be a list", self.at(key))
        found = []
        for i, item in enumerate(value or ()):
            if not isinstance(item, dict):
                raise RefusedEvent("must be an object", f"{self.at(key)}[{i}]")
            found.append(Fields(item, f"{self.at(key)}[{i}]", self.notes))
        return found

    def rest(self) -> dict[str, Any]:
        """Give the members that nobody asked for."""
        return {key: value for key, value in self._members.items() if key not in self._asked}


def _written(value: str | float, path: str) -> str:
    try:
        return str(value)
    except ValueError as error:  # a number of thousands of digits
        raise RefusedEvent("must be a text", path) from error
