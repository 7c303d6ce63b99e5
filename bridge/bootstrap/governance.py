"""Builds asset sync and the asset watcher."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bridge.bootstrap.clients import make_openmetadata_client
from bridge.bootstrap.intake import make_event_reader
from bridge.bootstrap.store import make_writer, open_background_connection
from bridge.bootstrap.targets import make_openmetadata_sync, tag_vocabulary
from bridge.clock import now_micros
from bridge.governance.applier import AssetApplier
from bridge.governance.asset_sync import AssetSync
from bridge.governance.contracts import ContractChecker
from bridge.governance.remote_changes import RemoteChangeImporter
from bridge.governance.watcher import AssetWatcher
from bridge.settings.model import Settings
from bridge.sync.item_store import SyncItemStore
from bridge.sync.openmetadata.change_events import ChangeEventReader
from bridge.sync.openmetadata.target import OpenMetadataTarget


@contextmanager
def open_asset_sync(settings: Settings, on_call: Callable[[str], None] = lambda _: None) -> Iterator[AssetSync]:
    """Open the store for asset files, and OpenMetadata where it is enabled."""
    with closing(make_writer(settings)) as writer, closing(open_background_connection(settings)) as db:
        server = (
            make_openmetadata_sync(settings, on_call, *[lambda _: None] * 2)
            if settings.openmetadata.enabled
            else None
        )
        items = server.items if server else SyncItemStore(db, settings.org, OpenMetadataTarget.name, now_micros)
        stewardship = AssetApplier(db, settings.org, items, make_event_reader(settings), writer, now_micros)
        try:
            yield AssetSync(stewardship, server)
        finally:
            if server:
                server.reconciler.close()


@contextmanager
def open_asset_watcher(
    settings: Settings, on_call: Callable[[str], None], on_failed_call: Callable[[str], None]
) -> Iterator[AssetWatcher]:
    """Open connections of its own to the store, and make the part that keeps asset files and contracts true."""
    of, org, name = settings.governance, settings.org, OpenMetadataTarget.name
    with closing(make_writer(settings)) as writer, closing(open_background_connection(settings)) as db:
        reader, items = make_event_reader(settings), SyncItemStore(db, org, name, now_micros)
        stewardship = AssetApplier(db, org, items, reader, writer, now_micros)
        contracts = ContractChecker(db, org, reader, writer) if of.contracts else None
        watching = AssetWatcher([Path(place) for place in of.assets], stewardship, contracts, time.monotonic)
        if not settings.openmetadata.enabled:
            yield watching
            return
        with closing(make_openmetadata_client(settings.openmetadata, on_call, on_failed_call)) as client:
            events = ChangeEventReader(db, org, name, client, items, now_micros)
            words = tag_vocabulary(settings.openmetadata.governance)
            patches = Path(of.patches) if of.patches else None
            adopting = RemoteChangeImporter(stewardship, items, words, of.remote_changes, patches)
            watching.watch_remote(events, adopting, settings.openmetadata.sync.comparison_interval_seconds)
            yield watching
