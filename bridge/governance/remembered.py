"""An asset as it is remembered: what a file says is taken in these words, so that both are compared as equals."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import structlog
from pydantic import ValidationError

from bridge.governance.asset import Asset
from bridge.governance.matching import Name
from bridge.store.assets import StoredAsset

_log = structlog.get_logger()


class Loaded(NamedTuple):
    """An asset, and the file it stands in."""

    asset: Asset
    source: str


def content_of(asset: Asset) -> str:
    """Write an asset as it is remembered."""
    return asset.model_dump_json(by_alias=True, exclude_none=True)


def asset_of(content: str) -> Asset:
    """Read an asset as it was remembered."""
    return Asset.model_validate(msgspec.json.decode(content))


def stored_of(loaded: Loaded, waiting: str | None) -> StoredAsset:
    """Say how an asset is to be remembered."""
    asset = loaded.asset
    source = str(Path(loaded.source).absolute())  # whoever looks for it later stands elsewhere
    return StoredAsset(asset.namespace, asset.name, source, content_of(asset), waiting)


def loaded_of(stored: Iterable[StoredAsset]) -> list[Loaded]:
    """Read assets as they were remembered; one that cannot be read any more keeps no other back."""
    return [Loaded(asset, one.source) for one in stored if (asset := _readable(one)) is not None]


def _readable(stored: StoredAsset) -> Asset | None:
    try:
        return asset_of(stored.content)
    except ValidationError as error:
        _log.warning(
            "a remembered asset cannot be read, and is left as it is",
            asset=f"{stored.namespace} {stored.name}", file=stored.source, reason=str(error),
        )  # fmt: skip
        return None


def under_one_name(datasets: Mapping[Name, list[Loaded]], classes: Mapping[Name, bytes]) -> dict[Name, list[Loaded]]:
    """Bring together what is said of a dataset under several of its names: else one undoes the other for ever."""
    of: dict[bytes, list[Name]] = {}
    for name in sorted(datasets):
        of.setdefault(classes[name], []).append(name)
    united: dict[Name, list[Loaded]] = {}
    for names in of.values():
        said = {id(one): one for name in names for one in datasets[name]}
        alone = {(one.asset.namespace, one.asset.name) for one in said.values()}
        united[min(names, key=lambda name: (name not in alone, name))] = list(said.values())
    return united
