"""All checks, one after the other: one that fails stops no other, and what cannot be looked at is said."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from bridge.configuration import read_configuration
from bridge.doctor import clock, config, conservation, disk, partitions, permissions, schema, store, versions
from bridge.doctor.finding import Finding, Level
from bridge.settings import Settings
from bridge.store.database import Database
from bridge.store.location import StoreLocation
from mappers.errors import ConfigError, LineageBridgeError

_OF_ROWS = ("clock", "conservation")
_OF_STORE = ("schema", *_OF_ROWS)
_OF_SETTINGS = ("disk", "permissions", "store", *_OF_STORE)


def examine(paths: Sequence[Path]) -> Iterator[Finding]:
    """Check everything that a service needs, with the configuration files that it would be started with."""
    yield from _checked("versions", versions.software)
    try:
        settings, _, secrets = read_configuration(paths)
    except ConfigError as error:
        yield from config.refused(error)
        yield from _skipped(_OF_SETTINGS, "the configuration is refused")
        return
    yield from _checked("config", lambda: config.check(paths, secrets, settings))
    try:
        location = StoreLocation(settings.store.url)
        yield from _examine_place(settings, location.file)
        db = location.open_as_it_is()
    except LineageBridgeError as error:
        yield Finding(Level.error, "store", str(error), "docs/operate.md says how to restore a store")
        yield from _skipped(_OF_STORE, "the store cannot be opened")
        return
    with closing(db):
        yield from _examine_store(settings, location, db)


def _examine_place(settings: Settings, file: Path | None) -> Iterator[Finding]:
    if file is not None:
        yield from _checked("disk", lambda: disk.check(file, settings.store.max_size_mb))
        yield from _checked("permissions", lambda: permissions.of_file(file))


def _examine_store(settings: Settings, location: StoreLocation, db: Database) -> Iterator[Finding]:
    yield from _checked("store", lambda: store.check(location, db))
    yield from _checked("schema", lambda: schema.check(db))
    if not db.embedded:
        yield from _checked("versions", lambda: versions.of_server(db))
        yield from _checked("permissions", lambda: permissions.on_server(db))
        yield from _checked("clock", lambda: clock.of_server(db))
    if not schema.is_current(db):
        yield from _skipped(_OF_ROWS, "the store is not of this version")
        return
    yield from _checked("clock", lambda: clock.of_events(db, settings.org))
    if not db.embedded:
        yield from _checked("partitions", lambda: partitions.check(db))
    yield from _checked("conservation", lambda: conservation.check(db, settings.org))


def _checked(thing: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from check()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told, and the other checks go on
        said = str(error) if isinstance(error, LineageBridgeError) else f"{type(error).__name__}: {error}"
        yield Finding(Level.error, thing, f"cannot be checked: {said}", "correct what it names, then check again")


def _skipped(things: Iterable[str], why: str) -> Iterator[Finding]:
    for thing in things:
        yield Finding(Level.warning, thing, f"not checked: {why}", "correct that first, then check again")
