"""Matches assets to datasets: by name, by OpenMetadata table name, or by pattern."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase, translate
from itertools import chain
from typing import NamedTuple

from bridge.governance.asset import Asset
from bridge.store.assets import AssetStore
from bridge.store.database import Database
from bridge.store.symlink_graph import dataset_names
from bridge.sync.item_store import SyncItemStore

#: A dataset by its namespace and name.
QualifiedName = tuple[str, str]
#: A table namespace has three parts (service, database, schema), hence two dots.
_MIN_DOTS = 2


class MatchResult(NamedTuple):
    """Assets by dataset, and the reason for each asset that matches no dataset."""

    datasets: dict[QualifiedName, list[Asset]]
    pending: dict[QualifiedName, str]


class AssetMatcher:
    """Finds the datasets that assets describe."""

    def __init__(self, db: Database, org: str, items: SyncItemStore) -> None:
        self._db = db
        self._org = org
        self._assets = AssetStore(db, org)
        self._items = items

    def match(self, assets: Sequence[Asset]) -> MatchResult:
        """Match all assets. A dataset that the store does not contain is created under the name in the asset."""
        result = MatchResult({}, {})
        table_assets = [asset for asset in assets if not asset.is_pattern and self._is_table(asset)]
        datasets_by_table = self._datasets_by_table(table_assets)
        for asset in assets:
            if asset.is_pattern:
                continue
            own_name = asset.qualified_name
            name = datasets_by_table.get(own_name, own_name)
            if name is None:
                result.pending[own_name] = f"no dataset has the table {asset.namespace}.{asset.name} yet"
            else:
                result.datasets.setdefault(name, []).append(asset)
        self._match_patterns([asset for asset in assets if asset.is_pattern], result)
        return result

    def _is_table(self, asset: Asset) -> bool:
        """Return True if an asset names a table of OpenMetadata instead of a dataset."""
        is_dotted = asset.namespace.count(".") >= _MIN_DOTS and "://" not in asset.namespace
        return is_dotted and not self._assets.has_namespace(asset.namespace)

    def _datasets_by_table(self, assets: Iterable[Asset]) -> dict[QualifiedName, QualifiedName | None]:
        """Map the tables that assets name to datasets, or to None if a table has no dataset."""
        asset_names = {f"{asset.namespace}.{asset.name}": asset.qualified_name for asset in assets}
        datasets: dict[QualifiedName, QualifiedName | None] = dict.fromkeys(asset_names.values())
        tables = self._items.remote_names("dataset") if asset_names else ()  # pending items have tables too
        keys = {key: asset_names[table] for table, key in tables if table in asset_names}
        names = dataset_names(self._db, self._org, keys)
        return datasets | {asset_name: names[key] for key, asset_name in keys.items() if key in names}

    def _match_patterns(self, patterns: Sequence[Asset], result: MatchResult) -> None:
        """Add the datasets that patterns match: stored datasets, and datasets that other assets name."""
        if not patterns:
            return
        matched_patterns = set()
        patterns_by_namespace: dict[str, list[tuple[re.Pattern[str], Asset]]] = {}
        named_datasets = frozenset(result.datasets)  # assets create these datasets in the same transaction
        stored_datasets = (
            dataset for dataset in self._assets.active_dataset_names() if dataset not in named_datasets
        )
        for namespace, name in chain(named_datasets, stored_datasets):
            if namespace not in patterns_by_namespace:
                patterns_by_namespace[namespace] = [
                    (re.compile(translate(asset.name)), asset)
                    for asset in patterns
                    if fnmatchcase(namespace, asset.namespace)
                ]
            for pattern, asset in patterns_by_namespace[namespace]:
                if pattern.match(name):
                    result.datasets.setdefault((namespace, name), []).append(asset)
                    matched_patterns.add(asset.qualified_name)
        for asset in patterns:
            own_name = asset.qualified_name
            if own_name not in matched_patterns:
                result.pending[own_name] = "no dataset matches this pattern yet"
