"""SQL views over the canonical tables, including run outcome and process runs."""

from bridge.store.dialect import Dialect
from bridge.store.job_families import first_action_sql, is_action_sql
from bridge.store.visible_versions import visible_versions_sql

_TERMINAL = "('COMPLETE', 'FAIL', 'ABORT')"
#: The SQL action of an application that ended last: the listener reports COMPLETE even for a failed application.
_LAST_ACTION = f"""
SELECT c.run_id FROM ol_run c
JOIN ol_job cj ON cj.org_id = c.org_id AND cj.job_id = c.job_id
WHERE c.org_id = r.org_id AND c.parent_run_id = r.run_id AND cj.job_type = 'SQL_JOB' AND c.event_type IN {_TERMINAL}
ORDER BY c.event_time DESC, c.run_id DESC LIMIT 1
"""
#: The action that shows how an application that was only mentioned is doing: a SQL action that is still running, or
#: else the action with the newest event. Other actions often have no terminal event.
_DECIDING_ACTION = f"""
SELECT c.run_id FROM ol_run c
JOIN ol_job cj ON cj.org_id = c.org_id AND cj.job_id = c.job_id
WHERE c.org_id = r.org_id AND c.parent_run_id = r.run_id AND c.event_type IS NOT NULL AND {is_action_sql("cj")}
ORDER BY CASE WHEN cj.job_type = 'SQL_JOB' AND c.event_type NOT IN {_TERMINAL} THEN 0 ELSE 1 END,
  c.event_time DESC, c.run_id DESC LIMIT 1
"""
#: Start of a run that was only mentioned.
_FIRST_ACTION_START = (
    f"(SELECT c.started_at FROM ol_run c WHERE c.org_id = r.org_id AND c.run_id = ({first_action_sql('r')}))"
)


def run_outcome_sql(dialect: Dialect) -> str:
    """Build the query of run outcomes, which are reported or derived from the run's actions or application.

    The runs that an outcome is derived from are joined, so that each is looked up only once.
    """
    return f"""
SELECT r.org_id, r.run_id,
  CASE WHEN r.event_type = 'FAIL' OR x.event_type = 'FAIL' THEN 'FAILED'
    WHEN coalesce(r.event_type, x.event_type) = 'ABORT' THEN 'CANCELLED'
    WHEN coalesce(r.event_type, x.event_type) = 'COMPLETE' THEN 'SUCCESS'
    WHEN x.run_id IS NOT NULL THEN 'STARTED'
    WHEN r.least_claimant IS NULL OR coalesce(p.run_id, q.run_id) IS NOT NULL THEN 'UNKNOWN'
    ELSE 'STARTED' END AS status,
  coalesce(x.run_id, p.run_id, q.run_id) IS NOT NULL AS status_derived,
  CASE WHEN coalesce(r.event_type, x.event_type) IN {_TERMINAL} THEN coalesce(r.event_time, x.event_time)
    ELSE coalesce(p.event_time, q.event_time) END AS ended_at,
  CASE WHEN r.event_type IN ('FAIL', 'ABORT') OR x.event_type IN ('FAIL', 'ABORT')
    THEN coalesce({_error_message_sql("r", dialect)}, {_error_message_sql("x", dialect)}) END AS error
FROM ol_run r
JOIN ol_job j ON j.org_id = r.org_id AND j.job_id = r.job_id
LEFT JOIN ol_run x ON x.org_id = r.org_id AND (x.event_type = 'FAIL' OR r.least_claimant IS NULL)
  AND x.run_id = CASE WHEN r.event_type = 'COMPLETE' AND j.job_type = 'APPLICATION' THEN ({_LAST_ACTION})
    WHEN r.least_claimant IS NULL THEN ({_DECIDING_ACTION}) END
{_ended_application_join("p", "parent_run_id")}
{_ended_application_join("q", "root_run_id")}
"""


def _ended_application_join(alias: str, ancestor_column: str) -> str:
    """Join the ended application, if any, to which a run without a terminal event belongs."""
    return f"""LEFT JOIN ol_run {alias} ON {alias}.org_id = r.org_id
  AND {alias}.run_id = CASE WHEN r.event_type IN {_TERMINAL} THEN NULL ELSE r.{ancestor_column} END
  AND {alias}.event_type IN {_TERMINAL} AND 'APPLICATION' = (
    SELECT aj.job_type FROM ol_job aj WHERE aj.org_id = {alias}.org_id AND aj.job_id = {alias}.job_id)"""


def _error_message_sql(run: str, dialect: Dialect) -> str:
    """Select the error message of a run. `errorMessage` sorts before Spark's own facet and takes precedence."""
    return f"""(
    SELECT m.message FROM (SELECT f.name, {dialect.error_message.format("f.body")} AS message FROM facet f
      WHERE f.org_id = {run}.org_id AND f.owner_id = {run}.run_id AND f.about_id = {dialect.zero_id}
        AND f.name IN ('errorMessage', 'spark.exception')) m
    WHERE m.message <> '' ORDER BY m.name LIMIT 1)"""


def process_run_sql(dialect: Dialect) -> str:
    """Build the query of the view `process_run`: runs in the shape of the data catalog."""
    return f"""
SELECT r.org_id, r.run_id, r.run_uuid, r.job_id AS process_id,
  {dialect.iso.format(f"coalesce(r.started_at, {_FIRST_ACTION_START}, r.created_at)")} AS start_ts,
  {dialect.iso.format("o.ended_at")} AS end_ts,
  o.status, o.status_derived, o.error AS error_message,
  r.least_claimant <> r.greatest_claimant AS claim_disputed,
  1 AS attempt, r.parent_run_uuid, NULL AS log_location,
  (SELECT {dialect.run_facets.format("f.name", "f.body")} FROM (
     SELECT name, body FROM facet
     WHERE org_id = r.org_id AND owner_id = r.run_id AND about_id = {dialect.zero_id} AND body IS NOT NULL
     ORDER BY name) f) AS facets_json,
  {dialect.iso.format("r.created_at")} AS created_at,
  (SELECT {dialect.iso.format("max(at.seen)")} FROM (
     SELECT r.updated_at AS seen
     UNION ALL SELECT c.updated_at FROM ol_run c
     WHERE c.org_id = r.org_id AND c.parent_run_id = r.run_id) at) AS last_activity_ts
FROM ol_run r
JOIN run_outcome o ON o.org_id = r.org_id AND o.run_id = r.run_id
"""


def view_queries(dialect: Dialect) -> dict[str, str]:
    """Build the queries of all views, ordered by dependency."""
    return {
        "class_schema": _class_schema_sql(dialect),
        "class_field": dialect.group_columns_query,
        "ol_dataset_field": _ol_dataset_field_sql(dialect),
        "ol_column_lineage": _OL_COLUMN_LINEAGE,
        "dataset": _dataset_sql(dialect),
        "process": _process_sql(dialect),
        "run_outcome": run_outcome_sql(dialect),
        "process_run": process_run_sql(dialect),
        "dataset_version_read": visible_versions_sql(),
    }


def _group_value_sql(column: str, order: str) -> str:
    """Select the winning value of a register among all members of a dataset's identity group."""
    return (
        f"(SELECT m.{column} FROM ol_dataset m WHERE m.org_id = d.org_id AND m.class_id = d.dataset_id"
        f" AND m.{order} IS NOT NULL ORDER BY m.{order} DESC LIMIT 1)"
    )


def _class_schema_sql(dialect: Dialect) -> str:
    """Build the query that selects the schema of each identity group: the highest-ranked schema of its members."""
    return f"""
SELECT org_id, class_id, schema_hash, columns_json, first_seen
FROM (
  SELECT s.org_id, d.class_id, s.schema_hash, s.columns_json, s.first_seen, row_number() OVER (
    PARTITION BY s.org_id, d.class_id
    ORDER BY s.written_at DESC NULLS LAST, s.declared_at DESC NULLS LAST, s.column_count DESC,
             s.read_at DESC NULLS LAST, s.schema_hash DESC, s.columns_order DESC NULLS LAST,
             s.dataset_id
  ) AS rn
  FROM dataset_schema s
  JOIN ol_dataset d ON d.org_id = s.org_id AND d.dataset_id = s.dataset_id
  WHERE NOT EXISTS (
    SELECT 1 FROM ol_dataset m
    JOIN facet f ON f.org_id = m.org_id AND f.owner_id = m.dataset_id AND f.about_id = {dialect.zero_id}
    WHERE m.org_id = s.org_id AND m.class_id = d.class_id AND f.name = 'schema' AND f.body IS NULL
      AND f.facet_order > s.columns_order)
) ranked
WHERE rn = 1
"""


def _ol_dataset_field_sql(dialect: Dialect) -> str:
    return f"""
SELECT d.org_id, {dialect.hex.format("d.dataset_id")} || ':' || c.name AS field_id, d.dataset_id,
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


def _dataset_sql(dialect: Dialect) -> str:
    return f"""
SELECT d.org_id, d.dataset_id, n.namespace_uri AS namespace, d.name,
  n.namespace_uri || '/' || d.name AS full_name,
  {_group_value_sql("description", "documentation_order")} AS description,
  {_group_value_sql("default_format", "storage_order")} AS default_format,
  {_group_value_sql("owner_team", "ownership_order")} AS owner_team,
  {_group_value_sql("owner_email", "ownership_order")} AS owner_email,
  NULL AS default_sla_id, CASE WHEN d.is_active THEN 'ACTIVE' ELSE 'DEPRECATED' END AS status,
  NULL AS created_by,
  (SELECT {dialect.iso.format("min(m.created_at)")} FROM ol_dataset m
   WHERE m.org_id = d.org_id AND m.class_id = d.dataset_id) AS created_at,
  (SELECT {dialect.iso.format("max(m.updated_at)")} FROM ol_dataset m
   WHERE m.org_id = d.org_id AND m.class_id = d.dataset_id) AS updated_at
FROM ol_dataset d
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE d.class_id = d.dataset_id
"""


def _process_sql(dialect: Dialect) -> str:
    scheme_end = dialect.position.format("n.namespace_uri", "'://'")
    return f"""
SELECT j.org_id, j.job_id AS process_id,
  CASE WHEN substr(n.namespace_uri, 1, 10) = 'autosys://' THEN 'AUTOSYS/' || coalesce((
    SELECT b.name || '/' FROM lineage_edge e
    JOIN ol_job b ON b.org_id = e.org_id AND b.job_id = e.source_id
    WHERE e.org_id = j.org_id AND e.target_id = j.job_id AND e.edge_role = 'PARENT'
    ORDER BY e.last_seen DESC, e.source_id LIMIT 1), '') || j.name
  ELSE n.namespace_uri || '/' || j.name END AS process_key,
  j.name, j.description,
  upper(CASE WHEN {scheme_end} > 0 AND j.integration IS NULL
    THEN substr(n.namespace_uri, 1, {scheme_end} - 1)
    ELSE coalesce(j.integration, 'OTHER') END) AS technology,
  j.owner_team AS team, j.owner_email, 'PROCESS' AS trigger_mode,
  {dialect.iso.format("j.created_at")} AS created_at, {dialect.iso.format("j.updated_at")} AS updated_at
FROM ol_job j
JOIN ol_namespace n ON n.org_id = j.org_id AND n.namespace_id = j.namespace_id
"""
