"""What could not be taken or merged, read again as what it once was."""

from bridge.intake.event_reader import EventReader
from bridge.intake.feed_rows import FeedInputKind, FeedRowReader
from bridge.intake.legacy import LegacyInputKind, LegacyReader
from bridge.store.event_log import IncomingEvent, RejectedInput
from bridge.store.failed_inputs import FailedInput


class InputRetry:
    """Reads again what is kept."""

    def __init__(self, reader: EventReader, legacy: LegacyReader) -> None:
        self._reader = reader
        self._legacy = legacy
        self._rows = FeedRowReader(reader, legacy)

    def read(self, trouble: FailedInput, payload: bytes) -> list[IncomingEvent] | str:
        """Give the events to write, or the reason why it cannot be taken or merged now either."""
        found = self._read(trouble, payload)
        if isinstance(found, RejectedInput):
            return found.message
        failures = [item.failure for item in found if item.failure is not None]
        return failures[0] if failures else found

    def _read(self, trouble: FailedInput, payload: bytes) -> list[IncomingEvent] | RejectedInput:
        if trouble.kind == "rejected" and (delivery := LegacyInputKind.from_source_name(trouble.source)):
            return self._legacy.read(payload, delivery, trouble.last_at)
        if trouble.kind == "rejected" and (table := FeedInputKind.from_source_name(trouble.source)):
            return self._rows.read(payload, table, trouble.last_at)
        # An event already in the log keeps its mark: history stays history only if every receipt says so.
        known = trouble.kind == "unmerged"
        item = self._reader.read(payload, trouble.source, historical=known)
        return item if isinstance(item, RejectedInput) else [item]
