"""Asset files and a steward, for tests."""

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
from tests.sync.openmetadata_harness import Synced
from tests.sync.other_writers import Person

T = "warehouse.d.s.t"
FIELDS = "fields=owners,tags,domains,dataProducts,extension,columns,certification"


def asset(name: str = "t", namespace: str = "db", **more: Any) -> LoadedAsset:
    """An asset of a file that is called after it."""
    return LoadedAsset(Asset.model_validate({"name": name, "namespace": namespace, **more}), f"{name}.yaml")


def governed(name: str = "t", /, there: dict[str, Any] | None = None, **governance: Any) -> LoadedAsset:
    """An asset that says something of governance, and of what only OpenMetadata has a word for."""
    return asset(name, governance={**governance, "openmetadata": there or {}})


def write_asset(place: Path, loaded: LoadedAsset) -> Path:
    """Write an asset into a file of its own."""
    content = loaded.asset.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    file = place / loaded.source
    file.write_text(yaml.safe_dump({"asset": content}, sort_keys=False), encoding="utf-8")
    return file


def stewardship(store: Store, clock: Any = None, items: SyncItemStore | None = None) -> AssetApplier:
    """The part that takes assets into a store; each time that it looks at the clock, a second has passed."""
    ticks = iter(range(1_800_000_000_000_000, 1_900_000_000_000_000, 1_000_000))
    clock = clock or (lambda: next(ticks))
    known = items or SyncItemStore(store.db, store.org, "openmetadata", clock)
    return AssetApplier(store.db, store.org, known, store.reader, store.writer, clock)


def contracts(store: Store) -> ContractChecker:
    return ContractChecker(store.db, store.org, store.reader, store.writer)


def steward(synced: Synced) -> AssetSync:
    """A steward of a store that is kept alike with a stand-in."""
    part = stewardship(synced.store, items=synced.items)
    return AssetSync(part, OpenMetadataSync(synced.target, synced.reconciler, synced.items))


def wrote(*names: str, second: float = 0, **more: Any) -> dict[str, Any]:
    outputs = [dataset(name, schema=schema("k", "v"), **more) for name in names]
    return run_event("COMPLETE", second, run=int(second) + 1, outputs=outputs)


def table(synced: Synced, name: str = T) -> dict[str, Any]:
    return Person(synced.standin).ask("GET", f"tables/name/{name}?{FIELDS}")


def tags(synced: Synced, name: str = T) -> set[str]:
    return {one["tagFQN"] for one in table(synced, name)["tags"]}


def push(of: AssetSync, *assets: Any, **more: Any) -> dict[str, PushResult]:
    _, results = of.push(assets, {}, sleep=lambda _: None, **more)
    return {one.name[1]: one for one in results}
