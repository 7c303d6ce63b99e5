"""Asset files on the disk: each read by itself, so that what is wrong with one keeps none of the others back."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from bridge.governance.applying import Loaded
from bridge.governance.asset import AssetFile
from bridge.yaml_model import read_model
from mappers.errors import ConfigError

_SUFFIXES = frozenset({".yaml", ".yml"})


class AssetFiles(NamedTuple):
    """What was read: the assets, and what is wrong, file by file."""

    loaded: list[Loaded]
    problems: list[str]
    #: How many files there are.
    files: int


def read_assets(places: Sequence[Path]) -> AssetFiles:
    """Read the asset files that are named, and those within directories; of two of one name neither is taken."""
    loaded: list[Loaded] = []
    problems: list[str] = []
    paths = sorted({path for place in places for path in _files(place, problems)})
    for path in paths:
        try:
            loaded.append(Loaded(read_model(path, AssetFile).asset, str(path)))
        except ConfigError as error:
            problems += str(error).splitlines()
    of: dict[tuple[str, str], list[Loaded]] = {}
    for one in loaded:
        of.setdefault((one.asset.namespace, one.asset.name), []).append(one)
    for (namespace, name), same in sorted(of.items()):
        if len(same) > 1:
            problems.append(f"{' and '.join(one.source for one in same)} are both about {namespace} {name}")
    return AssetFiles([same[0] for same in of.values() if len(same) == 1], problems, len(paths))


def _files(place: Path, problems: list[str]) -> Iterable[Path]:
    if place.is_dir():
        return [path for path in place.rglob("*") if path.suffix in _SUFFIXES and path.is_file()]
    if not place.exists():
        problems.append(f"{place}: there is no such file or directory")
        return []
    return [place]
