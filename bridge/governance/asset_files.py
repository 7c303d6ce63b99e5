"""Loads asset files; an invalid file does not affect the others."""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic_core import PydanticSerializationError

from bridge.governance.asset import Asset, AssetFile
from bridge.governance.loaded_asset import LoadedAsset, dump_asset, parse_asset
from bridge.settings.yaml_model import read_model
from bridge.settings.yaml_tree import single_line
from connectors.errors import ConfigError

_SUFFIXES = frozenset({".yaml", ".yml"})
#: A file that was changed so shortly before it was read may be changed again without another stamp.
_SETTLED_NANOS = 2_000_000_000


class FileStamp(NamedTuple):
    """When a file was changed, truly and as its owner says, its size, and which file it is."""

    changed: int
    modified: int
    size: int
    inode: int


class LoadResult(NamedTuple):
    """What was read: the assets, and what is wrong, file by file."""

    loaded: list[LoadedAsset]
    problems: list[str]
    #: How many files there are.
    files: int


class AssetLoader:
    """Reads asset files again and again; one that is as it was is not taken apart anew. Not for several threads."""

    def __init__(self, clock: Callable[[], int] = time.time_ns) -> None:
        self._clock = clock
        self._known: dict[Path, tuple[FileStamp, LoadedAsset | ConfigError]] = {}

    def read(self, places: Sequence[Path]) -> LoadResult:
        """Read the files that are named, and those within directories; of two of one name neither is taken."""
        loaded: list[LoadedAsset] = []
        problems: list[str] = []
        paths = sorted({path for place in places for path in _files(place, problems)})
        known, self._known = self._known, {}
        for path in paths:
            found = self._one(path, known.get(path))
            if isinstance(found, LoadedAsset):
                loaded.append(found)
            else:
                problems += str(found).splitlines()
        return LoadResult(_without_duplicates(loaded, problems), problems, len(paths))

    def _one(
        self, path: Path, known: tuple[FileStamp, LoadedAsset | ConfigError] | None
    ) -> LoadedAsset | ConfigError:
        before = file_stamp(path)
        if known is not None and known[0] == before:
            self._known[path] = known
            return known[1]
        now = self._clock()
        try:
            found: LoadedAsset | ConfigError = LoadedAsset(load_asset(path), str(path))
        except ConfigError as error:
            found = error
        if before and before.changed < now - _SETTLED_NANOS:
            self._known[path] = before, found
        return found


def load_assets(places: Sequence[Path]) -> LoadResult:
    """Read the asset files that are named, and those within directories, once."""
    return AssetLoader().read(places)


def file_stamp(path: Path) -> FileStamp | None:
    """Give what tells a file that was changed from what it was; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return FileStamp(max(found.st_mtime_ns, found.st_ctime_ns), found.st_mtime_ns, found.st_size, found.st_ino)


def _without_duplicates(loaded: Iterable[LoadedAsset], problems: list[str]) -> list[LoadedAsset]:
    of: dict[tuple[str, str], list[LoadedAsset]] = {}
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


def load_asset(path: Path) -> Asset:
    """Read one file, as it will be remembered; raises ConfigError with a line for each thing that is wrong."""
    asset = read_model(path, AssetFile).asset
    try:
        return parse_asset(dump_asset(asset))
    except PydanticSerializationError as error:
        raise ConfigError(f"{path}: cannot be kept: {single_line(error)}") from error
