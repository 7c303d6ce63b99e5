"""Runs all checks; a failing check does not stop the others."""

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

_OF_ROWS = ("clock", "sync", "conservation")
_OF_STORE = ("schema", *_OF_ROWS)
_OF_SETTINGS = ("disk", "permissions", "store", *_OF_STORE)


def run_checks(paths: Sequence[Path]) -> Iterator[Finding]:
    """Check everything that a service needs, with the configuration files that it would be started with."""
    yield from run_check("versions", software.installed_packages)
    try:
        settings, _, secrets = load_settings_with_origins(paths)
    except ConfigError as error:
        yield from config.config_errors(error)
        yield from skip_checks(_OF_SETTINGS, "the configuration is refused")
        return
    yield from run_check("config", lambda: config.check(paths, secrets, settings))
    try:
        location = StoreUrl(settings.store.url)
        yield from _check_storage(settings, location.file)
        db = location.open_unmigrated()
    except LineageBridgeError as error:
        yield Finding(Level.error, "store", str(error), "docs/guides/operations.md says how to restore a store")
        yield from skip_checks(_OF_STORE, "the store cannot be opened")
        return
    with closing(db):
        yield from _examine_store(settings, location, db)


def _check_storage(settings: Settings, file: Path | None) -> Iterator[Finding]:
    if file is not None:
        yield from run_check("disk", lambda: storage.check(file, settings.store.max_size_mb))
        yield from run_check("permissions", lambda: storage.check_file_modes(file))


def _examine_store(settings: Settings, location: StoreUrl, db: Database) -> Iterator[Finding]:
    yield from run_check("store", lambda: store.check_integrity(location, db))
    yield from run_check("schema", lambda: store.check_schema(db))
    if not db.embedded:
        yield from run_check("versions", lambda: software.check_database_version(db))
        yield from run_check("permissions", lambda: storage.check_database_role(db))
        yield from run_check("clock", lambda: clock.check_server_clock(db))
    if not store.is_current(db):
        yield from skip_checks(_OF_ROWS, "the store is not of this version")
        return
    yield from run_check("clock", lambda: clock.check_event_times(db, settings.org))
    if not db.embedded:
        yield from run_check("partitions", lambda: store.check_partitions(db))
    for target in TargetName:
        yield from run_check("sync", partial(sync.check, db, settings.org, target, target_settings(settings, target)))
    yield from run_check("conservation", lambda: store.check_accounting(db, settings.org))
