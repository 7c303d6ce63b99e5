"""Entities of datasets and jobs in OpenMetadata, with their columns."""

from collections.abc import Collection, Iterable
from typing import Any

from bridge.store.database import Database
from bridge.sync.canonical.datasets import read_datasets
from bridge.sync.item_store import SyncItemStore
from bridge.sync.sync_item import RemoteReference, SyncItem
from mappers.openmetadata.columns import ColumnRow, nest_columns
from mappers.openmetadata.lineage_details import EdgeEndpoint

#: Kinds of entities that have columns.
_WITH_COLUMNS = frozenset({"table", "container", "topic"})


class RemoteEntities:
    """The entities of datasets and jobs, as far as they are in the target."""

    def __init__(
        self, db: Database, org: str, items: SyncItemStore, datasets: Collection[bytes], jobs: Collection[bytes]
    ) -> None:
        self.datasets = items.get("dataset", datasets)
        self.jobs = items.get("job", jobs)
        there = [key for key, item in self.datasets.items() if item.remote]
        stored = read_datasets(db, org, there)
        self._columns = {
            key: _matched(nest_columns(ColumnRow(*column) for column in dataset.columns).names, self.datasets[key])
            for key, dataset in stored.items()
        }

    def remote(self, key: bytes) -> RemoteReference | None:
        """Give the entity of a dataset or job, if it is in the target."""
        item = self.datasets.get(key) or self.jobs.get(key)
        return item.remote if item else None

    def endpoint(self, key: bytes) -> EdgeEndpoint:
        """Give an entity that is in the target with its columns."""
        remote = self.remote(key)
        assert remote is not None  # noqa: S101 - only what is there is asked for
        columns = self._columns.get(key, {}) if remote.type in _WITH_COLUMNS else {}
        return EdgeEndpoint(remote.name, columns)

    def columns_version(self, key: bytes) -> Any:
        """Give what is known of the columns that an entity has over there: where it changes, edges lose theirs."""
        item = self.datasets.get(key)
        return [item.record.get(known) for known in ("shape", "columns")] if item else None


def _matched(names: dict[str, tuple[str, ...]], item: SyncItem) -> dict[str, tuple[str, ...]]:
    """Spell columns as the server has them: those of an entity that others made may differ in their case."""
    if item.created_by_us:
        return names
    paths = [tuple(path) for path in item.record.get("columns", ())]
    exact, alike = set(paths), _alike(paths)
    matched = {name: path if path in exact else alike.get(_folded(path)) for name, path in names.items()}
    known = {name: path for name, path in matched.items() if path}
    return {".".join(path): path for path in paths} | known


def _alike(paths: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Give the columns that no other is called like, in whatever case."""
    found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for path in paths:
        found.setdefault(_folded(path), []).append(path)
    return {folded: same[0] for folded, same in found.items() if len(same) == 1}


def _folded(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.casefold() for part in path)
