"""Entities of datasets and jobs in OpenMetadata, with their columns."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from bridge.store.database import Database
from bridge.sync.canonical.datasets import read_datasets
from bridge.sync.item_store import SyncItemStore
from bridge.sync.openmetadata.desired_entities import EntityRecord
from bridge.sync.sync_item import EXCLUDED, Outcome, RemoteReference, SyncItem
from mappers.governance.merge import FieldPath
from mappers.openmetadata.columns import nest_columns
from mappers.openmetadata.governance import DESCRIPTION, DISPLAY_NAME
from mappers.openmetadata.lineage_details import EdgeEndpoint

#: Kinds of entities that have columns.
_WITH_COLUMNS = frozenset({"table", "container", "topic"})


class RemoteEntities:
    """Entities of datasets and jobs that are in OpenMetadata."""

    def __init__(
        self, db: Database, org: str, items: SyncItemStore, datasets: Collection[bytes], jobs: Collection[bytes]
    ) -> None:
        self.datasets = items.get("dataset", datasets)
        self.jobs = items.get("job", jobs)
        keys = [key for key, item in self.datasets.items() if item.remote]
        datasets_by_key = read_datasets(db, org, keys)
        self._columns = {
            key: _match_columns(nest_columns(dataset.columns).names, self.datasets[key])
            for key, dataset in datasets_by_key.items()
        }

    def remote(self, key: bytes) -> RemoteReference | None:
        """Return the entity of a dataset or job; None if it is not in OpenMetadata."""
        item = self.datasets.get(key) or self.jobs.get(key)
        return item.remote if item else None

    def is_excluded(self, key: bytes) -> bool:
        """True if a dataset or job is not expected in OpenMetadata, for example because it was dropped."""
        item = self.datasets.get(key) or self.jobs.get(key)
        return item is not None and item.outcome in EXCLUDED

    def is_unresolved(self, key: bytes) -> bool:
        """True if an operator has to act before the entity can be used."""
        item = self.datasets.get(key) or self.jobs.get(key)
        return item is not None and item.remote is None and item.outcome == Outcome.UNRESOLVED

    def own_values(self, key: bytes) -> Mapping[FieldPath, frozenset[str]]:
        """Return the descriptions and the display name of a dataset that were sent with its entity."""
        if key not in self.datasets:
            return {}
        record = self.datasets[key].read_record(EntityRecord)
        return {DESCRIPTION: record.own_descriptions, DISPLAY_NAME: frozenset(filter(None, [record.display_name]))}

    def endpoint(self, key: bytes) -> EdgeEndpoint:
        """Return the entity and columns of an edge endpoint, which must be in OpenMetadata."""
        remote = self.remote(key)
        assert remote is not None  # noqa: S101 - callers check that the entity exists
        columns = self._columns.get(key, {}) if remote.type in _WITH_COLUMNS else {}
        return EdgeEndpoint(remote.name, columns)

    def columns_version(self, key: bytes) -> Any:
        """Return the version of the remote columns. When it changes, edges are pushed again, as they lose columns."""
        item = self.datasets.get(key)
        return item.read_record(EntityRecord).columns_version if item else None


def _match_columns(names: dict[str, tuple[str, ...]], item: SyncItem) -> dict[str, tuple[str, ...]]:
    """Map column names to remote paths; the columns of foreign entities may differ in case."""
    if item.created_by_us:
        return names
    paths = item.read_record(EntityRecord).columns
    exact, by_folded_path = set(paths), _unique_ignoring_case(paths)
    matched = {
        name: path if path in exact else by_folded_path.get(_casefold_path(path)) for name, path in names.items()
    }
    present = {name: path for name, path in matched.items() if path}
    return {".".join(path): path for path in paths} | present


def _unique_ignoring_case(paths: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return paths by case-folded path, without paths that differ only in case."""
    paths_by_folded: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for path in paths:
        paths_by_folded.setdefault(_casefold_path(path), []).append(path)
    return {folded: group[0] for folded, group in paths_by_folded.items() if len(group) == 1}


def _casefold_path(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.casefold() for part in path)
