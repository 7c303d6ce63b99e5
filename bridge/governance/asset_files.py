"""Loads asset files; an invalid file does not prevent other files from being loaded."""

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
#: A file that changed more recently is not cached, because another change might not alter its stamp.
_SETTLED_NANOS = 2_000_000_000


class FileStamp(NamedTuple):
    """Change time, modification time, size and inode of a file."""

    changed_at: int
    modified_at: int
    size: int
    inode: int


class LoadResult(NamedTuple):
    """Loaded assets, and the problems of files that could not be loaded."""

    loaded: list[LoadedAsset]
    problems: list[str]
    #: Number of files found.
    files: int


class AssetLoader:
    """Loads asset files repeatedly. Unchanged files are not parsed again. Not thread-safe."""

    def __init__(self, clock: Callable[[], int] = time.time_ns) -> None:
        self._clock = clock
        self._cache: dict[Path, tuple[FileStamp, LoadedAsset | ConfigError]] = {}

    def read(self, paths_or_directories: Sequence[Path]) -> LoadResult:
        """Load files and directories. Assets with duplicate names are not loaded."""
        loaded_assets: list[LoadedAsset] = []
        problems: list[str] = []
        paths = sorted({path for location in paths_or_directories for path in _list_files(location, problems)})
        previous_cache = self._cache
        self._cache = {}
        for path in paths:
            loaded_or_error = self._load_cached(path, previous_cache.get(path))
            if isinstance(loaded_or_error, LoadedAsset):
                loaded_assets.append(loaded_or_error)
            else:
                problems += str(loaded_or_error).splitlines()
        return LoadResult(_reject_duplicates(loaded_assets, problems), problems, len(paths))

    def _load_cached(
        self, path: Path, cache_entry: tuple[FileStamp, LoadedAsset | ConfigError] | None
    ) -> LoadedAsset | ConfigError:
        """Load a file, or return the cached result if the file has not changed."""
        stamp = file_stamp(path)
        if cache_entry is not None:
            cached_stamp, cached_result = cache_entry
            if cached_stamp == stamp:
                self._cache[path] = cache_entry
                return cached_result
        now = self._clock()
        try:
            result: LoadedAsset | ConfigError = LoadedAsset(load_asset(path), str(path))
        except ConfigError as error:
            result = error
        if stamp and stamp.changed_at < now - _SETTLED_NANOS:
            self._cache[path] = stamp, result
        return result


def load_assets(paths_or_directories: Sequence[Path]) -> LoadResult:
    """Load asset files and directories once."""
    return AssetLoader().read(paths_or_directories)


def file_stamp(path: Path) -> FileStamp | None:
    """Return a stamp that changes whenever the file changes, or None if the file does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return FileStamp(max(status.st_mtime_ns, status.st_ctime_ns), status.st_mtime_ns, status.st_size, status.st_ino)


def _reject_duplicates(loaded_assets: Iterable[LoadedAsset], problems: list[str]) -> list[LoadedAsset]:
    """Return the assets with unique names; adds a problem for every name that several files define."""
    assets_by_name: dict[tuple[str, str], list[LoadedAsset]] = {}
    for entry in loaded_assets:
        assets_by_name.setdefault(entry.asset.qualified_name, []).append(entry)
    for (namespace, name), entries in sorted(assets_by_name.items()):
        if len(entries) > 1:
            problems.append(f"{' and '.join(entry.source for entry in entries)} both define {namespace} {name}")
    return [entries[0] for entries in assets_by_name.values() if len(entries) == 1]


def _list_files(location: Path, problems: list[str]) -> Iterable[Path]:
    """List the files at a location; adds a problem if the location does not exist."""
    if location.is_dir():
        return [path for path in location.rglob("*") if path.suffix in _SUFFIXES and path.is_file()]
    if not location.exists():
        problems.append(f"{location}: no such file or directory")
        return []
    return [location]


def load_asset(path: Path) -> Asset:
    """Load one asset, normalized to its stored form. Raises ConfigError with one line per problem."""
    asset = read_model(path, AssetFile).asset
    try:
        return parse_asset(dump_asset(asset))
    except PydanticSerializationError as error:
        raise ConfigError(f"{path}: cannot be stored: {single_line(error)}") from error
