"""How far something outside was read: one value a source, written once what was read is kept."""

import json
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from bridge.store.database import Database

_GET = "SELECT value FROM store_meta WHERE name = ?1"
_SET = "INSERT INTO store_meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value"

#: What JSON does not have: how it is read and written. A datetime is a date, too, and comes before it.
_TEXTS: dict[type, tuple[Callable[[str], Any], Callable[[Any], str]]] = {
    datetime: (datetime.fromisoformat, datetime.isoformat),
    date: (date.fromisoformat, date.isoformat),
    Decimal: (Decimal, str),
    bytes: (bytes.fromhex, bytes.hex),
}
#: What can be kept, and comes back as it was.
VALUE_TYPES = (int, float, str, *_TEXTS)


class Watermarks:
    """Keeps how far each source was read."""

    def __init__(self, db: Database, org: str) -> None:
        self._db = db
        self._org = org

    def get(self, source: str) -> Any:
        """Give how far a source was read; None when it never was."""
        rows = self._db.fetch_all(_GET, self._name(source))
        if not rows:
            return None
        kind, value = json.loads(rows[0][0])
        return next((read(value) for one, (read, _) in _TEXTS.items() if one.__name__ == kind), value)

    def set(self, source: str, value: Any) -> None:
        """Remember how far a source was read."""
        kind = next((one for one in _TEXTS if isinstance(value, one)), type(value))
        written = _TEXTS[kind][1](value) if kind in _TEXTS else value
        with self._db.transaction():
            self._db.execute(_SET, self._name(source), json.dumps([kind.__name__, written]))

    def _name(self, source: str) -> str:
        return f"watermark/{self._org}/{source}"
