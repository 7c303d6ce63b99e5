"""Free disk space, file modes and database privileges."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from shutil import disk_usage

from bridge.doctor.finding import Finding, Level
from bridge.store.database import Database

_GB = 1_000_000_000
_MIB = 1 << 20
_LEAST_BYTES = _GB
_LEAST_PART = 0.1
#: From here on the next event may not fit.
_FULL_PART = 0.99
_MAKE_ROOM = "make room or move the store: without any, events are answered 503"


def check(file: Path, max_size_mb: int | None) -> Iterator[Finding]:
    """Measure the room left for a store, on its disk and below its own limit."""
    folder = next(place for place in file.absolute().parents if place.exists())
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        yield Finding(
            Level.error,
            "disk",
            f"the file system of {folder} is read-only",
            "look for its errors (dmesg), then mount it for writing",
        )
    usage = disk_usage(folder)
    part = usage.free / usage.total if usage.total else 0.0
    found = f"{usage.free / _GB:,.1f} GB free for {folder}, {part:.0%} of its disk"
    if usage.free < _LEAST_BYTES or part < _LEAST_PART:
        yield Finding(Level.warning, "disk", found, _MAKE_ROOM)
    else:
        yield Finding(Level.ok, "disk", found)
    if max_size_mb is not None and file.exists():
        yield _limited(file.stat().st_size / _MIB, max_size_mb)


def _limited(size_mb: float, max_size_mb: int) -> Finding:
    found = f"the store has {size_mb:,.0f} of the {max_size_mb:,} MB that store.max_size_mb allows"
    if size_mb >= max_size_mb * _FULL_PART:
        return Finding(Level.error, "disk", found, "raise it: events are answered 503")
    if size_mb > max_size_mb * (1 - _LEAST_PART):
        return Finding(Level.warning, "disk", found, "raise it: at the limit events are answered 503")
    return Finding(Level.ok, "disk", found)


_ROLE = """
SELECT current_user, current_schema(), current_setting('search_path'), current_setting('transaction_read_only'),
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), FALSE),
    (SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('run_event'))
"""


def check_file_modes(file: Path) -> Iterator[Finding]:
    """Look at the modes of a store's file and folder: SQLite makes files beside the store."""
    folder = next(place for place in file.absolute().parents if place.exists())
    places = [folder, file.absolute()] if file.exists() else [folder]
    wrong = [*_locked(places), *(_opened(folder, file.absolute()) if file.exists() else ())]
    yield from wrong
    if not wrong:
        found = f"{file} can be written, and others cannot read it" if file.exists() else f"{folder} can be written"
        yield Finding(Level.ok, "permissions", found)


def _locked(places: list[Path]) -> Iterator[Finding]:
    for place in places:
        if not os.access(place, os.W_OK):
            found = f"{place} cannot be written by user {os.geteuid()} (mode {_mode(place):03o})"
            yield Finding(Level.error, "permissions", found, f"chown it to the service's user, or chmod u+w {place}")


def _opened(folder: Path, file: Path) -> Iterator[Finding]:
    """Tell what other users may do; a file is read through its folder."""
    mode = _mode(folder)
    if mode & stat.S_IXOTH and _mode(file) & stat.S_IROTH:
        found = f"others may read {file} (mode {_mode(file):03o}, in a folder of mode {mode:03o})"
        yield Finding(Level.warning, "permissions", found, f"chmod o-rwx {file}*, or the folder")
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        found = f"others may replace files in {folder} (mode {mode:03o})"
        yield Finding(Level.warning, "permissions", found, f"chmod o-w {folder}")


def _mode(place: Path) -> int:
    return stat.S_IMODE(place.stat().st_mode)


def check_database_role(db: Database) -> Iterator[Finding]:
    """Ask what the role may do: make the tables, and partitions of them later."""
    ((role, place, path, read_only, may_create, owns),) = db.fetch_all(_ROLE)
    wrong = []
    if read_only == "on":
        wrong.append(("the server takes no writes", "name the primary server in store.url, not its standby"))
    if place is None:
        wrong.append(
            (f"no schema of the search_path {path} is there", f"CREATE SCHEMA for {role}, or set search_path")
        )
    elif not may_create:
        wrong.append((f"{role} may not make tables in {place}", f"GRANT USAGE, CREATE ON SCHEMA {place} TO {role}"))
    if owns is False:
        wrong.append((f"{role} does not own run_event", f"ALTER TABLE … OWNER TO {role} for all tables of the store"))
    for found, remedy in wrong:
        yield Finding(Level.error, "permissions", found, remedy)
    if not wrong:
        yield Finding(Level.ok, "permissions", f"{role} may make and write tables in schema {place}")
