"""Watermarks: positions up to which external sources were read.

Each source has one watermark, which is stored after the data that was read up to it.
"""

import json
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from bridge.store.database import Database

_GET = "SELECT value FROM store_meta WHERE name = ?1"
_SET = "INSERT INTO store_meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value"

#: Decoder and encoder of types that JSON lacks. `datetime` comes first, because it is a subclass of `date`.
_TEXT_CODECS: dict[type, tuple[Callable[[str], Any], Callable[[Any], str]]] = {
    datetime: (datetime.fromisoformat, datetime.isoformat),
    date: (date.fromisoformat, date.isoformat),
    Decimal: (Decimal, str),
    bytes: (bytes.fromhex, bytes.hex),
}
#: Types of values that are returned exactly as they were stored.
VALUE_TYPES = (int, float, str, *_TEXT_CODECS)


class Watermarks:
    """The watermarks of an organisation."""

    def __init__(self, db: Database, org: str) -> None:
        self._db = db
        self._org = org

    def get(self, source: str) -> Any:
        """Return the watermark of a source, or None if the source was never read."""
        for (stored_json,) in self._db.fetch_all(_GET, self._key(source)):
            type_name, value = json.loads(stored_json)
            decoders = {codec_type.__name__: decode for codec_type, (decode, _) in _TEXT_CODECS.items()}
            return decoders[type_name](value) if type_name in decoders else value
        return None

    def set(self, source: str, value: Any) -> None:
        """Store a watermark with its type, so that `get` returns an equal value."""
        type_name, json_value = type(value).__name__, value
        for codec_type, (_, encode) in _TEXT_CODECS.items():
            if isinstance(value, codec_type):
                type_name, json_value = codec_type.__name__, encode(value)
                break
        with self._db.transaction():
            self._db.execute(_SET, self._key(source), json.dumps([type_name, json_value]))

    def _key(self, source: str) -> str:
        return f"watermark/{self._org}/{source}"
