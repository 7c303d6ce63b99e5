"""Reads members of a legacy body, with field paths in errors."""

from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from mappers.canonical_json import decode_json
from mappers.errors import InvalidInput
from mappers.timestamps import parse_timestamp

_SPACE = b" \t\r\n"
_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


class Timestamp(NamedTuple):
    """A moment, and its text with a time zone."""

    micros: int
    text: str


def parse_time(text: str, path: str, notes: list[str]) -> Timestamp:
    """Read a time; one without a zone is in UTC, which is noted."""
    try:
        micros, note = parse_timestamp(text)
    except ValueError as error:
        raise InvalidInput(f"not a time: {text[:64]!r}", path) from error
    if note:
        notes.append(f"{path} {note}")
    moment = datetime.fromisoformat(text)
    return Timestamp(micros, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat())


class BodyFields:
    """One object of a body. Nulls and empty texts count as absent, numbers as the text they are written as."""

    def __init__(self, members: dict[str, Any], path: str, notes: list[str]) -> None:
        self._members = {key: value for key, value in members.items() if value is not None and value != ""}
        self._path = path
        self._asked: set[str] = set()
        self.notes = notes

    @classmethod
    def parse(cls, body: bytes, notes: list[str]) -> "BodyFields":
        """Read a whole body; raises RefusedEvent when it is no JSON object."""
        members = decode_json(body.removeprefix(b"\xef\xbb\xbf").strip(_SPACE), _decoder)
        if not isinstance(members, dict):
            raise InvalidInput("the body is no JSON object")
        return cls(members, "", notes)

    def path_to(self, key: str) -> str:
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
            raise InvalidInput("must be a text", self.path_to(key))
        return None if value is None else _written(value, self.path_to(key)).strip() or None

    def required(self, *keys: str) -> str:
        """Give a text that must be there."""
        text = self.text(*keys)
        if text is None:
            raise InvalidInput("is missing", self.path_to(keys[0]))
        return text

    def time(self, *keys: str) -> Timestamp | None:
        """Give a time, None when it is absent."""
        key, _ = self.get(*keys)
        text = self.text(*keys)
        return parse_time(text, self.path_to(key), self.notes) if text else None

    def object(self, key: str) -> "BodyFields":
        """Give the members of an object; an absent one has none."""
        _, value = self.get(key)
        if not isinstance(value, dict | None):
            raise InvalidInput("must be an object", self.path_to(key))
        return BodyFields(value or {}, self.path_to(key), self.notes)

    def objects(self, key: str) -> "list[BodyFields]":
        """Give the objects of a list; an absent list is empty."""
        _, value = self.get(key)
        if not isinstance(value, list | None):
            raise InvalidInput("must be a list", self.path_to(key))
        found = []
        for i, item in enumerate(value or ()):
            if not isinstance(item, dict):
                raise InvalidInput("must be an object", f"{self.path_to(key)}[{i}]")
            found.append(BodyFields(item, f"{self.path_to(key)}[{i}]", self.notes))
        return found

    def unread(self) -> dict[str, Any]:
        """Give the members that nobody asked for."""
        return {key: value for key, value in self._members.items() if key not in self._asked}


def _written(value: str | float, path: str) -> str:
    try:
        return str(value)
    except ValueError as error:  # a number of thousands of digits
        raise InvalidInput("must be a text", path) from error
