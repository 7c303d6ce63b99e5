"""Builds event, legacy and row readers, file followers and importers from the settings."""

import gc
from collections.abc import Callable, Sequence

from bridge.bootstrap.store import make_writer_on, open_for_writing
from bridge.intake.event_import import EventImporter
from bridge.intake.event_reader import EventReader
from bridge.intake.feed_rows import FeedRowReader
from bridge.intake.file_follower import FileFollower, Item
from bridge.intake.group_commit import GroupCommitter
from bridge.intake.legacy import LegacyReader
from bridge.settings.model import Settings
from mappers.legacy.names import LegacyNamespaces
from mappers.openlineage.event import EventLimits
from mappers.openlineage.row_builder import MappingOptions


def tune_garbage_collector() -> None:
    """Let the garbage collector look less often: events leave no cycles, and it would look at every cache."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


def make_event_reader(settings: Settings) -> EventReader:
    """Make the reader of events that the settings ask for."""
    intake = settings.intake
    return EventReader(
        MappingOptions(settings.org, frozenset(intake.noise_facets)),
        EventLimits(intake.max_datasets, intake.max_facets),
    )


def make_legacy_reader(settings: Settings, reader: EventReader) -> LegacyReader:
    """Make the reader of legacy bodies that the settings ask for."""
    return LegacyReader(reader, LegacyNamespaces(**settings.legacy.model_dump()))


def make_feed_row_reader(settings: Settings) -> FeedRowReader:
    """Make the reader of rows that the settings ask for."""
    reader = make_event_reader(settings)
    return FeedRowReader(reader, make_legacy_reader(settings, reader))


def make_file_follower(
    settings: Settings,
    places: Sequence[str],
    reader: EventReader,
    gate: GroupCommitter,
    on_call: Callable[[Item], None],
) -> FileFollower:
    """Make the part that follows files."""
    intake = settings.intake
    return FileFollower(
        places,
        reader,
        gate,
        max_line=int(intake.max_unpacked_mb * (1 << 20)),
        poll_seconds=intake.tail_poll_seconds,
        on_item=on_call,
    )


def make_event_importer(settings: Settings) -> EventImporter:
    """Open the store for what another one held, made or brought up to date first."""
    db = open_for_writing(settings)
    return EventImporter(make_event_reader(settings), make_writer_on(settings, db), db, settings.org)
