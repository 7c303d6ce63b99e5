"""Finds the datasets that symlinks connect, with a limit on names and symlinks."""

from collections import Counter
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from bridge.store.database import Database

#: Symlinks of a component per name that a group may have; a normal group has one or two.
_LINKS_PER_NAME = 10
_ASSERTED_LINKS = """
SELECT s.dataset_id, s.alias_id, s.identifier_type,
  d.symlinks_deleted_at IS NULL OR s.asserted_at > d.symlinks_deleted_at
FROM dataset_symlink s JOIN ol_dataset d ON d.org_id = s.org_id AND d.dataset_id = s.dataset_id
WHERE s.org_id = ?1 AND s.{end}_id {{ids}}
"""
_LINKS = " UNION ALL ".join(_ASSERTED_LINKS.format(end=end) for end in ("dataset", "alias")) + " LIMIT ?2"
_NAMES = """
SELECT d.dataset_id, n.namespace_uri, d.name FROM ol_dataset d
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE d.org_id = ?1 AND d.dataset_id {ids}
"""
#: A symlink: dataset, alias, type of identifier.
Link = tuple[bytes, bytes, str]


class NeverLinkRule(NamedTuple):
    """Glob patterns of namespace and name. Symlinks from and to matching datasets are ignored."""

    namespace: str
    name: str = "*"

    def matches(self, dataset_name: tuple[str, str]) -> bool:
        namespace, name = dataset_name
        return fnmatchcase(namespace, self.namespace) and fnmatchcase(name, self.name)


class LinkRules(NamedTuple):
    """Rules that determine which symlinks count, how many names a group may have, and whether files are folded."""

    never_link: tuple[NeverLinkRule, ...] = ()
    max_names: int = 500
    fold_files: bool = True


class Component(NamedTuple):
    """Datasets that are connected by asserted symlinks, whether or not these were deleted later.

    A component that exceeds the limits is incomplete. Deleted symlinks count towards the limits, because then a
    component only grows: whether it exceeds a limit depends on the set of events, not on their order.
    """

    datasets: set[bytes]
    links: set[Link]
    live_links: set[Link]
    is_oversized: bool

    @property
    def most_linked_dataset(self) -> bytes:
        link_counts = Counter(dataset_id for dataset, alias, _ in self.links for dataset_id in (dataset, alias))
        return max(self.datasets, key=lambda dataset: (link_counts[dataset], dataset))

    def live_groups(self) -> Iterable[tuple[set[bytes], set[bytes]]]:
        """Yield the datasets of each group that live symlinks connect, and the aliases of type TABLE among them."""
        neighbors: dict[bytes, set[bytes]] = {dataset: set() for dataset in self.datasets}
        for dataset, alias, _ in self.live_links:
            neighbors[dataset].add(alias)
            neighbors[alias].add(dataset)
        table_aliases = {alias for _, alias, identifier_type in self.live_links if identifier_type == "TABLE"}
        remaining = set(self.datasets)
        while remaining:
            group: set[bytes] = set()
            frontier = {remaining.pop()}
            while frontier:
                group |= frontier
                frontier = set().union(*(neighbors[dataset] for dataset in frontier)) - group
            remaining -= group
            yield group, group & table_aliases


class SymlinkGraph:
    """Reads the components of one organisation. The cost of a component is bounded by the limits."""

    def __init__(self, db: Database, org: str, rules: LinkRules) -> None:
        self._db = db
        self._org = org
        self._rules = rules
        self._max_links = rules.max_names * _LINKS_PER_NAME

    def component(self, seed: bytes, oversized: Collection[bytes] = (), without: Collection[Link] = ()) -> Component:
        """Find the component of a dataset.

        `oversized` are datasets that are known to belong to oversized components. The links in `without` are ignored.
        """
        if seed in oversized:
            return Component({seed}, set(), set(), is_oversized=True)
        datasets = {seed}
        frontier = {seed} - self._excluded([seed])
        links: set[Link] = set()
        live_links: set[Link] = set()
        while frontier:
            # Each link is found from both of its ends, so a component within the limit never reaches the row limit.
            row_limit = 2 * (self._max_links + len(without) + 1)
            rows = self._db.fetch_for_ids(_LINKS, sorted(frontier), self._org, row_limit)
            linked = {dataset_id for dataset, alias, _, _ in rows for dataset_id in (dataset, alias)} - datasets
            excluded = self._excluded(linked)
            frontier = set()
            for dataset, alias, identifier_type, is_live in rows:
                link = (dataset, alias, identifier_type)
                if link in without:
                    continue
                links.add(link)
                if dataset in excluded or alias in excluded:
                    continue
                frontier |= {dataset, alias} - datasets
                if is_live:
                    live_links.add(link)
            datasets |= frontier
            if (
                len(datasets) > self._rules.max_names
                or len(links) > self._max_links
                or not datasets.isdisjoint(oversized)
            ):
                return Component(datasets, links, live_links, is_oversized=True)
        return Component(datasets, links, live_links, is_oversized=False)

    def _excluded(self, datasets: Iterable[bytes]) -> set[bytes]:
        """Return the datasets with symlinks that never count."""
        if not self._rules.never_link:
            return set()
        names = dataset_names(self._db, self._org, datasets)
        return {
            dataset for dataset, name in names.items() if any(rule.matches(name) for rule in self._rules.never_link)
        }


def dataset_names(db: Database, org: str, datasets: Iterable[bytes]) -> dict[bytes, tuple[str, str]]:
    """Map datasets to namespace and name. Unknown datasets are left out."""
    rows = db.fetch_for_ids(_NAMES, sorted(datasets), org)
    return {dataset: (namespace, name) for dataset, namespace, name in rows}
