"""Position in a file: stored name, fingerprint, offset, and lines over the limit."""

import os
from pathlib import Path

from bridge.store.event_log import FilePosition
from mappers.canonical.identity import bounded_key, digest
from mappers.errors import InputTooLarge


def fingerprint(head: bytes, end: int) -> bytes:
    """Hash the beginning of the ingested part of a file. The hash stays the same when the file grows."""
    return digest(head[:end])


def is_same_file(position: FilePosition, head: bytes, size: int) -> bool:
    """Return True if a file still begins with the ingested part that a position describes."""
    return size >= position.offset and fingerprint(head, position.offset) == position.fingerprint


def printable_path(path: Path) -> str:
    """Convert a path, which may contain any bytes, to a string that can be stored."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def stored_path(path: Path) -> str:
    """Return the name under which the position of a file is stored. It does not depend on the working directory."""
    return bounded_key(printable_path(path.resolve()))


def source_name(path: Path) -> str:
    """Return the source name of the events in a file."""
    return bounded_key(printable_path(path))


def line_too_long(max_line: int) -> InputTooLarge:
    return InputTooLarge(f"the line exceeds the limit of {max_line} bytes; only its beginning is kept")
