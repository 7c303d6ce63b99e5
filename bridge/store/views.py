"""What people read: views in the shape of the catalogue models, computed from the merged tables.

Values of a dataset are values of its class: the connected names it is known by. Views hold no data, so
they are made anew by every upgrade and need no migrations of their own.
"""

from bridge.store.dialect import Dialect
from bridge.store.outcome import process_run, run_outcome
from bridge.store.versions import dataset_version_read


def views(d: Dialect) -> dict[str, str]:
    """Write the query of every view, in the order in which they build on each other."""
    return {
        "class_schema": _class_schema(d),
        "class_field": d.fields,
        "ol_dataset_field": _ol_dataset_field(d),
        "ol_column_lineage": _OL_COLUMN_LINEAGE,
        "dataset": _dataset(d),
        "process": _process(d),
        "run_outcome": run_outcome(d),
        "process_run": process_run(d),
        "dataset_version_read": dataset_version_read(),
    }


def _of_class(column: str, order: str) -> str:
    """Pick a register's value over all members of a dataset's class."""
    return (
        f"(SELECT m.{column} FROM ol_dataset m WHERE m.org_id = d.org_id AND m.class_id = d.dataset_id"
        f" AND m.{order} IS NOT NULL ORDER BY m.{order} DESC LIMIT 1)"
    )


def _class_schema(d: Dialect) -> str:
    return f"""
SELECT org_id, class_id, schema_hash, columns_json, first_seen
FROM (
  SELECT s.org_id, d.class_id, s.schema_hash, s.columns_json, s.first_seen, row_number() OVER (
    PARTITION BY s.org_id, d.class_id
    ORDER BY s.written_at DESC NULLS LAST, s.declared_at DESC NULLS LAST, s.column_count DESC,
             s.read_at DESC NULLS LAST, s.schema_hash DESC, s.columns_order DESC NULLS LAST,
             s.dataset_id
  ) AS place
  FROM dataset_schema s
  JOIN ol_dataset d ON d.org_id = s.org_id AND d.dataset_id = s.dataset_id
  WHERE NOT EXISTS (
    SELECT 1 FROM ol_dataset m
    JOIN facet f ON f.org_id = m.org_id AND f.owner_id = m.dataset_id AND f.about_id = {d.nobody}
    WHERE m.org_id = s.org_id AND m.class_id = d.class_id AND f.name = 'schema' AND f.body IS NULL
      AND f.facet_order > s.columns_order)
) ranked
WHERE place = 1
"""


def _ol_dataset_field(d: Dialect) -> str:
    return f"""
SELECT d.org_id, {d.hex.format("d.dataset_id")} || ':' || c.name AS field_id, d.dataset_id,
  c.name AS field_name, c.type AS field_type, c.description AS field_description,
  c.ordinal AS ordinal_position, c.depth, NULL AS nullable, c.first_seen AS created_at
FROM class_field c
JOIN ol_dataset d ON d.org_id = c.org_id AND d.class_id = c.class_id
"""


_OL_COLUMN_LINEAGE = """
SELECT c.org_id, c.lineage_id, c.run_id, c.job_id, sn.namespace_uri AS source_namespace,
  s.name AS source_dataset, nullif(c.source_field, '') AS source_field,
  tn.namespace_uri AS target_namespace, t.name AS target_dataset, nullif(c.target_field, '') AS target_field,
  c.transformation_type, c.transformation_subtype, c.transformation_description, c.masking,
  c.confidence_score, c.discovered_at, c.is_active
FROM column_lineage c
JOIN ol_dataset s ON s.org_id = c.org_id AND s.dataset_id = c.source_id
JOIN ol_namespace sn ON sn.org_id = c.org_id AND sn.namespace_id = s.namespace_id
JOIN ol_dataset t ON t.org_id = c.org_id AND t.dataset_id = c.target_id
JOIN ol_namespace tn ON tn.org_id = c.org_id AND tn.namespace_id = t.namespace_id
"""


def _dataset(d: Dialect) -> str:
    return f"""
SELECT d.org_id, d.dataset_id, n.namespace_uri AS namespace, d.name,
  n.namespace_uri || '/' || d.name AS full_name,
  {_of_class("description", "documentation_order")} AS description,
  {_of_class("default_format", "storage_order")} AS default_format,
  {_of_class("owner_team", "ownership_order")} AS owner_team,
  {_of_class("owner_email", "ownership_order")} AS owner_email,
  NULL AS default_sla_id, CASE WHEN d.is_active THEN 'ACTIVE' ELSE 'DEPRECATED' END AS status,
  NULL AS created_by,
  (SELECT {d.iso.format("min(m.created_at)")} FROM ol_dataset m
   WHERE m.org_id = d.org_id AND m.class_id = d.dataset_id) AS created_at,
  (SELECT {d.iso.format("max(m.updated_at)")} FROM ol_dataset m
   WHERE m.org_id = d.org_id AND m.class_id = d.dataset_id) AS updated_at
FROM ol_dataset d
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE d.class_id = d.dataset_id
"""


def _process(d: Dialect) -> str:
    scheme_ends = d.position.format("n.namespace_uri", "'://'")
    return f"""
SELECT j.org_id, j.job_id AS process_id,
  CASE WHEN substr(n.namespace_uri, 1, 10) = 'autosys://' THEN 'AUTOSYS/' || coalesce((
    SELECT b.name || '/' FROM lineage_edge e
    JOIN ol_job b ON b.org_id = e.org_id AND b.job_id = e.source_id
    WHERE e.org_id = j.org_id AND e.target_id = j.job_id AND e.edge_role = 'PARENT'
    ORDER BY e.last_seen DESC, e.source_id LIMIT 1), '') || j.name
  ELSE n.namespace_uri || '/' || j.name END AS process_key,
  j.name, j.description,
  upper(CASE WHEN {scheme_ends} > 0 AND j.integration IS NULL
    THEN substr(n.namespace_uri, 1, {scheme_ends} - 1)
    ELSE coalesce(j.integration, 'OTHER') END) AS technology,
  j.owner_team AS team, j.owner_email, 'PROCESS' AS trigger_mode,
  {d.iso.format("j.created_at")} AS created_at, {d.iso.format("j.updated_at")} AS updated_at
FROM ol_job j
JOIN ol_namespace n ON n.org_id = j.org_id AND n.namespace_id = j.namespace_id
"""
