"""Looks up and maintains identity groups, which are datasets connected by live symlinks."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from bridge.store.database import Database
from mappers.cache import BoundedCache
from mappers.canonical.merge import Reducer
from mappers.canonical.rows import DatasetRow, DatasetSymlinkRow, RunOutputRow

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
    """Map datasets to the ids of their groups. Unknown datasets are left out."""
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
    """Map datasets to namespace and name. Unknown datasets are left out."""
    rows = db.fetch_for_ids(_NAMES, sorted(datasets), org)
    return {dataset: (namespace, name) for dataset, namespace, name in rows}


_POSSIBLY_INACTIVE = """
SELECT DISTINCT d.class_id FROM ol_dataset d
JOIN ol_dataset m ON m.org_id = d.org_id AND m.class_id = d.class_id
WHERE d.org_id = ?1 AND d.dataset_id {ids} AND (m.retired_at IS NOT NULL OR NOT m.is_active)
"""
_MEMBERS_TO_LOCK = "SELECT dataset_id FROM ol_dataset WHERE org_id = ?1 AND class_id = ?2 ORDER BY dataset_id"
_UPDATE_IS_ACTIVE = """
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


def update_is_active(db: Database, org: str, changes: Reducer, regrouped_datasets: set[bytes]) -> None:
    """Derive `ol_dataset.is_active` from drops, renames and later writes. Group members get the same value."""
    datasets = set(regrouped_datasets)
    datasets.update(row.dataset_id for row in changes.rows(RunOutputRow))
    datasets.update(row.dataset_id for row in changes.rows(DatasetRow) if row.retired_at is not None)
    for (group,) in sorted(db.fetch_for_ids(_POSSIBLY_INACTIVE, datasets, org)):
        db.lock_rows(_MEMBERS_TO_LOCK, org, group)
        db.execute(_UPDATE_IS_ACTIVE, org, group)


_LIVE_LINKS = """
SELECT s.dataset_id, s.alias_id, s.identifier_type FROM dataset_symlink s
JOIN ol_dataset d ON d.org_id = s.org_id AND d.dataset_id = s.dataset_id
WHERE s.org_id = ?1 AND s.{end}_id = ?2
  AND (d.symlinks_deleted_at IS NULL OR s.asserted_at > d.symlinks_deleted_at)
"""
_LINKS = " UNION ALL ".join(_LIVE_LINKS.format(end=end) for end in ("dataset", "alias"))
_ALL_MEMBERS = """
SELECT m.dataset_id FROM ol_dataset d
JOIN ol_dataset m ON m.org_id = d.org_id AND m.class_id = d.class_id
WHERE d.org_id = ?1 AND d.dataset_id {ids}
"""
_SET_GROUP = "UPDATE ol_dataset SET class_id = ?3 WHERE org_id = ?1 AND dataset_id = ?2"
_STORED_LINKS = """
SELECT s.dataset_id, s.alias_id, s.identifier_type FROM dataset_symlink s
WHERE s.org_id = ?1 AND s.dataset_id {ids}
"""
_WITH_DELETED_LINKS = """
SELECT dataset_id FROM ol_dataset WHERE org_id = ?1 AND dataset_id {ids} AND symlinks_deleted_at IS NOT NULL
"""
_CACHED_LINKS = 100_000
#: A symlink: dataset, alias, type of identifier.
_Link = tuple[bytes, bytes, str]


class NeverLinkRule(NamedTuple):
    """Glob patterns of namespace and name. Symlinks from and to matching datasets are ignored."""

    namespace: str
    name: str = "*"

    def matches(self, dataset_name: tuple[str, str]) -> bool:
        namespace, name = dataset_name
        return fnmatchcase(namespace, self.namespace) and fnmatchcase(name, self.name)


class IdentityGroups:
    """Maintains `ol_dataset.class_id`, the group of each dataset, from the symlinks."""

    def __init__(self, db: Database, org: str, never_link: Iterable[NeverLinkRule] = ()) -> None:
        self._db = db
        self._org = org
        self._never_link = tuple(never_link)
        self._stored_links: BoundedCache[_Link, bool] = BoundedCache(_CACHED_LINKS)

    def find_new_symlinks(self, changes: Reducer) -> set[_Link]:
        """Find the symlinks that are not stored yet. Must be called before the changes are merged.

        If there are new symlinks, lock the groups: wait for all other transactions that may change a group.
        """
        links = {(row.dataset_id, row.alias_id, row.identifier_type) for row in changes.rows(DatasetSymlinkRow)}
        new_links = {link for link in links if link not in self._stored_links}
        datasets = sorted({dataset for dataset, _, _ in new_links})
        new_links.difference_update(self._db.fetch_for_ids(_STORED_LINKS, datasets, self._org))
        if new_links:
            self._lock_groups()
        return new_links

    def update(self, changes: Reducer, new_links: set[_Link]) -> set[bytes]:
        """Recompute the affected groups. Return the datasets that may have new group members.

        A symlink that is already stored changes nothing, unless a symlink of its dataset was ever deleted.
        """
        seeds = {row.dataset_id for row in changes.rows(DatasetRow) if row.symlinks_deleted_at is not None}
        link_rows = changes.rows(DatasetSymlinkRow)
        datasets = sorted({row.dataset_id for row in link_rows})
        rows_with_deletions = self._db.fetch_for_ids(_WITH_DELETED_LINKS, datasets, self._org)
        datasets_with_deletions = {dataset for (dataset,) in rows_with_deletions}
        for dataset, alias, _ in new_links:
            seeds |= {dataset, alias}
        for row in link_rows:
            if row.dataset_id in datasets_with_deletions:
                seeds |= {row.dataset_id, row.alias_id}
        if not seeds:
            return set()
        self._lock_groups()
        return self.recompute(seeds)

    def _lock_groups(self) -> None:
        self._db.lock(f"classes of {self._org}")

    def remember_symlinks(self, changes: Reducer) -> None:
        """Cache symlinks that were committed."""
        for row in changes.rows(DatasetSymlinkRow):
            self._stored_links.put((row.dataset_id, row.alias_id, row.identifier_type), True)

    def recompute(self, seeds: set[bytes]) -> set[bytes]:
        """Recompute the groups of these datasets, and of all datasets that are or were grouped with them.

        Returns the datasets that may have new group members.
        """
        pending = {member for (member,) in self._db.fetch_for_ids(_ALL_MEMBERS, sorted(seeds), self._org)}
        affected = set(pending)
        any_group_changed = False
        while pending:
            members, table_aliases = self._connected_component(pending.pop())
            pending -= members
            affected |= members
            if len(members) > 1:
                group = self._representative(table_aliases or members)
            else:
                (group,) = members
            for member, previous_group in sorted(group_ids(self._db, self._org, members).items()):
                if previous_group != group:
                    self._db.execute(_SET_GROUP, self._org, member, group)
                    any_group_changed = True
        return affected if any_group_changed else set()

    def _connected_component(self, seed: bytes) -> tuple[set[bytes], set[bytes]]:
        """Follow live symlinks. Return the datasets reached, and the aliases of type TABLE among them."""
        members = {seed}
        table_aliases = set()
        frontier = [seed]
        while frontier:
            for source, alias, identifier_type in self._db.fetch_all(_LINKS, self._org, frontier.pop()):
                if self._is_excluded(source) or self._is_excluded(alias):
                    continue
                if identifier_type == "TABLE":
                    table_aliases.add(alias)
                for endpoint in (source, alias):
                    if endpoint not in members:
                        members.add(endpoint)
                        frontier.append(endpoint)
        return members, table_aliases

    def _is_excluded(self, dataset: bytes) -> bool:
        if not self._never_link:
            return False
        name = dataset_names(self._db, self._org, [dataset])[dataset]
        return any(rule.matches(name) for rule in self._never_link)

    def _representative(self, candidates: set[bytes]) -> bytes:
        """Return the dataset whose id becomes the id of the group: the one with the smallest name."""
        return min(candidates, key=dataset_names(self._db, self._org, candidates).__getitem__)
