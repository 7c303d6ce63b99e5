"""Consumes dirty marks and marks the sync items they affect."""

from collections.abc import Iterable
from typing import Any

from bridge.store.database import Database
from bridge.store.dirty_marks import is_enabled
from bridge.sync.item_store import SyncItemStore
from bridge.sync.target import AffectedItems, ItemKey

_READ = "SELECT kind, key, marked_at FROM dirty_mark WHERE org_id = ?1 AND target = ?2 LIMIT ?3"
_ALL_KEYS = """
SELECT 'dataset', dataset_id, 0 FROM ol_dataset WHERE org_id = ?1
UNION ALL SELECT 'job', job_id, 0 FROM ol_job WHERE org_id = ?1
UNION ALL SELECT 'run', run_id, 0 FROM ol_run WHERE org_id = ?1
UNION ALL SELECT 'check', qdef_id, 0 FROM quality_check_def WHERE org_id = ?1
UNION ALL SELECT 'result', qres_id, 0 FROM quality_check_result WHERE org_id = ?1
"""
_DELETE = "DELETE FROM dirty_mark WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND key = ?4 AND marked_at = ?5"
_SET_JOB_FAMILY = "UPDATE sync_item SET fold = ?4 WHERE org_id = ?1 AND target = ?2 AND kind = 'job' AND key = ?3"


#: Larger than any number of marks.
_UNLIMITED = 1 << 40


class MarkConsumer:
    """Turns dirty marks into items to sync. Not thread-safe."""

    def __init__(self, db: Database, org: str, target: str, items: SyncItemStore, affected: AffectedItems) -> None:
        self._db = db
        self._org = org
        self._target = target
        self._items = items
        self._affected = affected

    def consume(self, limit: int = 1_000) -> int:
        """Consume marks in one transaction and return their number.

        The store is read before the transaction starts; a change in between leaves a newer mark, which is kept.
        """
        marks = self._db.fetch_all(_READ, self._org, self._target, limit)
        if not marks:
            return 0
        items, job_family_hashes = self._affected.of_marks(_keys_by_kind(marks))
        with self._db.transaction():
            self._items.mark(items)
            family_rows = [(self._org, self._target, job, hash_) for job, hash_ in sorted(job_family_hashes.items())]
            self._db.execute_many(_SET_JOB_FAMILY, family_rows)
            self._db.execute_many(_DELETE, [(self._org, self._target, *mark) for mark in marks])
        return len(marks)

    def preview(self, *, everything: bool) -> set[ItemKey]:
        """List the items that pending marks affect, without consuming the marks.

        Returns all items if `everything` is set or the target was never enabled.
        """
        if everything or not is_enabled(self._db, self._org, self._target):
            marks = self._db.fetch_all(_ALL_KEYS, self._org)
        else:
            marks = self._db.fetch_all(_READ, self._org, self._target, _UNLIMITED)
        return self._affected.of_marks(_keys_by_kind(marks)).items


def _keys_by_kind(marks: Iterable[tuple[Any, ...]]) -> dict[str, set[bytes]]:
    keys_by_kind: dict[str, set[bytes]] = {}
    for kind, key, _ in marks:
        keys_by_kind.setdefault(kind, set()).add(key)
    return keys_by_kind
