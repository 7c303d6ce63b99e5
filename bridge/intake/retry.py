"""What could not be taken or merged, read again as what it once was."""

from bridge.intake.legacy import Delivery, LegacyReader
from bridge.intake.reading import Reader
from bridge.intake.rows import RowDelivery, RowReader
from bridge.store.rejected import Trouble
from bridge.store.writer import Incoming, Rejected


class Retry:
    """Reads again what is kept."""

    def __init__(self, reader: Reader, legacy: LegacyReader) -> None:
        self._reader = reader
        self._legacy = legacy
        self._rows = RowReader(reader, legacy)

    def read(self, trouble: Trouble, payload: bytes) -> list[Incoming] | str:
        """Give the events to write, or the reason why it cannot be taken or merged now either."""
        found = self._read(trouble, payload)
        if isinstance(found, Rejected):
            return found.said
        failures = [item.failure for item in found if item.failure is not None]
        return failures[0] if failures else found

    def _read(self, trouble: Trouble, payload: bytes) -> list[Incoming] | Rejected:
        if trouble.kind == "rejected" and (delivery := Delivery.of_source(trouble.source)):
            return self._legacy.read(payload, delivery, trouble.last_at)
        if trouble.kind == "rejected" and (table := RowDelivery.of_source(trouble.source)):
            return self._rows.read(payload, table, trouble.last_at)
        # An event already in the log keeps its mark: history stays history only if every receipt says so.
        known = trouble.kind == "unmerged"
        item = self._reader.read(payload, trouble.source, historical=known)
        return item if isinstance(item, Rejected) else [item]
