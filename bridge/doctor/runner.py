"""Runs all checks; a check that fails does not stop the rest."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from bridge.doctor import clock, config, software, storage, store, sync
from bridge.doctor.finding import Finding, Level, run_check, skip_checks
from bridge.settings.loader import load_settings_with_origins
from bridge.settings.model import Settings
from bridge.settings.target_names import TargetName, target_settings
from bridge.store.connect import StoreUrl
from bridge.store.database import Database
from connectors.errors import ConfigError
from mappers.errors import LineageBridgeError

_ROW_CHECKS = ("clock", "identity", "sync", "conservation")
_STORE_CHECKS = ("schema", *_ROW_CHECKS)
_SETTINGS_CHECKS = ("disk", "permissions", "store", *_STORE_CHECKS)


def run_checks(paths: Sequence[Path]) -> Iterator[Finding]:
    """Load the configuration files and check everything that the service needs."""
    yield from run_check("versions", software.check_packages)
    yield from run_check("versions", software.check_spark)
    try:
        settings, _, secrets = load_settings_with_origins(paths)
    except ConfigError as error:
        yield from config.report_errors(error)
        yield from skip_checks(_SETTINGS_CHECKS, "the configuration is invalid")
        return
    yield from run_check("config", lambda: config.check(paths, secrets, settings))
    try:
        store_url = StoreUrl(settings.store.url)
        yield from _check_storage(settings, store_url.file)
        db = store_url.open_unmigrated()
    except LineageBridgeError as error:
        yield Finding(Level.error, "store", str(error), "to restore a store, see docs/guides/operations.md")
        yield from skip_checks(_STORE_CHECKS, "the store cannot be opened")
        return
    with closing(db):
        yield from _check_store(settings, store_url, db)


def _check_storage(settings: Settings, file: Path | None) -> Iterator[Finding]:
    if file is not None:
        yield from run_check("disk", lambda: storage.check(file, settings.store.max_size_mb))
        yield from run_check("permissions", lambda: storage.check_file_modes(file))


def _check_store(settings: Settings, store_url: StoreUrl, db: Database) -> Iterator[Finding]:
    """Check the database, and its rows if the schema version is current."""
    yield from run_check("store", lambda: store.check_integrity(store_url, db))
    yield from run_check("schema", lambda: store.check_schema(db))
    if not db.embedded:
        yield from run_check("versions", lambda: software.check_database_version(db))
        yield from run_check("permissions", lambda: storage.check_database_role(db))
        yield from run_check("clock", lambda: clock.check_server_clock(db))
    if not store.has_current_schema(db):
        yield from skip_checks(_ROW_CHECKS, "the schema version differs")
        return
    yield from run_check("clock", lambda: clock.check_event_times(db, settings.org))
    max_names = settings.identity.max_names
    yield from run_check("identity", lambda: store.check_identity_groups(db, settings.org, max_names))
    if not db.embedded:
        yield from run_check("partitions", lambda: store.check_partitions(db))
    for target in TargetName:
        yield from run_check("sync", partial(sync.check, db, settings.org, target, target_settings(settings, target)))
    yield from run_check("conservation", lambda: store.check_accounting(db, settings.org))
