"""How far a file was taken: by what it is known again, and under which name that is stored."""

import os
from pathlib import Path

from bridge.store.writer import Position
from mappers.canonical.bounded import bounded
from mappers.canonical.identity import digest


def fingerprint(beginning: bytes, end: int) -> bytes:
    """Recognise a file by the beginning of what was taken of it, which appending does not change."""
    return digest(beginning[:end])


def is_same_file(position: Position, beginning: bytes, size: int) -> bool:
    """Tell whether a file still begins with what was taken of it, all of it."""
    return size >= position.end and fingerprint(beginning, position.end) == position.fingerprint


def as_text(path: Path) -> str:
    """Spell a path for the store, which keeps text, whatever bytes the file system has in it."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def stored_name(path: Path) -> str:
    """Give the name under which a file's position is stored, wherever it is looked at from."""
    return bounded(as_text(path.resolve()))


def source_name(path: Path) -> str:
    """Give the name of a file as the source of what it holds."""
    return bounded(as_text(path))
