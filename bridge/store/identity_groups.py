"""Looks up and maintains identity groups, which are datasets connected by live symlinks."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from bridge.clock import now_micros
from bridge.store.database import Database, Insert
from bridge.store.file_folders import NO_USES, FileFolders, NewUses, lock_groups
from bridge.store.symlink_graph import Component, Link, LinkRules, SymlinkGraph, dataset_names
from mappers.cache import BoundedCache
from mappers.canonical.merge import Reducer
from mappers.canonical.rows import DatasetRow, DatasetSymlinkRow, RunOutputRow

_GROUP_IDS = "SELECT dataset_id, class_id FROM ol_dataset WHERE org_id = ?1 AND dataset_id {ids}"
_MEMBER_IDS = "SELECT dataset_id FROM ol_dataset WHERE org_id = ?1 AND class_id {ids}"
_MEMBERS = """
SELECT d.class_id, d.dataset_id, n.namespace_uri, d.name FROM ol_dataset d
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE d.org_id = ?1 AND d.class_id {ids} AND d.folded_into IS NULL
"""

_ALL_OVERSIZED = "SELECT dataset_id FROM oversized_group WHERE org_id = ?1 ORDER BY dataset_id"


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
    """List the datasets of these groups with their names, in no particular order, without folded files."""
    return [GroupMember._make(row) for row in db.fetch_for_ids(_MEMBERS, sorted(groups), org)]


def group_names(db: Database, org: str, group: bytes) -> list[tuple[str, str]]:
    """List the names of a group, the preferred one first."""
    members = group_members(db, org, [group])
    members.sort(key=lambda member: (member.dataset_id != group, member.namespace, member.name))
    return [(member.namespace, member.name) for member in members]


def oversized_groups(db: Database, org: str) -> list[bytes]:
    """List one dataset of each component that has more names than a group may have."""
    return [dataset for (dataset,) in db.fetch_all(_ALL_OVERSIZED, org)]


_POSSIBLY_INACTIVE = """
SELECT DISTINCT m.class_id FROM ol_dataset d
JOIN ol_dataset m ON m.org_id = d.org_id AND m.class_id = d.class_id AND (m.retired_at IS NOT NULL OR NOT m.is_active)
WHERE d.org_id = ?1 AND d.dataset_id {ids}
"""
_MEMBERS_TO_LOCK = "SELECT dataset_id FROM ol_dataset WHERE org_id = ?1 AND class_id = ?2 ORDER BY dataset_id"
#: The newest runs come first: one of them has usually written the dataset after it was retired.
_UPDATE_IS_ACTIVE = """
WITH member AS (SELECT dataset_id FROM ol_dataset WHERE org_id = ?1 AND class_id = ?2),
retired AS (
  SELECT max(retired_at) AS at FROM ol_dataset WHERE org_id = ?1 AND class_id = ?2),
activity AS (
  SELECT at IS NULL OR EXISTS (
    SELECT 1 FROM member m WHERE (
      SELECT 1 FROM ol_run_output o
      WHERE o.org_id = ?1 AND o.dataset_id = m.dataset_id AND o.last_seen > retired.at
        AND NOT EXISTS (
          SELECT 1 FROM ol_run_output x
          WHERE x.org_id = ?1 AND x.run_id = o.run_id AND x.dropped_at IS NOT NULL
            AND x.dataset_id IN (SELECT dataset_id FROM member))
      ORDER BY o.run_id DESC LIMIT 1) IS NOT NULL) AS is_active FROM retired)
UPDATE ol_dataset SET is_active = (SELECT is_active FROM activity)
WHERE org_id = ?1 AND class_id = ?2 AND is_active <> (SELECT is_active FROM activity)
"""


def update_is_active(db: Database, org: str, changes: Reducer, regrouped_datasets: set[bytes]) -> None:
    """Derive `ol_dataset.is_active` from drops, renames and later writes. Group members get the same value."""
    datasets = set(regrouped_datasets)
    datasets.update(row.dataset_id for row in changes.rows(RunOutputRow))
    datasets.update(row.dataset_id for row in changes.rows(DatasetRow) if row.retired_at is not None)
    for group in sorted({group for (group,) in db.fetch_for_ids(_POSSIBLY_INACTIVE, sorted(datasets), org)}):
        db.lock_rows(_MEMBERS_TO_LOCK, org, group)
        db.execute(_UPDATE_IS_ACTIVE, org, group)


_SET_GROUP = "UPDATE ol_dataset SET class_id = ?3 WHERE org_id = ?1 AND dataset_id = ?2"
_STORED_LINKS = """
SELECT s.dataset_id, s.alias_id, s.identifier_type FROM {keys} g
JOIN dataset_symlink s ON s.dataset_id = g.a AND s.alias_id = g.b AND s.identifier_type = g.c AND s.org_id = ?1
"""
_WITH_DELETED_LINKS = """
SELECT dataset_id FROM ol_dataset WHERE org_id = ?1 AND dataset_id {ids} AND symlinks_deleted_at IS NOT NULL
"""
_OVERSIZED = "SELECT dataset_id FROM oversized_group WHERE org_id = ?1 AND dataset_id {ids}"
_ADD_OVERSIZED = Insert(
    "oversized_group", {"org_id": str, "dataset_id": bytes, "found_at": int}, "ON CONFLICT DO NOTHING"
)
_CLEAR_OVERSIZED = "DELETE FROM oversized_group WHERE org_id = ?1"
_FOLDERS = """
SELECT dataset_id, folded_into FROM ol_dataset WHERE org_id = ?1 AND dataset_id {ids} AND folded_into IS NOT NULL
"""
_LINKED_DATASETS = "SELECT DISTINCT dataset_id FROM dataset_symlink WHERE org_id = ?1"
_CACHED_LINKS = 100_000


class NewFacts(NamedTuple):
    """New symlinks, and datasets and jobs that may be used in new ways."""

    links: set[Link]
    uses: NewUses


class IdentityGroups:
    """Maintains `ol_dataset.class_id`, the group of each dataset, from the symlinks."""

    def __init__(self, db: Database, org: str, rules: LinkRules) -> None:
        self._db = db
        self._org = org
        self._graph = SymlinkGraph(db, org, rules)
        self._stored_links: BoundedCache[Link, bool] = BoundedCache(_CACHED_LINKS)
        self._folders = FileFolders(db, org) if rules.fold_files else None

    def find_new_facts(self, changes: Reducer, retyped_jobs: set[bytes]) -> NewFacts:
        """Find what may change the groups. Must be called before the changes are merged.

        If there are new symlinks, lock the groups: wait for all other transactions that may change a group.
        """
        new_links = self._find_new_symlinks(changes)
        new_uses = self._folders.find_new_uses(changes, retyped_jobs) if self._folders else NO_USES
        return NewFacts(new_links, new_uses)

    def _find_new_symlinks(self, changes: Reducer) -> set[Link]:
        links = {(row.dataset_id, row.alias_id, row.identifier_type) for row in changes.rows(DatasetSymlinkRow)}
        new_links = {link for link in links if link not in self._stored_links}
        new_links.difference_update(self._db.fetch_for_keys(_STORED_LINKS, sorted(new_links), self._org))
        if new_links:
            lock_groups(self._db, self._org)
        return new_links

    def update(self, changes: Reducer, new_facts: NewFacts) -> set[bytes]:
        """Recompute the affected groups. Return the datasets that may have new group members.

        A symlink that is already stored changes nothing, unless a symlink of its dataset was ever deleted.
        """
        seeds = {row.dataset_id for row in changes.rows(DatasetRow) if row.symlinks_deleted_at is not None}
        link_rows = changes.rows(DatasetSymlinkRow)
        datasets = sorted({row.dataset_id for row in link_rows})
        rows_with_deletions = self._db.fetch_for_ids(_WITH_DELETED_LINKS, datasets, self._org)
        datasets_with_deletions = {dataset for (dataset,) in rows_with_deletions}
        linked_datasets = {dataset_id for dataset, alias, _ in new_facts.links for dataset_id in (dataset, alias)}
        seeds |= linked_datasets
        for row in link_rows:
            if row.dataset_id in datasets_with_deletions:
                seeds |= {row.dataset_id, row.alias_id}
        if self._folders:
            seeds |= self._folders.update(new_facts.uses, linked_datasets)
        if not seeds:
            return set()
        lock_groups(self._db, self._org)
        return self._recompute(seeds, new_facts.links)

    def recompute_all(self) -> set[bytes]:
        """Recompute all groups, for new rules. Return the datasets that may have new group members."""
        lock_groups(self._db, self._org)
        self._db.execute(_CLEAR_OVERSIZED, self._org)
        seeds = {dataset for (dataset,) in self._db.fetch_all(_LINKED_DATASETS, self._org)}
        folders = FileFolders(self._db, self._org)
        seeds |= folders.fold_all() if self._folders else folders.unfold_all()
        return self._recompute(seeds, set())

    def remember(self, changes: Reducer) -> None:
        """Cache symlinks and uses that were committed."""
        if self._folders:
            self._folders.remember(changes)
        for row in changes.rows(DatasetSymlinkRow):
            self._stored_links.put((row.dataset_id, row.alias_id, row.identifier_type), True)

    def _recompute(self, seeds: set[bytes], new_links: set[Link]) -> set[bytes]:
        """Recompute the groups of these datasets, and of all datasets that are or were grouped with them."""
        stored_groups = set(group_ids(self._db, self._org, seeds).values())
        pending = member_ids(self._db, self._org, stored_groups)
        affected = set(pending)
        new_groups: dict[bytes, bytes] = {}
        recorded = self._recorded_as_oversized(pending)
        oversized = set(recorded)
        while pending:
            seed = pending.pop()
            component = self._graph.component(seed, oversized)
            if component.is_oversized:
                # Before the new links, this dataset may have been in a component within the limit.
                former = self._graph.component(seed, recorded, without=new_links)
                ungrouped = {seed} if former.is_oversized else former.datasets
                new_groups.update((dataset, dataset) for dataset in ungrouped)
                self._record_oversized(component, oversized)
                oversized |= component.datasets
                members = ungrouped
            else:
                new_groups.update(self._groups_of(component))
                members = component.datasets
            pending -= members
            affected |= members
        self._add_folded_files(new_groups)
        changed = {
            dataset: new_groups[dataset]
            for dataset, group in group_ids(self._db, self._org, new_groups).items()
            if group != new_groups[dataset]
        }
        self._db.execute_many(_SET_GROUP, [(self._org, *change) for change in sorted(changed.items())])
        return affected if changed else set()

    def _add_folded_files(self, new_groups: dict[bytes, bytes]) -> None:
        """Put folded files into the groups of their folders. A folder can be folded into another one."""
        folders = dict(self._db.fetch_for_ids(_FOLDERS, sorted(new_groups), self._org))
        roots = {file: _root(file, folders) for file in folders}
        stored_groups = group_ids(self._db, self._org, set(roots.values()) - new_groups.keys())
        for file, root in roots.items():
            new_groups[file] = new_groups[root] if root in new_groups else stored_groups[root]

    def _groups_of(self, component: Component) -> Iterator[tuple[bytes, bytes]]:
        """Yield each dataset with its group. The id of a group is that of the dataset with the smallest name."""
        for members, table_aliases in component.live_groups():
            group = min(members)
            if len(members) > 1:
                candidates = table_aliases or members
                group = min(candidates, key=dataset_names(self._db, self._org, candidates).__getitem__)
            for member in members:
                yield member, group

    def _recorded_as_oversized(self, datasets: set[bytes]) -> set[bytes]:
        return {dataset for (dataset,) in self._db.fetch_for_ids(_OVERSIZED, sorted(datasets), self._org)}

    def _record_oversized(self, component: Component, known: set[bytes]) -> None:
        """Record an oversized component under one of its datasets, unless it is already recorded."""
        if known.isdisjoint(component.datasets) and not self._recorded_as_oversized(component.datasets):
            self._db.insert(_ADD_OVERSIZED, [(self._org, component.most_linked_dataset, now_micros())])


def _root(file: bytes, folders: Mapping[bytes, bytes]) -> bytes:
    """Follow the folders from a file upwards as far as they are known to be folded."""
    dataset = file
    while dataset in folders:
        dataset = folders[dataset]
    return dataset
