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
    """A time in microseconds, and as ISO 8601 text with a time zone."""

    micros: int
    text: str


def parse_time(text: str, path: str, notes: list[str]) -> Timestamp:
    """Parse a time; a time without a zone is assumed to be in UTC, and a note is added."""
    try:
        micros, note = parse_timestamp(text)
    except ValueError as error:
        raise InvalidInput(f"not a time: {text[:64]!r}", path) from error
    if note:
        notes.append(f"{path} {note}")
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return Timestamp(micros, time.isoformat())


class BodyFields:
    """An object in a body. Null and empty members count as absent; numbers can be read as text."""

    def __init__(self, members: dict[str, Any], path: str, notes: list[str]) -> None:
        self._members = {key: value for key, value in members.items() if value is not None and value != ""}
        self._path = path
        self._read_keys: set[str] = set()
        self.notes = notes

    @classmethod
    def parse(cls, body: bytes, notes: list[str]) -> "BodyFields":
        """Parse a complete body; raises InvalidInput if it is not a JSON object."""
        members = decode_json(body.removeprefix(b"\xef\xbb\xbf").strip(_SPACE), _decoder)
        if not isinstance(members, dict):
            raise InvalidInput("the body must be a JSON object")
        return cls(members, "", notes)

    def path_to(self, key: str) -> str:
        return f"{self._path}.{key}".lstrip(".")

    def get(self, *keys: str) -> tuple[str, Any]:
        """Mark members as read; returns name and value of the first one present, or the first name and None."""
        self._read_keys.update(keys)
        for key in keys:
            if key in self._members:
                return key, self._members[key]
        return keys[0], None

    def text(self, *keys: str) -> str | None:
        """Read a string or number as text, or None if the member is absent; raises InvalidInput for other types."""
        key, value = self.get(*keys)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InvalidInput("must be a string", self.path_to(key))
        return _as_text(value, self.path_to(key)).strip() or None

    def required(self, *keys: str) -> str:
        """Read a required string or number as text; raises InvalidInput if the member is absent."""
        text = self.text(*keys)
        if text is None:
            raise InvalidInput("is missing", self.path_to(keys[0]))
        return text

    def time(self, *keys: str) -> Timestamp | None:
        """Read a time, or None if the member is absent."""
        key, _ = self.get(*keys)
        text = self.text(*keys)
        return parse_time(text, self.path_to(key), self.notes) if text else None

    def object(self, key: str) -> "BodyFields":
        """Read an object; the result is empty if the member is absent."""
        _, value = self.get(key)
        if not isinstance(value, dict | None):
            raise InvalidInput("must be an object", self.path_to(key))
        return BodyFields(value or {}, self.path_to(key), self.notes)

    def objects(self, key: str) -> "list[BodyFields]":
        """Read a list of objects; the result is empty if the member is absent."""
        _, value = self.get(key)
        if not isinstance(value, list | None):
            raise InvalidInput("must be a list", self.path_to(key))
        objects = []
        for index, item in enumerate(value or ()):
            path = f"{self.path_to(key)}[{index}]"
            if not isinstance(item, dict):
                raise InvalidInput("must be an object", path)
            objects.append(BodyFields(item, path, self.notes))
        return objects

    def unread_members(self) -> dict[str, Any]:
        """Return the members that have not been read."""
        return {key: value for key, value in self._members.items() if key not in self._read_keys}


def _as_text(value: str | float, path: str) -> str:
    try:
        return str(value)
    except ValueError as error:  # the number has thousands of digits
        raise InvalidInput("must be a string", path) from error
