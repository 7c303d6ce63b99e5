"""Whether the disk of a SQLite store has room, and takes writes."""

import os
from collections.abc import Iterator
from pathlib import Path
from shutil import disk_usage

from bridge.doctor.finding import Finding, Level

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
