"""The ends of edges: entities of the target, with their columns by the names that jobs give them."""

from collections.abc import Collection, Iterable
from typing import Any

from bridge.store.database import Database
from bridge.sync.datasets import read_datasets
from bridge.sync.item import Item, Remote
from bridge.sync.items import Items
from mappers.openmetadata.columns import ColumnRow, nested
from mappers.openmetadata.edges import End

#: Kinds of entities that have columns.
_WITH_COLUMNS = frozenset({"table", "container", "topic"})


class Ends:
    """The entities of datasets and jobs, as far as they are in the target."""

    def __init__(
        self, db: Database, org: str, items: Items, datasets: Collection[bytes], jobs: Collection[bytes]
    ) -> None:
        self.datasets = items.of("dataset", datasets)
        self.jobs = items.of("job", jobs)
        there = [key for key, item in self.datasets.items() if item.remote]
        stored = read_datasets(db, org, there)
        self._columns = {
            key: _matched(nested(ColumnRow(*column) for column in dataset.columns).names, self.datasets[key])
            for key, dataset in stored.items()
        }

    def remote(self, key: bytes) -> Remote | None:
        """Give the entity of a dataset or job, if it is in the target."""
        item = self.datasets.get(key) or self.jobs.get(key)
        return item.remote if item else None

    def end(self, key: bytes) -> End:
        """Give an entity that is in the target with its columns."""
        remote = self.remote(key)
        assert remote is not None  # noqa: S101 - only what is there is asked for
        columns = self._columns.get(key, {}) if remote.type in _WITH_COLUMNS else {}
        return End(remote.name, columns)

    def shape(self, key: bytes) -> Any:
        """Give what is known of the columns that an entity has over there: where it changes, edges lose theirs."""
        item = self.datasets.get(key)
        return [item.detail.get(known) for known in ("shape", "columns")] if item else None


def _matched(names: dict[str, tuple[str, ...]], item: Item) -> dict[str, tuple[str, ...]]:
    """Spell columns as the server has them: those of an entity that others made may differ in their case."""
    if item.ours:
        return names
    paths = [tuple(path) for path in item.detail.get("columns", ())]
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
