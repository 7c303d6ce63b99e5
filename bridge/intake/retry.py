"""Retries rejected and unmerged inputs."""

from bridge.intake.event_reader import EventReader
from bridge.intake.feed_rows import FeedInputKind, FeedRowReader
from bridge.intake.legacy import LegacyInputKind, LegacyReader
from bridge.store.event_log import IncomingEvent, RejectedInput
from bridge.store.failed_inputs import FailedInput


class InputRetry:
    """Parses stored inputs again in their original input format."""

    def __init__(self, reader: EventReader, legacy: LegacyReader) -> None:
        self._reader = reader
        self._legacy = legacy
        self._rows = FeedRowReader(reader, legacy)

    def read(self, failed_input: FailedInput, payload: bytes) -> list[IncomingEvent] | str:
        """Return the events to write, or the reason why the input still cannot be parsed or mapped."""
        parsed = self._parse_input(failed_input, payload)
        if isinstance(parsed, RejectedInput):
            return parsed.message
        failures = [item.failure for item in parsed if item.failure is not None]
        return failures[0] if failures else parsed

    def _parse_input(self, failed_input: FailedInput, payload: bytes) -> list[IncomingEvent] | RejectedInput:
        """Parse an input in the format that its source name describes."""
        if failed_input.kind == "rejected" and (legacy_kind := LegacyInputKind.from_source_name(failed_input.source)):
            return self._legacy.read(payload, legacy_kind, failed_input.last_at)
        if failed_input.kind == "rejected" and (feed_kind := FeedInputKind.from_source_name(failed_input.source)):
            return self._rows.read(payload, feed_kind, failed_input.last_at)
        # Writing the event again must not clear its historical flag, which requires that all receipts are historical.
        is_unmerged = failed_input.kind == "unmerged"
        item = self._reader.read(payload, failed_input.source, historical=is_unmerged)
        return item if isinstance(item, RejectedInput) else [item]
