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
    """An asset and its file."""

    asset: Asset
    source: str


def dump_asset(asset: Asset) -> str:
    """Return the stored form of an asset."""
    return asset.model_dump_json(by_alias=True, exclude_none=True)


def parse_asset(content: str) -> Asset:
    """Parse the stored form of an asset."""
    return Asset.model_validate(msgspec.json.decode(content))


def to_record(loaded: LoadedAsset, pending_reason: str | None) -> AssetRecord:
    asset = loaded.asset
    source = str(Path(loaded.source).absolute())  # later readers may have another working directory
    return AssetRecord(asset.namespace, asset.name, source, dump_asset(asset), pending_reason)


def from_records(records: Iterable[AssetRecord]) -> list[LoadedAsset]:
    """Parse stored assets. Unreadable assets are skipped and logged."""
    return [LoadedAsset(asset, record.source) for record in records if (asset := _parse_or_none(record)) is not None]


def _parse_or_none(record: AssetRecord) -> Asset | None:
    try:
        return parse_asset(record.content)
    except ValidationError as error:
        _log.warning(
            "stored asset cannot be read; skipped",
            asset=f"{record.namespace} {record.name}", file=record.source, reason=str(error),
        )  # fmt: skip
        return None


def group_by_dataset(
    datasets: Mapping[QualifiedName, list[LoadedAsset]], group_ids: Mapping[QualifiedName, bytes]
) -> dict[QualifiedName, list[LoadedAsset]]:
    """Group assets that use different names of one dataset. Applied separately, they would overwrite each other."""
    names_by_group: dict[bytes, list[QualifiedName]] = {}
    for name in sorted(datasets):
        names_by_group.setdefault(group_ids[name], []).append(name)
    assets_by_dataset: dict[QualifiedName, list[LoadedAsset]] = {}
    for names in names_by_group.values():
        assets_by_identity = {id(asset): asset for name in names for asset in datasets[name]}
        own_names = {entry.asset.qualified_name for entry in assets_by_identity.values()}
        preferred_name = min(names, key=lambda name: (name not in own_names, name))
        assets_by_dataset[preferred_name] = list(assets_by_identity.values())
    return assets_by_dataset
