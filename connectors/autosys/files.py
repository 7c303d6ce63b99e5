"""Files that Autosys, or people, left: found, read, and decoded from whatever they are in."""

from collections.abc import Iterable
from pathlib import Path

from mappers.errors import ConfigError
from mappers.legacy.jil.decoding import Decoded, decode


def jil_files(places: Iterable[Path]) -> list[Path]:
    """Name the files that are meant; of a folder those that end with `.jil`, by their names."""
    found: list[Path] = []
    for place in places:
        found += sorted(place.rglob("*.jil")) if place.is_dir() else [place]
    return found


def read_text(file: Path) -> Decoded:
    """Read a file; raises ConfigError that names it."""
    try:
        return decode(file.read_bytes())
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
