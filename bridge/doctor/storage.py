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
_MIN_FREE_BYTES = _GB
_MIN_FREE_SHARE = 0.1
#: Above this share of the limit, the next event may not fit.
_FULL_SHARE = 0.99
_FREE_SPACE = "free disk space or move the store: events are answered with 503 once the disk is full"


def check(file: Path, max_size_mb: int | None) -> Iterator[Finding]:
    """Check how much space is left on the disk of the store, and how much remains below the size limit."""
    folder = _nearest_existing_folder(file)
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        yield Finding(
            Level.error,
            "disk",
            f"the file system of {folder} is read-only",
            "check for disk errors (dmesg), then remount it read-write",
        )
    usage = disk_usage(folder)
    free_share = usage.free / usage.total if usage.total else 0.0
    message = f"{usage.free / _GB:,.1f} GB free for {folder}, {free_share:.0%} of its disk"
    if usage.free < _MIN_FREE_BYTES or free_share < _MIN_FREE_SHARE:
        yield Finding(Level.warning, "disk", message, _FREE_SPACE)
    else:
        yield Finding(Level.ok, "disk", message)
    if max_size_mb is not None and file.exists():
        yield _check_size_limit(file.stat().st_size / _MIB, max_size_mb)


def _nearest_existing_folder(file: Path) -> Path:
    return next(parent for parent in file.absolute().parents if parent.exists())


def _check_size_limit(size_mb: float, max_size_mb: int) -> Finding:
    message = f"the store uses {size_mb:,.0f} of {max_size_mb:,} MB (store.max_size_mb)"
    if size_mb >= max_size_mb * _FULL_SHARE:
        return Finding(Level.error, "disk", message, "raise the limit: events are answered with 503")
    if size_mb > max_size_mb * (1 - _MIN_FREE_SHARE):
        return Finding(
            Level.warning, "disk", message, "raise the limit: events are answered with 503 once it is reached"
        )
    return Finding(Level.ok, "disk", message)


_ROLE_PRIVILEGES = """
SELECT current_user, current_schema(), current_setting('search_path'), current_setting('transaction_read_only'),
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), FALSE),
    (SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('run_event'))
"""


def check_file_modes(file: Path) -> Iterator[Finding]:
    """Check the modes of the store file and of its folder, where SQLite creates more files."""
    folder = _nearest_existing_folder(file)
    if file.exists():
        problems = [*_find_unwritable_paths([folder, file.absolute()]), *_find_exposed_files(folder, file.absolute())]
        success = f"{file} is writable, and other users cannot read it"
    else:
        problems = list(_find_unwritable_paths([folder]))
        success = f"{folder} is writable"
    yield from problems
    if not problems:
        yield Finding(Level.ok, "permissions", success)


def _find_unwritable_paths(paths: list[Path]) -> Iterator[Finding]:
    for path in paths:
        if not os.access(path, os.W_OK):
            message = f"{path} is not writable for user {os.geteuid()} (mode {_permission_bits(path):03o})"
            yield Finding(Level.error, "permissions", message, f"chown it to the service's user, or chmod u+w {path}")


def _find_exposed_files(folder: Path, file: Path) -> Iterator[Finding]:
    """Find files that other users can read or replace; reading also requires access to the folder."""
    mode = _permission_bits(folder)
    if mode & stat.S_IXOTH and _permission_bits(file) & stat.S_IROTH:
        message = f"other users can read {file} (mode {_permission_bits(file):03o}, in a folder of mode {mode:03o})"
        yield Finding(Level.warning, "permissions", message, f"chmod o-rwx {file}*, or the folder")
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        message = f"other users can replace files in {folder} (mode {mode:03o})"
        yield Finding(Level.warning, "permissions", message, f"chmod o-w {folder}")


def _permission_bits(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def check_database_role(db: Database) -> Iterator[Finding]:
    """Check that the database role can create tables now and partitions later."""
    ((role, schema, search_path, read_only, can_create, owns_tables),) = db.fetch_all(_ROLE_PRIVILEGES)
    problems = []
    if read_only == "on":
        problems.append(("the server is read-only", "set store.url to the primary server, not a standby"))
    if schema is None:
        problems.append(
            (f"no schema of the search_path {search_path} exists", f"CREATE SCHEMA for {role}, or set search_path")
        )
    elif not can_create:
        problems.append(
            (f"{role} cannot create tables in {schema}", f"GRANT USAGE, CREATE ON SCHEMA {schema} TO {role}")
        )
    if owns_tables is False:
        problems.append(
            (f"{role} does not own run_event", f"ALTER TABLE … OWNER TO {role} for all tables of the store")
        )
    for message, remedy in problems:
        yield Finding(Level.error, "permissions", message, remedy)
    if not problems:
        yield Finding(Level.ok, "permissions", f"{role} can create and write tables in schema {schema}")
