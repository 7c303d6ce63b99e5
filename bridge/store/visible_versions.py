"""SQL of the dataset versions that readers see: one per idempotency key or tag."""


def written_versions_sql(condition: str = "TRUE") -> str:
    """Build the query of the versions `v` that successful runs `r` wrote, restricted by `condition`.

    Spark runs some statements, such as CREATE OR REPLACE TABLE AS SELECT, as an action within another action, and
    both report the written data. Of two such siblings with the same row, byte and file counts, only the outer one
    counts. If a run reports an idempotency key for its version, the application that it started, and the actions of
    the application, add no versions.
    """
    return f"""
SELECT c.* FROM (
  SELECT n.*, max(CASE WHEN lifecycle IN ('CREATE', 'OVERWRITE') THEN ended END) OVER (
      PARTITION BY org_id, class_id, parent_run_id, row_count, byte_count, file_count
      ORDER BY run_start, ended DESC, writer_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS around
  FROM (
    SELECT v.*, d.class_id, coalesce('key:' || v.idempotency_key, 'tag:' || v.version_tag) AS grouped_by,
      coalesce(r.started_at, v.produced_at) AS run_start, coalesce(r.event_time, v.produced_at) AS ended,
      r.parent_run_id, {_lifecycle_sql("v")} AS lifecycle
    FROM dataset_version v
    JOIN ol_dataset d ON d.org_id = v.org_id AND d.dataset_id = v.dataset_id
    LEFT JOIN ol_run r ON r.org_id = v.org_id AND r.run_id = v.produced_by_run_id
    WHERE (v.produced_by_run_id IS NULL OR r.event_type = 'COMPLETE') AND {condition}
      AND (r.parent_run_id IS NULL OR NOT EXISTS (
        SELECT 1 FROM ol_dataset s JOIN dataset_version k ON k.org_id = s.org_id AND k.dataset_id = s.dataset_id
        WHERE s.org_id = d.org_id AND s.class_id = d.class_id AND k.idempotency_key IS NOT NULL
          AND k.writer_id IN (r.parent_run_id, (
            SELECT p.parent_run_id FROM ol_run p WHERE p.org_id = r.org_id AND p.run_id = r.parent_run_id
          ))
      ))
  ) n
) c
WHERE around IS NULL OR around < ended OR lifecycle = 'CREATE'
  OR parent_run_id IS NULL OR row_count IS NULL OR byte_count IS NULL OR file_count IS NULL
"""


#: An action inside another one starts soon after it: more siblings before an action are not considered.
_MAX_PRECEDING_SIBLINGS = 100


def nested_writes_sql() -> str:
    """Build the query of those keys (dataset `a`, run `b`) whose write is reported by an enclosing action as well.

    These are the versions that `written_versions_sql` omits because of their siblings.
    """
    return f"""
SELECT g.a, g.b FROM {{keys}} g
JOIN ol_dataset d ON d.org_id = ?1 AND d.dataset_id = g.a
JOIN dataset_version v ON v.org_id = ?1 AND v.dataset_id = g.a AND v.writer_id = g.b
JOIN ol_run r ON r.org_id = ?1 AND r.run_id = g.b AND r.event_type = 'COMPLETE'
WHERE coalesce({_lifecycle_sql("v")}, '') <> 'CREATE' AND EXISTS (
  SELECT 1 FROM (
    SELECT s.run_id, s.started_at, s.event_time, s.event_type FROM ol_run s
    WHERE s.org_id = r.org_id AND s.parent_run_id = r.parent_run_id AND s.started_at <= r.started_at
    ORDER BY s.started_at DESC LIMIT {_MAX_PRECEDING_SIBLINGS}
  ) o
  JOIN ol_dataset e ON e.org_id = d.org_id AND e.class_id = d.class_id
  JOIN dataset_version w ON w.org_id = e.org_id AND w.dataset_id = e.dataset_id AND w.writer_id = o.run_id
  WHERE o.event_type = 'COMPLETE' AND o.event_time >= r.event_time
    AND (o.started_at < r.started_at OR o.event_time > r.event_time OR o.run_id < r.run_id)
    AND w.row_count = v.row_count AND w.byte_count = v.byte_count AND w.file_count = v.file_count
    AND {_lifecycle_sql("w")} IN ('CREATE', 'OVERWRITE'))
"""


def _lifecycle_sql(version: str) -> str:
    """Select the lifecycle change that the run of a version reported."""
    return f"""(
        SELECT min(t.lifecycle) FROM ol_run_output t
        WHERE t.org_id = {version}.org_id AND t.run_id = {version}.writer_id AND t.dataset_id = {version}.dataset_id
      )"""


def visible_versions_sql(condition: str = "TRUE") -> str:
    """Build the query of the versions that readers see: one per idempotency key or, without a key, one per tag."""
    return f"""
SELECT org_id, class_id, version_id, version_tag, idempotency_key, produced_by_run_id, row_count, byte_count,
  file_count, path, schema_hash, produced_at, grouped_by = newest_group AS is_latest
FROM (
  SELECT w.*,
    row_number() OVER (
      PARTITION BY org_id, class_id, grouped_by ORDER BY run_start, writer_id, dataset_id
    ) AS rn,
    first_value(grouped_by) OVER (
      PARTITION BY org_id, class_id ORDER BY ended DESC, writer_id DESC, grouped_by DESC
    ) AS newest_group
  FROM ({written_versions_sql(condition)}) w
) ranked
WHERE rn = 1
"""
