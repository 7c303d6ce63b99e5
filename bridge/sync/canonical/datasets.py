"""Reads datasets from the canonical store: names, description, columns, lifecycle."""

from collections.abc import Collection
from typing import NamedTuple

from bridge.store.database import Database
from bridge.store.governance_facets import GOVERNANCE
from bridge.store.identity_groups import group_members
from mappers.canonical.columns import SchemaColumn, decode_columns
from mappers.canonical.identity import NO_ID

_ABOUT = "SELECT dataset_id, description, default_format, status FROM dataset WHERE org_id = ?1 AND dataset_id {ids}"
_COLUMNS = "SELECT class_id, columns_json FROM class_schema WHERE org_id = ?1 AND class_id {ids}"
_TOUCHED = """
EXISTS (
  SELECT 1 FROM ol_dataset m JOIN {table} x ON x.org_id = m.org_id AND x.dataset_id = m.dataset_id
  JOIN ol_run r ON r.org_id = x.org_id AND r.run_id = x.run_id
  WHERE m.org_id = d.org_id AND m.class_id = d.dataset_id AND {which})
"""
_BOTH = " OR ".join(_TOUCHED.format(table=table, which="{which}") for table in ("ol_run_output", "ol_run_input"))
_UNFINISHED = f"""
SELECT d.dataset_id FROM ol_dataset d WHERE d.org_id = ?1 AND d.dataset_id {{ids}}
  AND ({_BOTH.format(which="TRUE")}) AND NOT ({_BOTH.format(which="r.event_type = 'COMPLETE'")})
"""


#: Datasets that nobody but a steward names: of which there is nothing to show.
_UNSEEN = """
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


class CanonicalDataset(NamedTuple):
    """A dataset under its preferred name, and under all of them."""

    namespace: str
    name: str
    aliases: tuple[tuple[str, str], ...]
    description: str | None
    format: str | None
    columns: tuple[SchemaColumn, ...]
    #: The keys of all its names, under which it may have been known before they belonged together.
    member_ids: frozenset[bytes] = frozenset()
    #: Whether it was dropped or renamed, and not written since.
    is_dropped: bool = False


def read_datasets(db: Database, org: str, classes: Collection[bytes]) -> dict[bytes, CanonicalDataset]:
    """Read datasets by their classes; a class that has become part of another is not among them."""
    wanted = sorted(set(classes))
    names: dict[bytes, dict[bytes, tuple[str, str]]] = {}
    for class_id, member, namespace, name in group_members(db, org, wanted):
        names.setdefault(class_id, {})[member] = (namespace, name)
    about = {dataset: said for dataset, *said in db.fetch_for_ids(_ABOUT, wanted, org)}
    columns = {class_id: decode_columns(said) for class_id, said in db.fetch_for_ids(_COLUMNS, wanted, org)}
    found = {}
    for class_id, members in names.items():
        keys = frozenset(members)
        own = members.pop(class_id)
        others = tuple(sorted(members.values()))
        description, format_, status = about[class_id]
        found[class_id] = CanonicalDataset(
            *own, others, description, format_, tuple(columns.get(class_id, ())), keys, status != "ACTIVE"
        )
    return found


def read_without_complete_run(db: Database, org: str, classes: Collection[bytes]) -> set[bytes]:
    """Find the datasets that runs have touched, and none that is complete."""
    return {dataset for (dataset,) in db.fetch_for_ids(_UNFINISHED, sorted(classes), org)}


def read_asset_only(db: Database, org: str, classes: Collection[bytes]) -> set[bytes]:
    """Find the datasets that nobody but a steward names, and of which no column is known."""
    return {dataset for (dataset,) in db.fetch_for_ids(_UNSEEN, sorted(classes), org, NO_ID, GOVERNANCE)}
