"""Matches assets to datasets: by name, by OpenMetadata table name, or by pattern."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase, translate
from itertools import chain
from typing import NamedTuple

from bridge.governance.asset import Asset
from bridge.store.assets import AssetStore
from bridge.store.database import Database
from bridge.store.identity_groups import dataset_names
from bridge.sync.item_store import SyncItemStore

#: A dataset by its namespace and name.
QualifiedName = tuple[str, str]
#: So many parts has the name of a schema on a server: service, database, schema.
_LEAST_DOTS = 2


class MatchResult(NamedTuple):
    """The datasets that assets are about, and why some are about none."""

    datasets: dict[QualifiedName, list[Asset]]
    waiting: dict[QualifiedName, str]


class AssetMatcher:
    """Finds what assets are about."""

    def __init__(self, db: Database, org: str, items: SyncItemStore) -> None:
        self._db = db
        self._org = org
        self._assets = AssetStore(db, org)
        self._items = items

    def match(self, assets: Sequence[Asset]) -> MatchResult:
        """Find the datasets of all assets; one that nobody has seen yet is known by the name that it is given."""
        matched = MatchResult({}, {})
        by_name = self._by_table([one for one in assets if not one.is_pattern and self._is_table(one)])
        for asset in assets:
            if asset.is_pattern:
                continue
            own = asset.namespace, asset.name
            name = by_name.get(own, own) if self._is_table(asset) else own
            if name is None:
                matched.waiting[own] = f"no dataset is the table {asset.namespace}.{asset.name} yet"
            else:
                matched.datasets.setdefault(name, []).append(asset)
        self._match_patterns([one for one in assets if one.is_pattern], matched)
        return matched

    def _is_table(self, asset: Asset) -> bool:
        """Tell whether an asset names a table of OpenMetadata, and no dataset as events do."""
        dotted = asset.namespace.count(".") >= _LEAST_DOTS and "://" not in asset.namespace
        return dotted and not self._assets.has_namespace(asset.namespace)

    def _by_table(self, assets: Iterable[Asset]) -> dict[QualifiedName, QualifiedName | None]:
        """Find the datasets of tables; None where there is none."""
        wanted = {f"{one.namespace}.{one.name}": (one.namespace, one.name) for one in assets}
        found: dict[QualifiedName, QualifiedName | None] = dict.fromkeys(wanted.values())
        tables = self._items.remote_names("dataset") if wanted else ()  # also while they wait: their tables are there
        keys = {key: wanted[table] for table, key in tables if table in wanted}
        named = dataset_names(self._db, self._org, keys)
        return found | {own: named[key] for key, own in keys.items() if key in named}

    def _match_patterns(self, patterns: Sequence[Asset], matched: MatchResult) -> None:
        if not patterns:
            return
        alive = set()
        of_namespace: dict[str, list[tuple[re.Pattern[str], Asset]]] = {}
        alone = frozenset(matched.datasets)  # what is named alone will be there at once
        for namespace, name in chain(alone, (one for one in self._assets.active_dataset_names() if one not in alone)):
            if namespace not in of_namespace:
                of_namespace[namespace] = [
                    (re.compile(translate(asset.name)), asset)
                    for asset in patterns
                    if fnmatchcase(namespace, asset.namespace)
                ]
            for pattern, asset in of_namespace[namespace]:
                if pattern.match(name):
                    matched.datasets.setdefault((namespace, name), []).append(asset)
                    alive.add((asset.namespace, asset.name))
        for asset in patterns:
            own = asset.namespace, asset.name
            if own not in alive:
                matched.waiting[own] = "no dataset is called like this yet"
