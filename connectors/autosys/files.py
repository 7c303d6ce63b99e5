"""Files that Autosys, or people, left: found, read, and decoded from whatever they are in."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from mappers.errors import ConfigError
from mappers.legacy.jil.decoding import Decoded, decode


class Files(NamedTuple):
    """The files that are meant, and those of each folder that are not read."""

    read: list[Path]
    passed_over: dict[Path, list[Path]]


def jil_files(places: Iterable[Path]) -> Files:
    """Name the files that are meant; of a folder those that end with `.jil`, by their names, but hidden ones."""
    found = Files([], {})
    for place in places:
        if not place.is_dir():
            found.read.append(place)
            continue
        inside = sorted(one for one in place.rglob("*") if one.is_file())
        seen = [one for one in inside if not any(part.startswith(".") for part in one.relative_to(place).parts)]
        meant = [one for one in seen if _is_jil(one)]
        found.read.extend(meant)
        found.passed_over[place] = [one for one in inside if one not in meant and (one in seen or _is_jil(one))]
    return found


def read_text(file: Path) -> Decoded:
    """Read a file; raises ConfigError that names it."""
    try:
        return decode(file.read_bytes())
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error


def _is_jil(file: Path) -> bool:
    return file.suffix.lower() == ".jil" or file.name.lower() == ".jil"
