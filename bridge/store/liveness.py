"""Whether a dataset still exists: dropped or renamed away, and not written since."""

from bridge.store.database import Database
from mappers.canonical.facts import Dataset, RunOutput
from mappers.canonical.merge import Reducer

_SUSPECT = """
SELECT DISTINCT d.class_id FROM ol_dataset d
JOIN ol_dataset m ON m.org_id = d.org_id AND m.class_id = d.class_id
WHERE d.org_id = ?1 AND d.dataset_id {among} AND (m.retired_at IS NOT NULL OR NOT m.is_active)
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


def settle_liveness(db: Database, org: str, changes: Reducer, reclassed: set[bytes]) -> None:
    """Keep `ol_dataset.is_active` what drops, renames and later writes say, for each class as one."""
    touched = set(reclassed)
    touched.update(row.dataset_id for row in changes.rows(RunOutput))
    for row in changes.rows(Dataset):
        if row.retired_at is not None:
            touched.add(row.dataset_id)
    for (class_id,) in sorted(db.among(_SUSPECT, touched, org)):
        db.hold(_HOLD, org, class_id)
        db.run(_SETTLE, org, class_id)
