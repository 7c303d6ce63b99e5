"""Invalidates versions or partitions, and revokes invalidations."""

from collections.abc import Callable
from typing import NamedTuple

from bridge.errors import NotFound
from bridge.store.database import Database
from bridge.versions.reader import WHOLE_VERSION, Version

_INVALIDATE = """
INSERT INTO version_invalid (org_id, version_id, partition_key, dataset_id, reason, marked_by, marked_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (version_id, partition_key, org_id) DO UPDATE SET reason = excluded.reason,
  marked_by = excluded.marked_by, marked_at = excluded.marked_at, lifted_by = NULL, lifted_at = NULL
"""
_REVOKE = """
UPDATE version_invalid SET lifted_by = ?5, lifted_at = ?6
WHERE org_id = ?1 AND partition_key = ?3 AND lifted_at IS NULL AND version_id IN (
  SELECT o.version_id FROM dataset_version v
  JOIN ol_dataset d ON d.org_id = v.org_id AND d.dataset_id = v.dataset_id
  JOIN ol_dataset m ON m.org_id = d.org_id AND m.class_id = d.class_id
  JOIN dataset_version o ON o.org_id = m.org_id AND o.dataset_id = m.dataset_id
    AND coalesce('key:' || o.idempotency_key, 'tag:' || o.version_tag)
      = coalesce('key:' || v.idempotency_key, 'tag:' || v.version_tag)
  WHERE v.org_id = ?1 AND v.dataset_id = ?4 AND v.version_id = ?2)
"""


class InvalidationOutcome(NamedTuple):
    """The validity of a version, or of one of its partitions. `reason` is None if it is valid."""

    group_id: bytes
    version: Version
    partition: str
    reason: str | None
    decided_by: str
    decided_at: int


class InvalidationStore:
    """The invalidations of an organisation."""

    def __init__(self, db: Database, org: str, clock: Callable[[], int]) -> None:
        self._db = db
        self._org = org
        self._clock = clock

    def invalidate(
        self, group_id: bytes, version: Version, reason: str, actor: str, partition: str = WHOLE_VERSION
    ) -> InvalidationOutcome:
        """Invalidate a version or one of its partitions. A new reason replaces an earlier one."""
        if partition and not version.has_partition(partition):
            raise NotFound(f"no partition {partition!r} in version {version.tag!r}")
        now = self._clock()
        self._db.execute(_INVALIDATE, self._org, version.id, partition, version.dataset_id, reason, actor, now)
        return InvalidationOutcome(group_id, version, partition, reason, actor, now)

    def revoke(
        self, group_id: bytes, version: Version, actor: str, partition: str = WHOLE_VERSION
    ) -> InvalidationOutcome:
        """Revoke the invalidation of all attempts at a version. Raises NotFound if the version is valid."""
        if partition not in version.invalid:
            label = f"partition {partition!r} of version" if partition else "version"
            raise NotFound(f"{label} {version.tag!r} is not marked invalid")
        now = self._clock()
        self._db.execute(_REVOKE, self._org, version.id, partition, version.dataset_id, actor, now)
        return InvalidationOutcome(group_id, version, partition, None, actor, now)
