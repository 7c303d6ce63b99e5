"""Marks of what an event may have changed for a target: made with the event, for the targets that are enabled."""

import time
from collections.abc import Collection, Iterator

from bridge.store.database import Database, Insert
from mappers.canonical.facts import Dataset, DatasetVersion, Facet, Job, QualityCheck, QualityResult, Run
from mappers.canonical.merge import Reducer

#: What was measured of a dataset that a run read or wrote.
METRICS = ("input:dataQualityMetrics", "output:dataQualityMetrics")
_TARGETS = "SELECT target FROM sync_target WHERE org_id = ?1 AND enabled_at IS NOT NULL ORDER BY target"
#: A mark that is there already becomes a later one: whoever works on the earlier one does not take it away.
_MARK = Insert(
    "dirty_mark",
    {"org_id": str, "target": str, "kind": str, "key": bytes, "marked_at": int},
    "ON CONFLICT (org_id, target, kind, key) DO UPDATE"
    " SET marked_at = CASE WHEN excluded.marked_at > dirty_mark.marked_at THEN excluded.marked_at"
    " ELSE dirty_mark.marked_at + 1 END",
)
_ENABLE = """
INSERT INTO sync_target (org_id, target, enabled_at) VALUES (?1, ?2, ?3)
ON CONFLICT (org_id, target) DO UPDATE SET enabled_at = excluded.enabled_at
"""
_EVERYTHING = """
INSERT INTO dirty_mark (org_id, target, kind, key, marked_at)
SELECT org_id, ?2, 'dataset', dataset_id, CAST(?3 AS bigint) FROM ol_dataset WHERE org_id = ?1
UNION ALL SELECT org_id, ?2, 'job', job_id, CAST(?3 AS bigint) FROM ol_job WHERE org_id = ?1
UNION ALL SELECT org_id, ?2, 'run', run_id, CAST(?3 AS bigint) FROM ol_run WHERE org_id = ?1
UNION ALL SELECT org_id, ?2, 'check', qdef_id, CAST(?3 AS bigint) FROM quality_check_def WHERE org_id = ?1
UNION ALL SELECT org_id, ?2, 'result', qres_id, CAST(?3 AS bigint) FROM quality_check_result WHERE org_id = ?1
ON CONFLICT (org_id, target, kind, key) DO UPDATE SET marked_at = dirty_mark.marked_at + 1
"""
_FIGURES = """
SELECT dataset_id, writer_id FROM dataset_version WHERE org_id = ?1 AND statistics_order IS NOT NULL
UNION SELECT about_id, owner_id FROM facet WHERE org_id = ?1 AND name IN (?2, ?3)
"""
_AT_ONCE = 1_000
_DISABLE = ("UPDATE sync_target SET enabled_at = NULL WHERE org_id = ?1 AND target = ?2",
            "DELETE FROM dirty_mark WHERE org_id = ?1 AND target = ?2")  # fmt: skip


def mark(db: Database, org: str, changes: Reducer, reclassed: Collection[bytes]) -> None:
    """Mark what a group of events mentions, and the datasets whose names belong together differently now."""
    targets = [target for (target,) in db.rows(_TARGETS, org)]
    if not targets:
        return
    now = time.time_ns() // 1000
    touched = sorted({*_touched(changes, reclassed), *_told(changes)})
    db.insert(_MARK, [(org, target, kind, key, now) for target in targets for kind, key in touched])


def _touched(changes: Reducer, reclassed: Collection[bytes]) -> Iterator[tuple[str, bytes]]:
    for dataset in changes.rows(Dataset):
        yield "dataset", dataset.dataset_id
    for dataset_id in reclassed:
        yield "dataset", dataset_id
    for job in changes.rows(Job):
        yield "job", job.job_id
    for run in changes.rows(Run):
        yield "run", run.run_id
        if run.parent_order is not None:  # whose run this is decides under which job its children are shown
            yield "children", run.run_id


def _told(changes: Reducer) -> Iterator[tuple[str, bytes]]:
    """Name what was told of data: checks, how they ended, and figures by dataset and run."""
    for check in changes.rows(QualityCheck):
        yield "check", check.qdef_id
    for result in changes.rows(QualityResult):
        yield "result", result.qres_id
    for version in changes.rows(DatasetVersion):
        if version.statistics_order is not None:
            yield "profile", version.dataset_id + version.writer_id
    for facet in changes.rows(Facet):
        if facet.name in METRICS:
            yield "profile", facet.about_id + facet.owner_id


def is_enabled(db: Database, org: str, target: str) -> bool:
    """Tell whether marks are made for a target."""
    return (target,) in db.rows(_TARGETS, org)


def enable_target(db: Database, org: str, target: str, now: int) -> bool:
    """Let marks be made for a target from now on, and mark everything that is there; False when it was enabled."""
    if is_enabled(db, org, target):
        return False
    with db.transaction():
        db.run(_ENABLE, org, target, now)
    db.last_settled()  # who began to write before that makes no marks
    mark_everything(db, org, target, now)
    return True


def mark_everything(db: Database, org: str, target: str, now: int) -> None:
    """Mark everything that there is for a target."""
    with db.transaction():
        db.run(_EVERYTHING, org, target, now)
    _mark_profiles(db, org, target, now)


def _mark_profiles(db: Database, org: str, target: str, now: int) -> None:
    """Mark all figures: keys of two ids are made here, for no SQL puts bytes together on both stores."""
    keys: set[bytes] = set()
    for dataset, run in db.rows(_FIGURES, org, *METRICS):
        keys.add(bytes(dataset) + bytes(run))
    marks = [(org, target, "profile", key, now) for key in sorted(keys)]
    for i in range(0, len(marks), _AT_ONCE):
        with db.transaction():
            db.insert(_MARK, marks[i : i + _AT_ONCE])


def disable_target(db: Database, org: str, target: str) -> None:
    """Make no more marks for a target, and forget those that are there; what it was sent stays known."""
    with db.transaction():
        for statement in _DISABLE:
            db.run(statement, org, target)
