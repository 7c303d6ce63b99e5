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

#: Decoder and encoder of types that JSON lacks. A datetime is a date as well, so it comes first.
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
        """Return the watermark of a source; None if the source was never read."""
        rows = self._db.fetch_all(_GET, self._name(source))
        if not rows:
            return None
        type_name, value = json.loads(rows[0][0])
        return next(
            (decode(value) for type_, (decode, _) in _TEXT_CODECS.items() if type_.__name__ == type_name), value
        )

    def set(self, source: str, value: Any) -> None:
        value_type = next((type_ for type_ in _TEXT_CODECS if isinstance(value, type_)), type(value))
        encoded = _TEXT_CODECS[value_type][1](value) if value_type in _TEXT_CODECS else value
        with self._db.transaction():
            self._db.execute(_SET, self._name(source), json.dumps([value_type.__name__, encoded]))

    def _name(self, source: str) -> str:
        return f"watermark/{self._org}/{source}"
