"""Position in a file: stored name, fingerprint, offset."""

import os
from pathlib import Path

from bridge.store.event_log import FilePosition
from mappers.canonical.identity import bounded_key, digest


def fingerprint(beginning: bytes, end: int) -> bytes:
    """Recognise a file by the beginning of what was taken of it, which appending does not change."""
    return digest(beginning[:end])


def is_same_file(position: FilePosition, beginning: bytes, size: int) -> bool:
    """Tell whether a file still begins with what was taken of it, all of it."""
    return size >= position.offset and fingerprint(beginning, position.offset) == position.fingerprint


def printable_path(path: Path) -> str:
    """Spell a path for the store, which keeps text, whatever bytes the file system has in it."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def stored_path(path: Path) -> str:
    """Give the name under which a file's position is stored, wherever it is looked at from."""
    return bounded_key(printable_path(path.resolve()))


def source_name(path: Path) -> str:
    """Give the name of a file as the source of what it holds."""
    return bounded_key(printable_path(path))
