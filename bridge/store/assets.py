"""Assets as they were last loaded from their files."""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from bridge.store.database import Database, Insert
from mappers.canonical.columns import SchemaColumn, decode_columns
from mappers.canonical.identity import digest

_ALL = """
SELECT namespace, name, source, content_json, waiting FROM asset WHERE org_id = ?1 ORDER BY namespace, name
"""
_BY_NAME = """
SELECT namespace, name, source, content_json, waiting FROM asset WHERE org_id = ?1 AND asset_id = ?2
"""
_SAVE = Insert(
    "asset",
    {"org_id": str, "asset_id": bytes, "namespace": str, "name": str, "source": str, "content_json": str,
     "waiting": str, "taken_at": int},
    "ON CONFLICT (org_id, asset_id) DO UPDATE SET source = excluded.source, content_json = excluded.content_json,"
    " waiting = excluded.waiting, taken_at = excluded.taken_at",
)  # fmt: skip
_DELETE = "DELETE FROM asset WHERE org_id = ?1 AND asset_id = ?2"
_ACTIVE_NAMES = """
SELECT n.namespace_uri, d.name FROM ol_dataset d
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE d.org_id = ?1 AND d.is_active
"""
_WITH_RUNS = """
SELECT d.class_id FROM ol_dataset d WHERE d.org_id = ?1 AND d.class_id {ids} AND (
  EXISTS (SELECT 1 FROM ol_run_output x WHERE x.org_id = d.org_id AND x.dataset_id = d.dataset_id)
  OR EXISTS (SELECT 1 FROM ol_run_input x WHERE x.org_id = d.org_id AND x.dataset_id = d.dataset_id))
"""
#: Datasets that anything other than an asset file has reported. Asset files only write `lineageBridge_*` facets.
_REPORTED = """
SELECT d.class_id FROM ol_dataset d WHERE d.org_id = ?1 AND d.class_id {ids} AND (
  d.declared_lineage IS NOT NULL
  OR NOT EXISTS (SELECT 1 FROM facet f WHERE f.org_id = d.org_id AND f.owner_id = d.dataset_id
    AND f.name = 'lineageBridge_governance')
  OR EXISTS (SELECT 1 FROM facet f WHERE f.org_id = d.org_id AND f.owner_id = d.dataset_id
    AND substr(f.name, 1, 14) <> 'lineageBridge_')
  OR EXISTS (SELECT 1 FROM ol_run_output x WHERE x.org_id = d.org_id AND x.dataset_id = d.dataset_id)
  OR EXISTS (SELECT 1 FROM ol_run_input x WHERE x.org_id = d.org_id AND x.dataset_id = d.dataset_id)
  OR EXISTS (SELECT 1 FROM lineage_edge e WHERE e.org_id = d.org_id AND e.source_id = d.dataset_id)
  OR EXISTS (SELECT 1 FROM lineage_edge e WHERE e.org_id = d.org_id AND e.target_id = d.dataset_id))
"""
_COLUMNS = "SELECT class_id, columns_json FROM class_schema WHERE org_id = ?1 AND class_id {ids}"
_REPORTED_CHECKS = """
SELECT DISTINCT q.sql_expression FROM quality_check_def q
WHERE q.org_id = ?1 AND q.dataset_id IS NOT NULL AND q.sql_expression IS NOT NULL AND EXISTS (
  SELECT 1 FROM quality_check_result r WHERE r.org_id = q.org_id AND r.qdef_id = q.qdef_id)
"""
_NAMESPACE = "SELECT 1 FROM ol_namespace WHERE org_id = ?1 AND namespace_uri = ?2"


class AssetRecord(NamedTuple):
    """An asset: the dataset or pattern that it describes, its file and content and, if pending, the reason."""

    namespace: str
    name: str
    source: str
    content: str
    pending_reason: str | None = None


class AssetStore:
    """The assets of an organisation. Not thread-safe."""

    def __init__(self, db: Database, org: str) -> None:
        self._db = db
        self._org = org

    def all(self) -> list[AssetRecord]:
        return [AssetRecord(*row) for row in self._db.fetch_all(_ALL, self._org)]

    def find(self, namespace: str, name: str) -> list[AssetRecord]:
        """Return a list with the asset of this name, or an empty list."""
        return [AssetRecord(*row) for row in self._db.fetch_all(_BY_NAME, self._org, _asset_id(namespace, name))]

    def save(self, assets: Iterable[AssetRecord], now: int) -> None:
        """Insert assets, or replace the stored assets with the same names."""
        rows = [(self._org, _asset_id(asset.namespace, asset.name), *asset, now) for asset in sorted(set(assets))]
        with self._db.transaction():
            self._db.insert(_SAVE, rows)

    def delete(self, assets: Iterable[AssetRecord]) -> None:
        with self._db.transaction():
            self._db.execute_many(
                _DELETE, [(self._org, _asset_id(asset.namespace, asset.name)) for asset in sorted(set(assets))]
            )

    def active_dataset_names(self) -> Iterator[tuple[str, str]]:
        """Stream the names of all active datasets, of which there may be a million."""
        return ((namespace, name) for namespace, name in self._db.stream(_ACTIVE_NAMES, self._org))

    def datasets_with_runs(self, groups: Collection[bytes]) -> set[bytes]:
        """Return the groups with a dataset that any run has read or written."""
        return {group for (group,) in self._db.fetch_for_ids(_WITH_RUNS, sorted(groups), self._org)}

    def reported_datasets(self, groups: Collection[bytes]) -> set[bytes]:
        """Return the groups with a dataset that does not exist only because an asset file names it."""
        return {bytes(group) for (group,) in self._db.fetch_for_ids(_REPORTED, sorted(groups), self._org)}

    def columns(self, groups: Collection[bytes]) -> dict[bytes, list[SchemaColumn]]:
        """Return the columns of the groups that have a schema."""
        rows = self._db.fetch_for_ids(_COLUMNS, sorted(groups), self._org)
        return {bytes(group): decode_columns(columns_json) for group, columns_json in rows}

    def reported_checks(self) -> set[str]:
        """Return the names of all dataset checks that have ever had a result."""
        return {name for (name,) in self._db.fetch_all(_REPORTED_CHECKS, self._org)}

    def has_namespace(self, namespace: str) -> bool:
        """Return True if the namespace contains any dataset or job."""
        return bool(self._db.fetch_all(_NAMESPACE, self._org, namespace))


def _asset_id(namespace: str, name: str) -> bytes:
    return digest(f"{namespace}\0{name}".encode())
