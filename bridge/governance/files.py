"""Asset files on the disk: each read by itself, so that what is wrong with one keeps none of the others back."""

import difflib
import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from bridge.governance.asset import Asset, AssetFile
from bridge.governance.remembered import Loaded, asset_of, content_of
from bridge.yaml_tree import KeyPath, Origin, one_line, read_tree
from mappers.errors import ConfigError

_SUFFIXES = frozenset({".yaml", ".yml"})
_MOST_BYTES = 1 << 20
#: A file that was changed so shortly before it was read may be changed again without another stamp.
_SETTLED_NANOS = 2_000_000_000
#: Mistakes whose words name no value: the whole of what was written would be of no help.
_UNSPOKEN = frozenset({"missing", "twice", "extra_forbidden", "model_type", "list_type", "dict_type"})


#: What YAML can spell and nothing that keeps texts can hold.
_UNKEPT = re.compile("[\0\ud800-\udfff]")


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
    """Read one file; raises ConfigError with a line for each thing that is wrong: its file, line and key."""
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
        text = raw.decode()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is no UTF-8: {one_line(error)}") from error
    if len(raw) > _MOST_BYTES:
        raise ConfigError(f"{path}: is larger than {_MOST_BYTES >> 20} MB")
    tree = read_tree(path, text)
    mistakes = [mistake.said for mistake in tree.mistakes]
    for at, said in _unkept(tree.values):
        mistakes.append(f"{tree.origins.get(at, path)}: {'.'.join(map(str, at))}: {said}")
    try:
        asset = AssetFile.model_validate(tree.values).asset
        if not mistakes:
            return asset_of(content_of(asset))
    except ValidationError as error:
        mistakes += [_explained(one, tree.origins, path) for one in error.errors()]
        raise ConfigError("\n".join(mistakes)) from error
    except PydanticSerializationError as error:
        raise ConfigError(f"{path}: cannot be kept: {one_line(error)}") from error
    raise ConfigError("\n".join(mistakes))


def _unkept(value: Any, at: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Find what cannot be kept: it would stop whoever writes it down, and all other assets with it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if _UNKEPT.search(key):
                yield at, f"the key {key!r} holds characters that no text may hold"
            yield from _unkept(inner, (*at, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _unkept(inner, (*at, i))
    elif isinstance(value, str) and _UNKEPT.search(value):
        yield at, f"holds characters that no text may hold (got {value!r})"
    elif isinstance(value, float) and not math.isfinite(value):
        yield at, f"is no number that can be kept (got {value!r})"


def _explained(error: Any, origins: dict[KeyPath, Origin], path: Path) -> str:
    at: KeyPath = tuple(part for part in error["loc"] if (isinstance(part, int | str)))
    known = next((origins[at[:end]] for end in range(len(at), -1, -1) if at[:end] in origins), Origin(str(path), 1))
    key = ".".join(map(str, at)) or "the file"
    if error["type"] == "extra_forbidden":
        valid = _keys_at(at[:-1])
        near = difflib.get_close_matches(str(at[-1]), valid, n=1, cutoff=0.0)
        return f"{known}: unknown key {key}; did you mean {near[0]}? Valid: {', '.join(valid)}"
    if error["type"] == "missing":
        return f"{known}: {key} is missing"
    told = "" if error["type"] in _UNSPOKEN else f" (got {error['input']!r})"
    return f"{known}: {key}: {error['msg']}{told}"


def _keys_at(at: KeyPath) -> list[str]:
    """Give the keys that may stand at a place."""
    model: Any = AssetFile
    for part in at:
        if isinstance(part, int):
            continue
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        model = _model_in(fields[part].annotation)
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> Any:
    """Find the model within an annotation such as a list of it, or nothing."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_in(one) for one in getattr(annotation, "__args__", ()))
    return next((one for one in inner if one is not None), None)
