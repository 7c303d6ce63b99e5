"""Which names belong to one dataset: connected components over the symlinks that live."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from bridge.store.database import Database
from mappers.canonical.facts import Dataset, DatasetSymlink
from mappers.canonical.merge import Reducer
from mappers.memory import Memory

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
WHERE d.org_id = ?1 AND d.dataset_id {among}
"""
_NAMES = """
SELECT n.namespace_uri, d.name FROM ol_dataset d
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE d.org_id = ?1 AND d.dataset_id = ?2
"""

_MOVE = "UPDATE ol_dataset SET class_id = ?3 WHERE org_id = ?1 AND dataset_id = ?2"
_CLASS = "SELECT dataset_id, class_id FROM ol_dataset WHERE org_id = ?1 AND dataset_id {among}"
_KNOWN = """
SELECT s.dataset_id, s.alias_id, s.identifier_type FROM dataset_symlink s
WHERE s.org_id = ?1 AND s.dataset_id {among}
"""
_EVER_DELETED = """
SELECT dataset_id FROM ol_dataset WHERE org_id = ?1 AND dataset_id {among} AND symlinks_deleted_at IS NOT NULL
"""
_REMEMBERED_LINKS = 100_000
#: A symlink: dataset, alias, type of identifier.
_Link = tuple[bytes, bytes, str]


class NeverLink(NamedTuple):
    """Names whose symlinks are not believed, as patterns of namespace and name."""

    namespace: str
    name: str = "*"

    def matches(self, names: tuple[str, str]) -> bool:
        """Tell whether a dataset's namespace and name are meant."""
        return fnmatchcase(names[0], self.namespace) and fnmatchcase(names[1], self.name)


class Classes:
    """Keeps `ol_dataset.class_id` what the symlinks say."""

    def __init__(self, db: Database, org: str, never_link: Iterable[NeverLink] = ()) -> None:
        self._db = db
        self._org = org
        self._never = tuple(never_link)
        self._known: Memory[_Link, bool] = Memory(_REMEMBERED_LINKS)

    def begin(self, changes: Reducer) -> set[_Link]:
        """Find, before they are merged, the symlinks that the store does not have.

        Whoever brings one waits here for everybody else who may change a class.
        """
        links = {(row.dataset_id, row.alias_id, row.identifier_type) for row in changes.rows(DatasetSymlink)}
        new = {link for link in links if link not in self._known}
        new.difference_update(self._db.among(_KNOWN, sorted({link[0] for link in new}), self._org))
        if new:
            self._lock()
        return new

    def settle(self, changes: Reducer, new: set[_Link]) -> set[bytes]:
        """Recompute the classes that the changes touch; gives the datasets whose class may have other members.

        A symlink that the store had already changes nothing, unless those of its dataset were ever deleted.
        """
        seeds = {row.dataset_id for row in changes.rows(Dataset) if row.symlinks_deleted_at is not None}
        links = changes.rows(DatasetSymlink)
        deleted = {d for (d,) in self._db.among(_EVER_DELETED, sorted({row.dataset_id for row in links}), self._org)}
        seeds.update(end for link in new for end in link[:2])
        seeds.update(end for row in links if row.dataset_id in deleted for end in (row.dataset_id, row.alias_id))
        if not seeds:
            return set()
        self._lock()
        return self.recompute(seeds)

    def _lock(self) -> None:
        self._db.lock(f"classes of {self._org}")

    def committed(self, changes: Reducer) -> None:
        """Remember which symlinks the store has."""
        for row in changes.rows(DatasetSymlink):
            self._known.keep((row.dataset_id, row.alias_id, row.identifier_type), True)

    def recompute(self, seeds: set[bytes]) -> set[bytes]:
        """Recompute the classes of these datasets and of all that are or were in one with them.

        Gives the datasets whose class may have other members.
        """
        todo = {member for (member,) in self._db.among(_CLASSMATES, sorted(seeds), self._org)}
        considered, changed = set(todo), False
        while todo:
            members, tables = self._component(todo.pop())
            todo -= members
            considered |= members
            class_id = self._preferred(tables or members) if len(members) > 1 else next(iter(members))
            for member, known in sorted(self._db.among(_CLASS, sorted(members), self._org)):
                if known != class_id:
                    self._db.run(_MOVE, self._org, member, class_id)
                    changed = True
        return considered if changed else set()

    def _component(self, seed: bytes) -> tuple[set[bytes], set[bytes]]:
        """Walk the live links from a dataset; gives all it reaches and those named as TABLE."""
        members, tables, frontier = {seed}, set(), [seed]
        while frontier:
            for source, alias, kind in self._db.rows(_LINKS, self._org, frontier.pop()):
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
        ((namespace, name),) = self._db.rows(_NAMES, self._org, dataset)
        return namespace, name

    def _preferred(self, candidates: set[bytes]) -> bytes:
        return min(candidates, key=self._names)
