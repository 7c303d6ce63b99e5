"""Asset files on the disk: each read by itself, so that what is wrong with one keeps none of the others back."""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic_core import PydanticSerializationError

from bridge.governance.asset import Asset, AssetFile
from bridge.governance.remembered import Loaded, asset_of, content_of
from bridge.yaml_model import read_model
from bridge.yaml_tree import one_line
from mappers.errors import ConfigError

_SUFFIXES = frozenset({".yaml", ".yml"})
#: A file that was changed so shortly before it was read may be changed again without another stamp.
_SETTLED_NANOS = 2_000_000_000


class Stamp(NamedTuple):
    """When a file was changed, truly and as its owner says, its size, and which file it is."""

    changed: int
    modified: int
    size: int
    inode: int


class AssetFiles(NamedTuple):
    """What was read: the assets, and what is wrong, file by file."""

    loaded: list[Loaded]
    problems: list[str]
    #: How many files there are.
    files: int


class AssetReader:
    """Reads asset files again and again; one that is as it was is not taken apart anew. Not for several threads."""

    def __init__(self, clock: Callable[[], int] = time.time_ns) -> None:
        self._clock = clock
        self._known: dict[Path, tuple[Stamp, Loaded | ConfigError]] = {}

    def read(self, places: Sequence[Path]) -> AssetFiles:
        """Read the files that are named, and those within directories; of two of one name neither is taken."""
        loaded: list[Loaded] = []
        problems: list[str] = []
        paths = sorted({path for place in places for path in _files(place, problems)})
        known, self._known = self._known, {}
        for path in paths:
            found = self._one(path, known.get(path))
            if isinstance(found, Loaded):
                loaded.append(found)
            else:
                problems += str(found).splitlines()
        return AssetFiles(_of_one_name(loaded, problems), problems, len(paths))

    def _one(self, path: Path, known: tuple[Stamp, Loaded | ConfigError] | None) -> Loaded | ConfigError:
        before = stamp(path)
        if known is not None and known[0] == before:
            self._known[path] = known
            return known[1]
        now = self._clock()
        try:
            found: Loaded | ConfigError = Loaded(read_asset(path), str(path))
        except ConfigError as error:
            found = error
        if before and before.changed < now - _SETTLED_NANOS:
            self._known[path] = before, found
        return found


def read_assets(places: Sequence[Path]) -> AssetFiles:
    """Read the asset files that are named, and those within directories, once."""
    return AssetReader().read(places)


def stamp(path: Path) -> Stamp | None:
    """Give what tells a file that was changed from what it was; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return Stamp(max(found.st_mtime_ns, found.st_ctime_ns), found.st_mtime_ns, found.st_size, found.st_ino)


def _of_one_name(loaded: Iterable[Loaded], problems: list[str]) -> list[Loaded]:
    of: dict[tuple[str, str], list[Loaded]] = {}
    for one in loaded:
        of.setdefault((one.asset.namespace, one.asset.name), []).append(one)
    for (namespace, name), same in sorted(of.items()):
        if len(same) > 1:
            problems.append(f"{' and '.join(one.source for one in same)} are both about {namespace} {name}")
    return [same[0] for same in of.values() if len(same) == 1]


def _files(place: Path, problems: list[str]) -> Iterable[Path]:
    if place.is_dir():
        return [path for path in place.rglob("*") if path.suffix in _SUFFIXES and path.is_file()]
    if not place.exists():
        problems.append(f"{place}: there is no such file or directory")
        return []
    return [place]


def read_asset(path: Path) -> Asset:
    """Read one file, as it will be remembered; raises ConfigError with a line for each thing that is wrong."""
    asset = read_model(path, AssetFile).asset
    try:
        return asset_of(content_of(asset))
    except PydanticSerializationError as error:
        raise ConfigError(f"{path}: cannot be kept: {one_line(error)}") from error
