"""Helpers for asset files and their sync."""

from pathlib import Path
from typing import Any

import yaml

from bridge.governance.applier import AssetApplier
from bridge.governance.asset import Asset
from bridge.governance.asset_sync import AssetSync, OpenMetadataSync, PushResult
from bridge.governance.contracts import ContractChecker
from bridge.governance.loaded_asset import LoadedAsset
from bridge.sync.item_store import SyncItemStore
from tests.factories import dataset, run_event, schema
from tests.stores import Store
from tests.sync.openmetadata_harness import OpenMetadataHarness
from tests.sync.other_writers import Person

TABLE_FQN = "warehouse.d.s.t"
FIELDS = "fields=owners,tags,domains,dataProducts,extension,columns,certification"


def asset(name: str = "t", namespace: str = "db", **fields: Any) -> LoadedAsset:
    """An asset in a file of the same name."""
    return LoadedAsset(Asset.model_validate({"name": name, "namespace": namespace, **fields}), f"{name}.yaml")


def asset_with_governance(
    name: str = "t", /, openmetadata: dict[str, Any] | None = None, **governance: Any
) -> LoadedAsset:
    """An asset with governance fields, including those that only OpenMetadata supports."""
    return asset(name, governance={**governance, "openmetadata": openmetadata or {}})


def write_asset(folder: Path, loaded_asset: LoadedAsset) -> Path:
    """Write an asset to its file."""
    content = loaded_asset.asset.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    file = folder / loaded_asset.source
    file.write_text(yaml.safe_dump({"asset": content}, sort_keys=False), encoding="utf-8")
    return file


def make_applier(store: Store, clock: Any = None, items: SyncItemStore | None = None) -> AssetApplier:
    """An applier on a store; its default clock advances a second per read."""
    ticks = iter(range(1_800_000_000_000_000, 1_900_000_000_000_000, 1_000_000))
    clock = clock or (lambda: next(ticks))
    sync_items = items or SyncItemStore(store.db, store.org, "openmetadata", clock)
    return AssetApplier(store.db, store.org, sync_items, store.reader, store.writer, clock)


def contract_checker(store: Store) -> ContractChecker:
    return ContractChecker(store.db, store.org, store.reader, store.writer)


def make_asset_sync(synced: OpenMetadataHarness) -> AssetSync:
    """Asset sync of a store with a stand-in of OpenMetadata."""
    applier = make_applier(synced.store, items=synced.items)
    return AssetSync(applier, OpenMetadataSync(synced.target, synced.reconciler, synced.items))


def write_event(*names: str, second: float = 0, **facets: Any) -> dict[str, Any]:
    outputs = [dataset(name, schema=schema("k", "v"), **facets) for name in names]
    return run_event("COMPLETE", second, run=int(second) + 1, outputs=outputs)


def table(synced: OpenMetadataHarness, name: str = TABLE_FQN) -> dict[str, Any]:
    return Person(synced.standin).request("GET", f"tables/name/{name}?{FIELDS}")


def tags(synced: OpenMetadataHarness, name: str = TABLE_FQN) -> set[str]:
    return {tag["tagFQN"] for tag in table(synced, name)["tags"]}


def push(asset_sync: AssetSync, *assets: Any, **options: Any) -> dict[str, PushResult]:
    _, results = asset_sync.push(assets, {}, sleep=lambda _: None, **options)
    return {result.name[1]: result for result in results}
