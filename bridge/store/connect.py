"""Opens the store that a URL names: a SQLite file or a PostgreSQL database."""

import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bridge.errors import DamagedStore, IncompatibleStore
from bridge.store import schema
from bridge.store.database import Database
from bridge.store.file_damage import content_problem, is_damage, size_problem
from bridge.store.file_guard import file_size
from bridge.store.sqlite import SqliteDatabase, translate_error
from connectors.errors import ConfigError
from mappers.errors import LineageBridgeError, TransientError

_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgres://")
_PASSWORD = re.compile(r"(//[^:/@]*):.{0,500}@|(password=)[^&]*")
_PAGE_BYTES = 4096


class StoreUrl(NamedTuple):
    """The URL of a store. The URL may contain a password, so messages show `name` instead."""

    url: str

    @property
    def name(self) -> str:
        """The file, or the URL without its password."""
        return str(self.file) if self.file else self.without_password

    @property
    def without_password(self) -> str:
        return _PASSWORD.sub(_mask_password, self.url)

    @property
    def file(self) -> Path | None:
        """The file of a SQLite store, or None for a database server."""
        if self.url.startswith(_POSTGRES):
            if self.url.count("@") > 1:
                raise ConfigError("store.url contains more than one @: write %40 for those in the user or password")
            return None
        if self.url.startswith(_SQLITE):
            return Path(self.url.removeprefix(_SQLITE)).expanduser()
        raise ConfigError(f"store.url (LINEAGE_BRIDGE__STORE__URL) must start with {_SQLITE} or {_POSTGRES[0]}")

    def prepare(self) -> None:
        """Create the store or upgrade its schema. Errors name the store. Raises DamagedStore for a truncated file."""
        try:
            if self.file:
                self._require_sound(size_problem(self.file))
                schema.upgrade_sqlite(self.file)
            else:
                _require_driver()
                schema.upgrade_postgres(self.url, self.name)
        except LineageBridgeError:
            raise
        except Exception as error:  # three libraries raise their own errors here; all mean that the store is unusable
            raise self._unusable_error(error) from error

    def open_for_writing(self, max_size_mb: int | None = None) -> Database:
        """Create or upgrade the store, and open it for writing. Raises DamagedStore if a quick check finds damage."""
        self._check_content()
        self.prepare()
        if not self.file:
            return self._open_postgres(writing=True)
        return self._open_writable(
            lambda file: SqliteDatabase.for_writing(file, max_pages=_page_limit(max_size_mb)), self.file
        )

    def open_for_background_writes(self, max_size_mb: int | None = None, *, durable: bool = False) -> Database:
        """Open an existing store for writes other than events. Without `durable`, write only recomputable data."""
        self._require_existing()
        self.prepare()
        if not self.file:
            return self._open_postgres(writing=True)
        pages = _page_limit(max_size_mb)
        return self._open_writable(
            lambda file: SqliteDatabase.for_background_writes(file, max_pages=pages, durable=durable), self.file
        )

    def open_for_reading(self) -> Database:
        """Upgrade an existing store, and open it for reading."""
        self._require_existing()
        self.prepare()
        return SqliteDatabase.for_reading(self.file) if self.file else self._open_postgres(writing=False)

    def open_unmigrated(self) -> Database:
        """Open a store of any version for reading, without creating or upgrading it."""
        self._require_existing(allow_empty=True)
        if not self.file:
            _require_driver()
            return self._open_postgres(writing=False)
        try:
            uri = f"{self.file.absolute().as_uri()}?mode=ro"
            db = SqliteDatabase(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30))
            db.connection.execute("SELECT count(*) FROM sqlite_master")  # connecting alone reads nothing
        except sqlite3.Error as error:
            raise self._unusable_error(error) from error
        return db

    def _check_content(self) -> None:
        """Check an existing store file before it is upgraded or written."""
        if not self.file or not file_size(self.file):
            return
        if self.file.is_dir():
            raise IncompatibleStore(f"the store {self.name} is a directory. Choose another store with store.url")
        try:
            self._require_sound(size_problem(self.file) or content_problem(self.file))
        except sqlite3.Error as error:
            raise self._unusable_error(error) from error

    def _require_sound(self, problem: str | None) -> None:
        if problem is not None:
            raise self._damage_error(problem)

    def _damage_error(self, problem: str) -> DamagedStore:
        return DamagedStore(
            f"the store file {self.name} is damaged: {problem}. Stop all processes that use it, keep a copy of it "
            "and of its -wal file, and restore the last backup (docs/guides/operations.md#restore)"
        )

    def _require_existing(self, *, allow_empty: bool = False) -> None:
        """Raise IncompatibleStore if the file of a SQLite store does not exist."""
        try:
            exists = self.file is None or (self.file.exists() and (allow_empty or self.file.stat().st_size > 0))
        except OSError as error:  # the user may lack access to the folder
            raise self._unusable_error(error) from error
        if not exists:
            raise IncompatibleStore(f"no store at {self.name}: `lineage-bridge serve` or `ingest` creates it")

    def _open_postgres(self, *, writing: bool) -> Database:
        from bridge.store.postgres import PostgresDatabase  # noqa: PLC0415 - an optional dependency

        return PostgresDatabase(self.url, writing=writing)

    def _open_writable(self, open_file: Callable[[Path], Database], file: Path) -> Database:
        """Open the file of a SQLite store for writing. Raises IncompatibleStore if the user cannot write to it."""
        if not os.access(file, os.W_OK) or not os.access(file.absolute().parent, os.W_OK):
            raise IncompatibleStore(
                f"the store {self.name} is not writable by this user: run as the user that owns the file and its "
                "folder, or change their owner (chown)"
            )
        try:
            return open_file(file)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._unusable_error(error) from error

    def _unusable_error(self, error: Exception) -> LineageBridgeError:
        """Translate a driver error to an error that names the store."""
        cause = getattr(error, "orig", None) or error
        first_line, _, _ = str(cause).strip().partition("\n")
        message = f"the store {self.name} cannot be used: {first_line}"
        if self.file:
            if is_damage(cause):
                return self._damage_error(first_line)
            translated_error = translate_error(cause)
        else:
            from bridge.store import postgres  # noqa: PLC0415 - an optional dependency

            translated_error = postgres.translate_error(cause)
        if isinstance(translated_error, TransientError):
            return type(translated_error)(message)
        return IncompatibleStore(f"{message}. Choose another store with store.url")


def _page_limit(max_size_mb: int | None) -> int | None:
    return max_size_mb * (1 << 20) // _PAGE_BYTES if max_size_mb else None


def _mask_password(match: re.Match[str]) -> str:
    return f"{match[1]}:***@" if match[1] else f"{match[2]}***"


def _require_driver() -> None:
    try:
        import psycopg  # noqa: F401, PLC0415 - an optional dependency
    except ImportError as error:
        raise ConfigError(
            f"a PostgreSQL store requires the psycopg driver ({error}): pip install 'lineage-bridge[postgres]'"
        ) from error
