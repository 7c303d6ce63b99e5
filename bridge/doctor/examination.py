"""All checks, one after the other: one that fails stops no other, and what cannot be looked at is said."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from bridge.configuration import read_configuration
from bridge.doctor import clock, config, conservation, disk, partitions, permissions, schema, store, syncing, versions
from bridge.doctor.finding import Finding, Level, checked, skipped
from bridge.settings import Settings
from bridge.store.database import Database
from bridge.store.location import StoreLocation
from bridge.target_names import TargetName, settings_of
from mappers.errors import ConfigError, LineageBridgeError

_OF_ROWS = ("clock", "sync", "conservation")
_OF_STORE = ("schema", *_OF_ROWS)
_OF_SETTINGS = ("disk", "permissions", "store", *_OF_STORE)


def examine(paths: Sequence[Path]) -> Iterator[Finding]:
    """Check everything that a service needs, with the configuration files that it would be started with."""
    yield from checked("versions", versions.software)
    try:
        settings, _, secrets = read_configuration(paths)
    except ConfigError as error:
        yield from config.refused(error)
        yield from skipped(_OF_SETTINGS, "the configuration is refused")
        return
    yield from checked("config", lambda: config.check(paths, secrets, settings))
    try:
        location = StoreLocation(settings.store.url)
        yield from _examine_place(settings, location.file)
        db = location.open_as_it_is()
    except LineageBridgeError as error:
        yield Finding(Level.error, "store", str(error), "docs/operate.md says how to restore a store")
        yield from skipped(_OF_STORE, "the store cannot be opened")
        return
    with closing(db):
        yield from _examine_store(settings, location, db)


def _examine_place(settings: Settings, file: Path | None) -> Iterator[Finding]:
    if file is not None:
        yield from checked("disk", lambda: disk.check(file, settings.store.max_size_mb))
        yield from checked("permissions", lambda: permissions.of_file(file))


def _examine_store(settings: Settings, location: StoreLocation, db: Database) -> Iterator[Finding]:
    yield from checked("store", lambda: store.check(location, db))
    yield from checked("schema", lambda: schema.check(db))
    if not db.embedded:
        yield from checked("versions", lambda: versions.of_server(db))
        yield from checked("permissions", lambda: permissions.on_server(db))
        yield from checked("clock", lambda: clock.of_server(db))
    if not schema.is_current(db):
        yield from skipped(_OF_ROWS, "the store is not of this version")
        return
    yield from checked("clock", lambda: clock.of_events(db, settings.org))
    if not db.embedded:
        yield from checked("partitions", lambda: partitions.check(db))
    for target in TargetName:
        yield from checked("sync", partial(syncing.check, db, settings.org, target, settings_of(settings, target)))
    yield from checked("conservation", lambda: conservation.check(db, settings.org))
