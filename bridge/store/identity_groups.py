"""Maintains identity groups (datasets connected by live symlinks) and whether each is active."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from bridge.store.database import Database
from mappers.cache import BoundedCache
from mappers.canonical.merge import Reducer
from mappers.canonical.rows import DatasetRow, DatasetSymlinkRow, RunOutputRow

_SUSPECT = """
SELECT DISTINCT d.class_id FROM ol_dataset d
JOIN ol_dataset m ON m.org_id = d.org_id AND m.class_id = d.class_id
WHERE d.org_id = ?1 AND d.dataset_id {ids} AND (m.retired_at IS NOT NULL OR NOT m.is_active)
"""
_HOLD = "SELECT dataset_id FROM ol_dataset WHERE org_id = ?1 AND class_id = ?2 ORDER BY dataset_id"
_SETTLE = """
WITH member AS (SELECT dataset_id FROM ol_dataset WHERE org_id = ?1 AND class_id = ?2),
retired AS (
  SELECT max(retired_at) AS at FROM ol_dataset WHERE org_id = ?1 AND class_id = ?2),
written AS (
  SELECT 1 FROM ol_run_output o, retired
  WHERE o.org_id = ?1 AND o.dataset_id IN (SELECT dataset_id FROM member) AND o.last_seen > retired.at
    AND NOT EXISTS (
      SELECT 1 FROM ol_run_output x
      WHERE x.org_id = ?1 AND x.run_id = o.run_id AND x.dropped_at IS NOT NULL
        AND x.dataset_id IN (SELECT dataset_id FROM member)))
UPDATE ol_dataset SET is_active = (SELECT at IS NULL FROM retired) OR EXISTS (SELECT 1 FROM written)
WHERE org_id = ?1 AND class_id = ?2
"""


def update_is_active(db: Database, org: str, changes: Reducer, regrouped: set[bytes]) -> None:
    """Keep `ol_dataset.is_active` what drops, renames and later writes say, for each class as one."""
    touched = set(regrouped)
    touched.update(row.dataset_id for row in changes.rows(RunOutputRow))
    for row in changes.rows(DatasetRow):
        if row.retired_at is not None:
            touched.add(row.dataset_id)
    for (class_id,) in sorted(db.fetch_for_ids(_SUSPECT, touched, org)):
        db.lock_rows(_HOLD, org, class_id)
        db.execute(_SETTLE, org, class_id)


_LIVE_LINKS = """
SELECT s.dataset_id, s.alias_id, s.identifier_type FROM dataset_symlink s
JOIN ol_dataset d ON d.org_id = s.org_id AND d.dataset_id = s.dataset_id
WHERE s.org_id = ?1 AND s.{end}_id = ?2
  AND (d.symlinks_deleted_at IS NULL OR s.asserted_at > d.symlinks_deleted_at)
"""
_LINKS = " UNION ALL ".join(_LIVE_LINKS.format(end=end) for end in ("dataset", "alias"))
_GROUP_IDS = "SELECT dataset_id, class_id FROM ol_dataset WHERE org_id = ?1 AND dataset_id {ids}"
_MEMBER_IDS = "SELECT dataset_id FROM ol_dataset WHERE org_id = ?1 AND class_id {ids}"
_MEMBERS = """
SELECT d.class_id, d.dataset_id, n.namespace_uri, d.name FROM ol_dataset d
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE d.org_id = ?1 AND d.class_id {ids}
"""
_NAMES = """
SELECT d.dataset_id, n.namespace_uri, d.name FROM ol_dataset d
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE d.org_id = ?1 AND d.dataset_id {ids}
"""


class GroupMember(NamedTuple):
    """A dataset of an identity group."""

    group_id: bytes
    dataset_id: bytes
    namespace: str
    name: str


def group_ids(db: Database, org: str, datasets: Iterable[bytes]) -> dict[bytes, bytes]:
    """Map datasets to the ids of their groups; unknown datasets are left out."""
    return dict(db.fetch_for_ids(_GROUP_IDS, sorted(datasets), org))


def member_ids(db: Database, org: str, groups: Iterable[bytes]) -> set[bytes]:
    """List the datasets of these groups."""
    return {dataset for (dataset,) in db.fetch_for_ids(_MEMBER_IDS, sorted(groups), org)}


def group_members(db: Database, org: str, groups: Iterable[bytes]) -> list[GroupMember]:
    """List the datasets of these groups with their names, in no particular order."""
    return [GroupMember._make(row) for row in db.fetch_for_ids(_MEMBERS, sorted(groups), org)]


def group_names(db: Database, org: str, group: bytes) -> list[tuple[str, str]]:
    """List the names of a group, the preferred one first."""
    members = group_members(db, org, [group])
    members.sort(key=lambda member: (member.dataset_id != group, member.namespace, member.name))
    return [(member.namespace, member.name) for member in members]


def dataset_names(db: Database, org: str, datasets: Iterable[bytes]) -> dict[bytes, tuple[str, str]]:
    """Map datasets to namespace and name; unknown datasets are left out."""
    rows = db.fetch_for_ids(_NAMES, sorted(datasets), org)
    return {dataset: (namespace, name) for dataset, namespace, name in rows}


_CLASSMATES = """
SELECT m.dataset_id FROM ol_dataset d
JOIN ol_dataset m ON m.org_id = d.org_id AND m.class_id = d.class_id
WHERE d.org_id = ?1 AND d.dataset_id {ids}
"""
_MOVE = "UPDATE ol_dataset SET class_id = ?3 WHERE org_id = ?1 AND dataset_id = ?2"
_KNOWN = """
SELECT s.dataset_id, s.alias_id, s.identifier_type FROM dataset_symlink s
WHERE s.org_id = ?1 AND s.dataset_id {ids}
"""
_EVER_DELETED = """
SELECT dataset_id FROM ol_dataset WHERE org_id = ?1 AND dataset_id {ids} AND symlinks_deleted_at IS NOT NULL
"""
_CACHED_LINKS = 100_000
#: A symlink: dataset, alias, type of identifier.
_Link = tuple[bytes, bytes, str]


class NeverLinkRule(NamedTuple):
    """Names whose symlinks are not believed, as patterns of namespace and name."""

    namespace: str
    name: str = "*"

    def matches(self, names: tuple[str, str]) -> bool:
        """Tell whether a dataset's namespace and name are meant."""
        return fnmatchcase(names[0], self.namespace) and fnmatchcase(names[1], self.name)


class IdentityGroups:
    """Keeps `ol_dataset.class_id` what the symlinks say."""

    def __init__(self, db: Database, org: str, never_link: Iterable[NeverLinkRule] = ()) -> None:
        self._db = db
        self._org = org
        self._never = tuple(never_link)
        self._known: BoundedCache[_Link, bool] = BoundedCache(_CACHED_LINKS)

    def find_new_symlinks(self, changes: Reducer) -> set[_Link]:
        """Find, before they are merged, the symlinks that the store does not have.

        Whoever brings one waits here for everybody else who may change a class.
        """
        links = {(row.dataset_id, row.alias_id, row.identifier_type) for row in changes.rows(DatasetSymlinkRow)}
        new = {link for link in links if link not in self._known}
        new.difference_update(self._db.fetch_for_ids(_KNOWN, sorted({link[0] for link in new}), self._org))
        if new:
            self._lock()
        return new

    def update(self, changes: Reducer, new: set[_Link]) -> set[bytes]:
        """Recompute the classes that the changes touch; gives the datasets whose class may have other members.

        A symlink that the store had already changes nothing, unless those of its dataset were ever deleted.
        """
        seeds = {row.dataset_id for row in changes.rows(DatasetRow) if row.symlinks_deleted_at is not None}
        links = changes.rows(DatasetSymlinkRow)
        deleted = {
            d for (d,) in self._db.fetch_for_ids(_EVER_DELETED, sorted({row.dataset_id for row in links}), self._org)
        }
        seeds.update(end for link in new for end in link[:2])
        seeds.update(end for row in links if row.dataset_id in deleted for end in (row.dataset_id, row.alias_id))
        if not seeds:
            return set()
        self._lock()
        return self.recompute(seeds)

    def _lock(self) -> None:
        self._db.lock(f"classes of {self._org}")

    def remember_symlinks(self, changes: Reducer) -> None:
        """Remember which symlinks the store has."""
        for row in changes.rows(DatasetSymlinkRow):
            self._known.put((row.dataset_id, row.alias_id, row.identifier_type), True)

    def recompute(self, seeds: set[bytes]) -> set[bytes]:
        """Recompute the classes of these datasets and of all that are or were in one with them.

        Gives the datasets whose class may have other members.
        """
        todo = {member for (member,) in self._db.fetch_for_ids(_CLASSMATES, sorted(seeds), self._org)}
        considered, changed = set(todo), False
        while todo:
            members, tables = self._connected_component(todo.pop())
            todo -= members
            considered |= members
            class_id = self._representative(tables or members) if len(members) > 1 else next(iter(members))
            for member, known in sorted(group_ids(self._db, self._org, members).items()):
                if known != class_id:
                    self._db.execute(_MOVE, self._org, member, class_id)
                    changed = True
        return considered if changed else set()

    def _connected_component(self, seed: bytes) -> tuple[set[bytes], set[bytes]]:
        """Walk the live links from a dataset; gives all it reaches and those named as TABLE."""
        members, tables, frontier = {seed}, set(), [seed]
        while frontier:
            for source, alias, kind in self._db.fetch_all(_LINKS, self._org, frontier.pop()):
                if self._is_excluded(source) or self._is_excluded(alias):
                    continue
                if kind == "TABLE":
                    tables.add(alias)
                for end in (source, alias):
                    if end not in members:
                        members.add(end)
                        frontier.append(end)
        return members, tables

    def _is_excluded(self, dataset: bytes) -> bool:
        if not self._never:
            return False
        names = dataset_names(self._db, self._org, [dataset])[dataset]
        return any(rule.matches(names) for rule in self._never)

    def _representative(self, candidates: set[bytes]) -> bytes:
        return min(candidates, key=dataset_names(self._db, self._org, candidates).__getitem__)
