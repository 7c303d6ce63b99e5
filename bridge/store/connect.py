"""Opens the store that a URL names: a SQLite file or a PostgreSQL database."""

import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bridge.errors import IncompatibleStore
from bridge.store import schema
from bridge.store.database import Database
from bridge.store.sqlite import SqliteDatabase, translate_error
from connectors.errors import ConfigError
from mappers.errors import LineageBridgeError, TransientError

_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgres://")
_PASSWORD = re.compile(r"(//[^:/@]*):.*@|(password=)[^&]*")
_PAGE_BYTES = 4096


class StoreUrl(NamedTuple):
    """A store by its URL, which may hold a password: messages show its name."""

    url: str

    @property
    def name(self) -> str:
        """Name the store, without its password."""
        return str(self.file) if self.file else self.without_password

    @property
    def without_password(self) -> str:
        """Give the URL without its password."""
        return _PASSWORD.sub(_masked, self.url)

    @property
    def file(self) -> Path | None:
        """Name the file of a SQLite store; None for a store in a database server."""
        if self.url.startswith(_POSTGRES):
            if self.url.count("@") > 1:
                raise ConfigError("store.url holds more than one @: write %40 for those in the user or password")
            return None
        if self.url.startswith(_SQLITE):
            return Path(self.url.removeprefix(_SQLITE)).expanduser()
        raise ConfigError(f"store.url (LINEAGE_BRIDGE__STORE__URL) must start with {_SQLITE} or {_POSTGRES[0]}")

    def prepare(self) -> None:
        """Make the store or bring it up to date; raises an error that names it when that cannot be done."""
        try:
            if self.file:
                schema.upgrade_sqlite(self.file)
            else:
                _require_driver()
                schema.upgrade_postgres(self.url, self.name)
        except LineageBridgeError:
            raise
        except Exception as error:  # three libraries raise their own here, and all mean that there is no store
            raise self._unusable(error) from error

    def open_for_writing(self, max_size_mb: int | None = None) -> Database:
        """Open the store for writing, made or brought up to date first."""
        self.prepare()
        if not self.file:
            return self._connected(writing=True)
        return self._opened(lambda file: SqliteDatabase.for_writing(file, max_pages=_pages(max_size_mb)), self.file)

    def open_for_background_writes(self, max_size_mb: int | None = None, *, durable: bool = False) -> Database:
        """Open a store that is there for what is written beside its events; not durable: it can be computed again."""
        self._require()
        self.prepare()
        if not self.file:
            return self._connected(writing=True)
        pages = _pages(max_size_mb)
        return self._opened(
            lambda file: SqliteDatabase.for_background_writes(file, max_pages=pages, durable=durable), self.file
        )

    def open_for_reading(self) -> Database:
        """Open the store for reading, brought up to date first; one that is not there is not made."""
        self._require()
        self.prepare()
        return SqliteDatabase.for_reading(self.file) if self.file else self._connected(writing=False)

    def open_unmigrated(self) -> Database:
        """Open the store for reading, of whatever version it is: nothing is made, and nothing in it changes."""
        self._require(empty=True)
        if not self.file:
            _require_driver()
            return self._connected(writing=False)
        try:
            place = f"{self.file.absolute().as_uri()}?mode=ro"
            db = SqliteDatabase(sqlite3.connect(place, uri=True, isolation_level=None, timeout=30))
            db.connection.execute("SELECT count(*) FROM sqlite_master")  # the file is not read before
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        return db

    def _require(self, *, empty: bool = False) -> None:
        try:
            missing = self.file is not None and not (self.file.exists() and (empty or self.file.stat().st_size))
        except OSError as error:  # a folder that this user may not enter
            raise self._unusable(error) from error
        if missing:
            raise IncompatibleStore(f"there is no store at {self.name}: `lineage-bridge serve` or `ingest` makes it")

    def _connected(self, *, writing: bool) -> Database:
        from bridge.store.postgres import PostgresDatabase  # noqa: PLC0415 - an extra: only who names such a store

        return PostgresDatabase(self.url, writing=writing)

    def _opened(self, open_file: Callable[[Path], Database], file: Path) -> Database:
        if not os.access(file, os.W_OK) or not os.access(file.absolute().parent, os.W_OK):
            raise IncompatibleStore(
                f"the store {self.name} cannot be written by this user: run as the user that owns the file and its "
                "folder, or make them its own (chown)"
            )
        try:
            return open_file(file)
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> LineageBridgeError:
        cause = getattr(error, "orig", None) or error
        said = str(cause).strip().partition("\n")[0]
        reason = f"the store {self.name} cannot be used: {said}"
        if self.file:
            meaning = translate_error(cause)
        else:
            from bridge.store import postgres  # noqa: PLC0415 - as above

            meaning = postgres.translate_error(cause)
        if isinstance(meaning, TransientError):
            return type(meaning)(reason)
        return IncompatibleStore(f"{reason}. Choose another store with store.url")


def _pages(max_size_mb: int | None) -> int | None:
    return max_size_mb * (1 << 20) // _PAGE_BYTES if max_size_mb else None


def _masked(found: re.Match[str]) -> str:
    return f"{found[1]}:***@" if found[1] else f"{found[2]}***"


def _require_driver() -> None:
    try:
        import psycopg  # noqa: F401, PLC0415 - an extra: only who names such a store needs it
    except ImportError as error:
        raise ConfigError(
            f"a PostgreSQL store needs its driver ({error}): pip install 'lineage-bridge[postgres]'"
        ) from error
