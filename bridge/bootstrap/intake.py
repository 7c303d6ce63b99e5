"""Builds event, legacy and row readers, file followers and importers from the settings."""

import gc
from collections.abc import Callable, Sequence

from bridge.bootstrap.store import make_writer_on, open_for_writing
from bridge.intake.child_process import ChildProcess
from bridge.intake.event_import import EventImporter
from bridge.intake.event_reader import EventReader
from bridge.intake.feed_rows import FeedRowReader
from bridge.intake.file_follower import FileFollower, Item
from bridge.intake.group_commit import GroupCommitter
from bridge.intake.large_events import AsyncEventReader, PendingEventMerger
from bridge.intake.legacy import LegacyReader
from bridge.intake.pending_events import PendingEvents
from bridge.intake.redaction import StoreRedaction
from bridge.settings.model import Settings
from bridge.store.connect import StoreUrl
from bridge.store.database import Database
from mappers.legacy.names import LegacyNamespaces
from mappers.openlineage.event import EventLimits
from mappers.openlineage.row_builder import MappingOptions


def tune_garbage_collector() -> None:
    """Make garbage collections rare: events leave no reference cycles, and each collection scans all caches."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


def make_event_reader(settings: Settings) -> EventReader:
    intake = settings.intake
    return EventReader(
        MappingOptions(settings.org, frozenset(intake.noise_facets), tuple(intake.ignored_jobs), intake.max_rows),
        EventLimits(intake.max_datasets, intake.max_facets),
    )


def make_legacy_reader(settings: Settings, reader: EventReader) -> LegacyReader:
    return LegacyReader(reader, LegacyNamespaces(**settings.legacy.model_dump()))


def make_async_reader(settings: Settings, process: ChildProcess) -> AsyncEventReader:
    reader = make_event_reader(settings)
    return AsyncEventReader(process, reader, make_legacy_reader(settings, reader))


def make_pending_event_merger(settings: Settings, process: ChildProcess, events: PendingEvents) -> PendingEventMerger:
    """Open a merger on a connection of its own. Lost merges are repeated, so its commits do not wait for the disk."""
    db = StoreUrl(settings.store.url).open_for_background_writes(settings.store.max_size_mb)
    writer = make_writer_on(settings, db)
    return PendingEventMerger(db, settings.org, writer, process, make_event_reader(settings), events)


def make_feed_row_reader(settings: Settings) -> FeedRowReader:
    reader = make_event_reader(settings)
    return FeedRowReader(reader, make_legacy_reader(settings, reader))


def make_file_follower(
    settings: Settings,
    locations: Sequence[str],
    reader: AsyncEventReader,
    committer: GroupCommitter,
    on_item: Callable[[Item], None],
) -> FileFollower:
    intake = settings.intake
    return FileFollower(
        locations,
        reader,
        committer,
        max_line=int(intake.max_unpacked_mb * (1 << 20)),
        poll_seconds=intake.tail_poll_seconds,
        on_item=on_item,
    )


def make_store_redaction(settings: Settings, db: Database) -> StoreRedaction:
    """Build the redaction of a store that is open for writing."""
    return StoreRedaction(db, settings.org, make_event_reader(settings), make_writer_on(settings, db))


def make_event_importer(settings: Settings) -> EventImporter:
    """Open an importer of exported events; creates or upgrades the store first."""
    db = open_for_writing(settings)
    return EventImporter(make_event_reader(settings), make_writer_on(settings, db), db, settings.org)
