"""From what events touched to the items of a target that it may change."""

from bridge.store.database import Database
from bridge.store.marks import is_enabled
from bridge.sync.items import Items
from bridge.sync.target import Meaning, Wanted

_TAKE = "SELECT kind, key, marked_at FROM dirty_mark WHERE org_id = ?1 AND target = ?2 LIMIT ?3"
_EVERYTHING = """
SELECT 'dataset', dataset_id, 0 FROM ol_dataset WHERE org_id = ?1
UNION ALL SELECT 'job', job_id, 0 FROM ol_job WHERE org_id = ?1
UNION ALL SELECT 'run', run_id, 0 FROM ol_run WHERE org_id = ?1
UNION ALL SELECT 'check', qdef_id, 0 FROM quality_check_def WHERE org_id = ?1
UNION ALL SELECT 'result', qres_id, 0 FROM quality_check_result WHERE org_id = ?1
"""
_FORGET = "DELETE FROM dirty_mark WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND key = ?4 AND marked_at = ?5"
_SET_FOLD = "UPDATE sync_item SET fold = ?4 WHERE org_id = ?1 AND target = ?2 AND kind = 'job' AND key = ?3"


class Spreader:
    """Turns marks into items, as a target understands them. Not for several threads at once."""

    def __init__(self, db: Database, org: str, target: str, items: Items, meaning: Meaning) -> None:
        self._db = db
        self._org = org
        self._target = target
        self._items = items
        self._meaning = meaning

    def spread(self, limit: int = 1_000) -> int:
        """Take marks and mark the items that they mean, in one transaction; gives how many marks there were.

        The store is read before: a change that comes in between makes a later mark, which stays.
        """
        marks = self._db.rows(_TAKE, self._org, self._target, limit)
        if not marks:
            return 0
        of: dict[str, set[bytes]] = {}
        for kind, key, _ in marks:
            of.setdefault(kind, set()).add(key)
        found, folds = self._meaning.of(of)
        with self._db.transaction():
            self._items.mark(found)
            moved = [(self._org, self._target, *fold) for fold in sorted(folds.items())]
            self._db.run_many(_SET_FOLD, moved)
            self._db.run_many(_FORGET, [(self._org, self._target, *mark) for mark in marks])
        return len(marks)

    def preview(self, *, everything: bool) -> set[Wanted]:
        """Say which items all marks mean, or everything, as where no mark was ever made; changes nothing."""
        of: dict[str, set[bytes]] = {}
        if everything or not is_enabled(self._db, self._org, self._target):
            marks = self._db.rows(_EVERYTHING, self._org)
        else:
            marks = self._db.rows(_TAKE, self._org, self._target, 1 << 40)
        for kind, key, _ in marks:
            of.setdefault(kind, set()).add(key)
        return self._meaning.of(of).items
