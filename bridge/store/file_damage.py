"""Finds damage in the file of a SQLite store before the store is used."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from bridge.errors import StorageFailure
from bridge.store.file_guard import file_size, wal_path
from bridge.store.sqlite import SqliteDatabase

#: Files up to this size are checked completely, which takes about a millisecond per megabyte.
_MAX_COMPLETE_CHECK_BYTES = 64 << 20
_SEEKS = 16
#: Python cannot decode such a value, nor an error message of SQLite that contains it.
_INVALID_TEXT = "it contains text that is not UTF-8"
_ROWID_TABLES = """
SELECT printf('"%w"', name) FROM sqlite_master
WHERE type = 'table' AND rootpage > 0 AND sql NOT LIKE '%WITHOUT ROWID%'
"""
_ROWID_RANGE = "SELECT min(rowid), max(rowid) FROM {0}"
#: Includes the keys of tables without rowid.
_INDEXES = """
SELECT printf('"%w" INDEXED BY "%w"', m.name, i.name), printf('"%w"', c.name)
FROM sqlite_master m JOIN pragma_index_list(m.name) i JOIN pragma_index_info(i.name) c
WHERE m.type = 'table' AND m.rootpage > 0 AND NOT i.partial AND c.seqno = 0 AND c.name IS NOT NULL
"""
_END = "SELECT {1} FROM {0} ORDER BY {1} {2} LIMIT 1"
_SEEK = "SELECT {2} FROM {0} WHERE {1} >= ?1 ORDER BY {1} LIMIT 1"


def size_problem(path: Path) -> str | None:
    """Describe why the header of a store file and its size do not match. Takes about a millisecond.

    Pages that are missing at the end of the file may be in the write-ahead log.
    """
    if file_size(path) == 0:
        wal_size = file_size(wal_path(path))
        return f"it is empty, but its write-ahead log has {wal_size} bytes" if wal_size else None
    try:
        with closing(_open_read_only(path)) as connection:
            connection.execute("BEGIN")
            try:
                connection.execute("PRAGMA schema_version").fetchall()  # reads the header only
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode == sqlite3.SQLITE_CORRUPT:
                    return f"its size, {file_size(path)} bytes, does not match its header"
                raise
            ((size,),) = connection.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
            # The log is measured first: a checkpoint that empties it in between has already extended the file.
            wal_size, actual_size = file_size(wal_path(path)), file_size(path)
    except UnicodeDecodeError:
        return _INVALID_TEXT
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            return "it has no SQLite header, or store.url names a file of another program"
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_READONLY:
            return None  # after a crash during creation, which the next writer completes
        raise
    return f"it has {actual_size} of {size} bytes" if size > actual_size + wal_size else None


def content_problem(path: Path) -> str | None:
    """Check a small store file completely, and a sample of the pages of a larger one. Return the first problem."""
    try:
        with closing(SqliteDatabase(_open_read_only(path))) as db:
            if file_size(path) <= _MAX_COMPLETE_CHECK_BYTES:
                return next((" ".join(problem.split()) for problem in db.integrity_problems()), None)
            for sql, values in _sample_queries(db.connection):
                db.connection.execute(sql, values).fetchall()
    except (sqlite3.DatabaseError, UnicodeDecodeError, StorageFailure) as error:
        cause = error.__cause__ or error
        if not is_damage(cause):
            raise
        return _INVALID_TEXT if isinstance(cause, UnicodeDecodeError) else str(cause)
    return None


def is_damage(error: BaseException) -> bool:
    """Return whether SQLite reports a damaged file."""
    if isinstance(error, UnicodeDecodeError):
        return True
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def _open_read_only(path: Path) -> sqlite3.Connection:
    """Open a connection that changes neither the file nor its log: a regular one would checkpoint when closed."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=30)


def _sample_queries(connection: sqlite3.Connection) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield queries that read both ends of every table and index, and rows in between."""
    for (table,) in connection.execute(_ROWID_TABLES).fetchall():
        ((first, last),) = connection.execute(_ROWID_RANGE.format(table)).fetchall()
        if first is not None:
            positions = (first + (last - first) * number // _SEEKS for number in range(_SEEKS + 1))
            yield from ((_SEEK.format(table, "rowid", "*"), (position,)) for position in positions)
    for index, column in connection.execute(_INDEXES).fetchall():
        yield from ((_END.format(index, column, order), ()) for order in ("ASC", "DESC"))
        # Most keys begin with a hash. A column of numbers or text has no such values.
        positions = (bytes([number * 256 // _SEEKS]) for number in range(1, _SEEKS))
        yield from ((_SEEK.format(index, column, column), (position,)) for position in positions)
