"""Builds asset sync and the asset watcher."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bridge.bootstrap.clients import make_openmetadata_client
from bridge.bootstrap.intake import make_event_reader
from bridge.bootstrap.store import make_indexer, make_writer, open_background_connection, open_store
from bridge.bootstrap.targets import make_openmetadata_sync, tag_vocabulary
from bridge.clock import now_micros
from bridge.governance.applier import AssetApplier
from bridge.governance.asset_sync import AssetSync
from bridge.governance.asset_validation import AssetValidator, KnownDatasets
from bridge.governance.change_events import ChangeEventReader
from bridge.governance.contracts import ContractChecker
from bridge.governance.remote_changes import RemoteChangeImporter
from bridge.governance.watcher import AssetWatcher
from bridge.settings.model import Settings
from bridge.store.connect import StoreUrl
from bridge.sync.item_store import SyncItemStore
from bridge.sync.openmetadata.target import OpenMetadataTarget
from bridge.sync.store_clock import StoreClock


@contextmanager
def open_asset_sync(settings: Settings, on_call: Callable[[str], None] = lambda _: None) -> Iterator[AssetSync]:
    """Open the sync of assets with the store and, if it is enabled, with OpenMetadata."""
    with closing(make_writer(settings)) as writer, closing(open_background_connection(settings)) as db:
        if settings.openmetadata.enabled:
            openmetadata_sync = make_openmetadata_sync(settings, on_call)
            items = openmetadata_sync.items
        else:
            openmetadata_sync = None
            items = SyncItemStore(db, settings.org, OpenMetadataTarget.name, StoreClock(db))
        applier = AssetApplier(db, settings.org, items, make_event_reader(settings), writer, now_micros)
        try:
            yield AssetSync(applier, openmetadata_sync)
        finally:
            if openmetadata_sync:
                openmetadata_sync.reconciler.close()


@contextmanager
def open_asset_validator(settings: Settings) -> Iterator[AssetValidator]:
    """Open a validator that compares assets with the store, if it exists."""
    check_names = settings.governance.check_names
    store_file = StoreUrl(settings.store.url).file
    if store_file is not None and not store_file.exists():
        yield AssetValidator(check_names, None)
        return
    with closing(open_store(settings)) as db:
        items = SyncItemStore(db, settings.org, OpenMetadataTarget.name, StoreClock(db))
        datasets = KnownDatasets(db, settings.org, items, lambda: _index_changes(settings))
        yield AssetValidator(check_names, datasets)


def _index_changes(settings: Settings) -> None:
    """Index the changes that no service has indexed yet."""
    with closing(make_indexer(settings)) as indexer:
        indexer.index_all()


@contextmanager
def open_asset_watcher(
    settings: Settings, on_call: Callable[[str], None], on_failed_call: Callable[[str], None]
) -> Iterator[AssetWatcher]:
    """Open the asset watcher with its own connections."""
    governance, org, target = settings.governance, settings.org, OpenMetadataTarget.name
    with closing(make_writer(settings)) as writer, closing(open_background_connection(settings)) as db:
        reader = make_event_reader(settings)
        items = SyncItemStore(db, org, target, StoreClock(db))
        applier = AssetApplier(db, org, items, reader, writer, now_micros)
        contracts = ContractChecker(db, org, reader, writer) if governance.contracts else None
        watcher = AssetWatcher([Path(path) for path in governance.assets], applier, contracts, time.monotonic)
        if not settings.openmetadata.enabled:
            yield watcher
            return
        with closing(make_openmetadata_client(settings.openmetadata, on_call, on_failed_call)) as client:
            events = ChangeEventReader(db, org, target, client, items, now_micros)
            vocabulary = tag_vocabulary(settings.openmetadata.governance)
            patches = Path(governance.patches) if governance.patches else None
            importer = RemoteChangeImporter(applier, items, vocabulary, governance.remote_changes, patches)
            watcher.cancel = client.close
            watcher.watch_remote(events, importer, settings.openmetadata.sync.comparison_interval_seconds)
            yield watcher
