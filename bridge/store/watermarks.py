"""How far something outside was read: one value a source, written once what was read is kept."""

import json
from datetime import date, datetime
from typing import Any

from bridge.store.database import Database

_GET = "SELECT value FROM store_meta WHERE name = ?1"
_SET = "INSERT INTO store_meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


class Watermarks:
    """Keeps how far each source was read."""

    def __init__(self, db: Database, org: str) -> None:
        self._db = db
        self._org = org

    def get(self, source: str) -> Any:
        """Give how far a source was read; None when it never was."""
        rows = self._db.rows(_GET, self._name(source))
        if not rows:
            return None
        kind, value = json.loads(rows[0][0])
        readers = {"datetime": datetime.fromisoformat, "date": date.fromisoformat}
        return readers[kind](value) if kind in readers else value

    def put(self, source: str, value: Any) -> None:
        """Remember how far a source was read."""
        kind = type(value).__name__
        if isinstance(value, date):
            value = value.isoformat()
        plain = value if isinstance(value, int | float | str) else str(value)
        with self._db.transaction():
            self._db.run(_SET, self._name(source), json.dumps([kind, plain]))

    def _name(self, source: str) -> str:
        return f"watermark/{self._org}/{source}"
