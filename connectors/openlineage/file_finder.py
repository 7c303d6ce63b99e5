"""Lists files that match paths, folders or patterns, including rotated files."""

import glob
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

#: Names of event files in a folder, with or without a rotation suffix.
_EVENT_FILE_NAME = re.compile(r"[^.].*\.(?:ndjson|jsonl|json|log)(?:[.-]\d.*|\.old|\.bak)?", re.DOTALL)
_COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".zip")
_ROTATION_SEPARATOR = re.compile(r"[.-](?=\d)|\.(?=(?:old|bak)\Z)")
#: Glob patterns of the suffixes that rotation appends.
_ROTATION_SUFFIXES = ("[.-][0-9]*", ".old", ".bak")
#: Glob pattern of the date that some tools insert before the file extension.
_INSERTED_DATE = "[.-][0-9][0-9][0-9][0-9]*"


class FileListing(NamedTuple):
    """Files with their status, and the paths that could not be listed or read."""

    files: dict[Path, os.stat_result]
    problems: dict[Path, str]


class FileFinder:
    """Finds files by path, folder or pattern."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns

    def list_files(self) -> FileListing:
        """List the files that exist now, without opening them."""
        listing = FileListing({}, {})
        for pattern in self._patterns:
            for path in _matching_paths(pattern, listing.problems):
                if path in listing.files or path.name.endswith(_COMPRESSED_SUFFIXES):
                    continue
                try:
                    status = path.stat()
                except FileNotFoundError:
                    continue
                except OSError as error:
                    listing.problems[path] = error.strerror or str(error)
                    continue
                if stat.S_ISREG(status.st_mode):
                    listing.files[path] = status
                else:
                    listing.problems[path] = "not a file"
        return listing


def paths_before_rotation(path: Path) -> list[Path]:
    """Return the paths that a file may have had before a rotation renamed it."""
    positions = [match.start() for match in _ROTATION_SEPARATOR.finditer(path.name) if match.start()]
    first_and_last_positions = dict.fromkeys([*positions[:1], *positions[-1:]])
    names: list[str] = []
    for position in first_and_last_positions:
        base, number = path.name[:position], path.name[position + 1 :]
        names += [base, base + path.suffix]
        if number.isdecimal() and int(number) > 0:
            names.append(f"{path.name[: position + 1]}{int(number) - 1}")
    return [path.with_name(name) for name in dict.fromkeys(names) if name != path.name]


def _matching_paths(pattern: str, problems: dict[Path, str]) -> Iterator[Path]:
    """Yield the files that a pattern matches; adds folders that cannot be listed to `problems`."""
    if _is_folder(pattern):
        yield from _event_files(Path(pattern), problems)
        return
    if glob.has_magic(pattern) and not os.path.lexists(pattern):
        patterns = [pattern + rotation_suffix for rotation_suffix in ("", *_ROTATION_SUFFIXES)]
    else:
        suffix = Path(pattern).suffix
        stem = pattern.removesuffix(suffix)
        patterns = [glob.escape(pattern) + rotation_suffix for rotation_suffix in ("", *_ROTATION_SUFFIXES)]
        patterns.append(glob.escape(stem) + _INSERTED_DATE + glob.escape(suffix))
    _report_unlistable_folder(pattern, problems)
    for glob_pattern in dict.fromkeys(patterns):
        for name in glob.iglob(glob_pattern, recursive=True):  # noqa: PTH207 - a pattern may be absolute
            if _is_folder(name):
                yield from _event_files(Path(name), problems)
            else:
                yield Path(name)


def _is_folder(path: str) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - returns False where permission is denied; a Path raises


def _event_files(folder: Path, problems: dict[Path, str]) -> Iterator[Path]:
    """Yield the event files of a folder and its subfolders; adds unreadable folders to `problems`."""

    def record_error(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            problems[Path(error.filename)] = error.strerror or str(error)

    for parent, _, names in os.walk(folder, onerror=record_error):
        for name in sorted(names):
            if _EVENT_FILE_NAME.fullmatch(name):
                yield Path(parent, name)


def _report_unlistable_folder(pattern: str, problems: dict[Path, str]) -> None:
    """Report a folder that cannot be listed, because a search in the folder would silently find nothing."""
    folder = Path(pattern).parent
    while glob.has_magic(str(folder)):
        folder = folder.parent
    try:
        os.scandir(folder).close()
    except FileNotFoundError:
        pass  # the folder may be created later
    except OSError as error:
        problems[folder] = error.strerror or str(error)
