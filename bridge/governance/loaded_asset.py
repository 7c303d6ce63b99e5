"""Converts assets between files and the store."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import structlog
from pydantic import ValidationError

from bridge.governance.asset import Asset
from bridge.governance.matcher import QualifiedName
from bridge.store.assets import AssetRecord

_log = structlog.get_logger()


class LoadedAsset(NamedTuple):
    """An asset, and the file it stands in."""

    asset: Asset
    source: str


def dump_asset(asset: Asset) -> str:
    """Write an asset as it is remembered."""
    return asset.model_dump_json(by_alias=True, exclude_none=True)


def parse_asset(content: str) -> Asset:
    """Read an asset as it was remembered."""
    return Asset.model_validate(msgspec.json.decode(content))


def to_stored(loaded: LoadedAsset, waiting: str | None) -> AssetRecord:
    """Say how an asset is to be remembered."""
    asset = loaded.asset
    source = str(Path(loaded.source).absolute())  # whoever looks for it later stands elsewhere
    return AssetRecord(asset.namespace, asset.name, source, dump_asset(asset), waiting)


def from_stored(stored: Iterable[AssetRecord]) -> list[LoadedAsset]:
    """Read assets as they were remembered; one that cannot be read any more keeps no other back."""
    return [LoadedAsset(asset, one.source) for one in stored if (asset := _readable(one)) is not None]


def _readable(stored: AssetRecord) -> Asset | None:
    try:
        return parse_asset(stored.content)
    except ValidationError as error:
        _log.warning(
            "a remembered asset cannot be read, and is left as it is",
            asset=f"{stored.namespace} {stored.name}", file=stored.source, reason=str(error),
        )  # fmt: skip
        return None


def group_by_dataset(
    datasets: Mapping[QualifiedName, list[LoadedAsset]], classes: Mapping[QualifiedName, bytes]
) -> dict[QualifiedName, list[LoadedAsset]]:
    """Bring together what is said of a dataset under several of its names: else one undoes the other for ever."""
    of: dict[bytes, list[QualifiedName]] = {}
    for name in sorted(datasets):
        of.setdefault(classes[name], []).append(name)
    united: dict[QualifiedName, list[LoadedAsset]] = {}
    for names in of.values():
        said = {id(one): one for name in names for one in datasets[name]}
        alone = {(one.asset.namespace, one.asset.name) for one in said.values()}
        united[min(names, key=lambda name: (name not in alone, name))] = list(said.values())
    return united
