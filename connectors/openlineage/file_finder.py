"""Lists files that match paths, folders or patterns, rotated ones included."""

import glob
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

#: Names of files of events below a folder, with or without the ending that a rotation gave them.
_EVENTS = re.compile(r"[^.].*\.(?:ndjson|jsonl|json|log)(?:[.-]\d.*|\.old|\.bak)?", re.DOTALL)
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".zip")
_MARK = re.compile(r"[.-](?=\d)|\.(?=(?:old|bak)\Z)")
#: What rotations append, and what those put in that keep the ending: a date.
_APPENDED, _PUT_IN = ("[.-][0-9]*", ".old", ".bak"), "[.-][0-9][0-9][0-9][0-9]*"


class FileListing(NamedTuple):
    """The files there are, with what the file system says of them, and where it did not let us look."""

    files: dict[Path, os.stat_result]
    problems: dict[Path, str]


class FileFinder:
    """Looks for files by path, folder or pattern."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._places = patterns

    def list_files(self) -> FileListing:
        """List the files that are there now; nothing but their status is read."""
        listing = FileListing({}, {})
        for place in self._places:
            for path in _paths(place, listing.problems):
                if path in listing.files or path.name.endswith(_PACKED):
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


def names_before_rotation(path: Path) -> list[Path]:
    """Name what a file may have been called before a rotation gave it its present name."""
    marks = [found.start() for found in _MARK.finditer(path.name) if found.start()]
    names: list[str] = []
    for at in marks[:1] + marks[1:][-1:]:
        base, number = path.name[:at], path.name[at + 1 :]
        names += [base, base + path.suffix]
        if number.isdecimal() and int(number) > 0:
            names.append(f"{path.name[: at + 1]}{int(number) - 1}")
    return [path.with_name(name) for name in dict.fromkeys(names) if name != path.name]


def _paths(place: str, problems: dict[Path, str]) -> Iterator[Path]:
    if _is_folder(place):
        yield from _below(Path(place), problems)
        return
    if glob.has_magic(place) and not os.path.lexists(place):
        patterns = [place + end for end in ("", *_APPENDED)]
    else:
        ending = Path(place).suffix
        stem = place.removesuffix(ending)
        patterns = [glob.escape(place) + end for end in ("", *_APPENDED)]
        patterns.append(glob.escape(stem) + _PUT_IN + glob.escape(ending))
    _check_folder(place, problems)
    for pattern in dict.fromkeys(patterns):
        for name in glob.iglob(pattern, recursive=True):  # noqa: PTH207 - a pattern may be absolute
            if _is_folder(name):
                yield from _below(Path(name), problems)
            else:
                yield Path(name)


def _is_folder(place: str) -> bool:
    return os.path.isdir(place)  # noqa: PTH112 - where we may not look it says no, a path raises


def _below(folder: Path, problems: dict[Path, str]) -> Iterator[Path]:
    def note(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            problems[Path(error.filename)] = error.strerror or str(error)

    for parent, _, names in os.walk(folder, onerror=note):
        for name in sorted(names):
            if _EVENTS.fullmatch(name):
                yield Path(parent, name)


def _check_folder(place: str, problems: dict[Path, str]) -> None:
    """Tell of a folder that may not be listed, where looking for names would just find none."""
    folder = Path(place).parent
    while glob.has_magic(str(folder)):
        folder = folder.parent
    try:
        os.scandir(folder).close()
    except FileNotFoundError:
        pass  # it need not be there yet
    except OSError as error:
        problems[folder] = error.strerror or str(error)
