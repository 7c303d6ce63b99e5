"""Reads datasets from the canonical store: names, description, columns, lifecycle."""

from collections.abc import Collection
from typing import NamedTuple

from bridge.store.database import Database
from bridge.store.governance_facets import GOVERNANCE
from bridge.store.identity_groups import group_members
from mappers.canonical.columns import SchemaColumn, decode_columns
from mappers.canonical.identity import NO_ID

_DATASETS = (
    "SELECT dataset_id, description, default_format, status FROM dataset WHERE org_id = ?1 AND dataset_id {ids}"
)
_COLUMNS = "SELECT class_id, columns_json FROM class_schema WHERE org_id = ?1 AND class_id {ids}"
_USED_BY_RUN = """
EXISTS (
  SELECT 1 FROM ol_dataset m JOIN {table} x ON x.org_id = m.org_id AND x.dataset_id = m.dataset_id
  JOIN ol_run r ON r.org_id = x.org_id AND r.run_id = x.run_id
  WHERE m.org_id = d.org_id AND m.class_id = d.dataset_id AND {condition})
"""
_USED_BY_ANY_RUN = " OR ".join(
    _USED_BY_RUN.format(table=table, condition="{condition}") for table in ("ol_run_output", "ol_run_input")
)
_WITHOUT_COMPLETE_RUN = f"""
SELECT d.dataset_id FROM ol_dataset d WHERE d.org_id = ?1 AND d.dataset_id {{ids}}
  AND ({_USED_BY_ANY_RUN.format(condition="TRUE")})
  AND NOT ({_USED_BY_ANY_RUN.format(condition="r.event_type = 'COMPLETE'")})
"""


#: Datasets that only an asset file mentions: there is nothing to show.
_ASSET_ONLY = """
SELECT d.dataset_id FROM ol_dataset d WHERE d.org_id = ?1 AND d.dataset_id {ids}
  AND EXISTS (SELECT 1 FROM ol_dataset m
    JOIN facet f ON f.org_id = m.org_id AND f.owner_id = m.dataset_id AND f.about_id = ?2 AND f.name = ?3
    WHERE m.org_id = d.org_id AND m.class_id = d.dataset_id)
  AND NOT EXISTS (SELECT 1 FROM class_schema s WHERE s.org_id = d.org_id AND s.class_id = d.dataset_id)
  AND NOT EXISTS (SELECT 1 FROM ol_dataset m WHERE m.org_id = d.org_id AND m.class_id = d.dataset_id AND (
    EXISTS (SELECT 1 FROM facet f WHERE f.org_id = m.org_id AND f.owner_id = m.dataset_id AND f.about_id = ?2
      AND f.name NOT LIKE 'lineageBridge@_%' ESCAPE '@')
    OR EXISTS (SELECT 1 FROM lineage_edge e WHERE e.org_id = m.org_id AND e.target_id = m.dataset_id)
    OR EXISTS (SELECT 1 FROM lineage_edge e WHERE e.org_id = m.org_id AND e.source_id = m.dataset_id)))
"""


_PREDECESSORS = """
SELECT t.class_id, s.class_id, x.renamed_at FROM ol_dataset t
JOIN dataset_succession x ON x.org_id = t.org_id AND x.target_id = t.dataset_id
JOIN ol_dataset s ON s.org_id = x.org_id AND s.dataset_id = x.source_id
WHERE t.org_id = ?1 AND t.class_id {ids}
"""


class CanonicalDataset(NamedTuple):
    """A dataset with its preferred name and its aliases."""

    namespace: str
    name: str
    aliases: tuple[tuple[str, str], ...]
    description: str | None
    format: str | None
    columns: tuple[SchemaColumn, ...]
    #: Ids of all its names; each may have been its key before the names were linked.
    member_ids: frozenset[bytes] = frozenset()
    #: Whether it was dropped or renamed and has not been written since.
    is_dropped: bool = False


def read_datasets(db: Database, org: str, group_ids: Collection[bytes]) -> dict[bytes, CanonicalDataset]:
    """Return datasets by identity group; groups that were merged into another group are left out."""
    sorted_ids = sorted(set(group_ids))
    names: dict[bytes, dict[bytes, tuple[str, str]]] = {}
    for group_id, member, namespace, name in group_members(db, org, sorted_ids):
        names.setdefault(group_id, {})[member] = (namespace, name)
    attributes = {dataset: row for dataset, *row in db.fetch_for_ids(_DATASETS, sorted_ids, org)}
    columns = {
        group_id: decode_columns(columns_json)
        for group_id, columns_json in db.fetch_for_ids(_COLUMNS, sorted_ids, org)
    }
    datasets = {}
    for group_id, names_by_id in names.items():
        keys = frozenset(names_by_id)
        preferred_name = names_by_id.pop(group_id)
        aliases = tuple(sorted(names_by_id.values()))
        description, format_, status = attributes[group_id]
        datasets[group_id] = CanonicalDataset(
            *preferred_name, aliases, description, format_, tuple(columns.get(group_id, ())), keys, status != "ACTIVE"
        )
    return datasets


def read_predecessors(db: Database, org: str, group_ids: Collection[bytes]) -> dict[bytes, bytes]:
    """Return the dataset that was renamed to each dataset; of several, the one that was renamed last."""
    rows = db.fetch_for_ids(_PREDECESSORS, sorted(group_ids), org)
    return {successor: predecessor for successor, predecessor, _ in sorted(rows, key=lambda row: row[2])}


def read_without_complete_run(db: Database, org: str, group_ids: Collection[bytes]) -> set[bytes]:
    """Return datasets that only incomplete runs have used."""
    return {dataset for (dataset,) in db.fetch_for_ids(_WITHOUT_COMPLETE_RUN, sorted(group_ids), org)}


def read_asset_only(db: Database, org: str, group_ids: Collection[bytes]) -> set[bytes]:
    """Return datasets that only asset files mention and that have no columns."""
    return {dataset for (dataset,) in db.fetch_for_ids(_ASSET_ONLY, sorted(group_ids), org, NO_ID, GOVERNANCE)}
