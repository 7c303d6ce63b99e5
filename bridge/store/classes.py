"""Which names belong to one dataset: connected components over the symlinks that live."""

import sqlite3
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from mappers.canonical.facts import Dataset, DatasetSymlink
from mappers.canonical.merge import Reducer

_LIVE_LINKS = """
SELECT s.dataset_id, s.alias_id, s.identifier_type FROM dataset_symlink s
JOIN ol_dataset d ON d.org_id = s.org_id AND d.dataset_id = s.dataset_id
WHERE s.org_id = ?1 AND s.{end}_id = ?2
  AND (d.symlinks_deleted_at IS NULL OR s.asserted_at > d.symlinks_deleted_at)
"""
_LINKS = " UNION ALL ".join(_LIVE_LINKS.format(end=end) for end in ("dataset", "alias"))
_CLASSMATES = """
SELECT m.dataset_id FROM ol_dataset d
JOIN ol_dataset m ON m.org_id = d.org_id AND m.class_id = d.class_id
WHERE d.org_id = ?1 AND d.dataset_id = ?2
"""
_NAMES = """
SELECT n.namespace_uri, d.name FROM ol_dataset d
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE d.org_id = ?1 AND d.dataset_id = ?2
"""

_MOVE = "UPDATE ol_dataset SET class_id = ?3 WHERE org_id = ?1 AND dataset_id = ?2 AND class_id <> ?3"


class NeverLink(NamedTuple):
    """Names whose symlinks are not believed, as patterns of namespace and name."""

    namespace: str
    name: str = "*"

    def matches(self, names: tuple[str, str]) -> bool:
        """Tell whether a dataset's namespace and name are meant."""
        return fnmatchcase(names[0], self.namespace) and fnmatchcase(names[1], self.name)


class Classes:
    """Keeps `ol_dataset.class_id` what the symlinks say."""

    def __init__(self, connection: sqlite3.Connection, org: str, never_link: Iterable[NeverLink] = ()) -> None:
        self._db = connection
        self._org = org
        self._never = tuple(never_link)

    def settle(self, changes: Reducer) -> set[bytes]:
        """Recompute the classes that the changes touch; gives the datasets whose class may have other members."""
        seeds: set[bytes] = set()
        for symlink in changes.rows(DatasetSymlink):
            seeds.update((symlink.dataset_id, symlink.alias_id))
        for dataset in changes.rows(Dataset):
            if dataset.symlinks_deleted_at is not None:
                seeds.add(dataset.dataset_id)
        return self.recompute(seeds)

    def recompute(self, seeds: set[bytes]) -> set[bytes]:
        """Recompute the classes of these datasets and of all that are or were in one with them."""
        todo = {m for seed in seeds for (m,) in self._db.execute(_CLASSMATES, (self._org, seed))}
        considered, changed = set(todo), False
        while todo:
            members, tables = self._component(todo.pop())
            todo -= members
            considered |= members
            class_id = self._preferred(tables or members) if len(members) > 1 else next(iter(members))
            for member in sorted(members):
                moved = self._db.execute(_MOVE, (self._org, member, class_id)).rowcount
                changed = changed or moved > 0
        return considered if changed else set()

    def _component(self, seed: bytes) -> tuple[set[bytes], set[bytes]]:
        """Walk the live links from a dataset; gives all it reaches and those named as TABLE."""
        members, tables, frontier = {seed}, set(), [seed]
        while frontier:
            for source, alias, kind in self._db.execute(_LINKS, (self._org, frontier.pop())):
                if self._forbidden(source) or self._forbidden(alias):
                    continue
                if kind == "TABLE":
                    tables.add(alias)
                for end in (source, alias):
                    if end not in members:
                        members.add(end)
                        frontier.append(end)
        return members, tables

    def _forbidden(self, dataset: bytes) -> bool:
        if not self._never:
            return False
        names = self._names(dataset)
        return any(rule.matches(names) for rule in self._never)

    def _names(self, dataset: bytes) -> tuple[str, str]:
        namespace, name = self._db.execute(_NAMES, (self._org, dataset)).fetchone()
        return namespace, name

    def _preferred(self, candidates: set[bytes]) -> bytes:
        return min(candidates, key=self._names)
