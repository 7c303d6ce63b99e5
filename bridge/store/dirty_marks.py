"""Records the keys that a group of events changed, once per enabled target."""

from collections.abc import Collection, Iterator

from bridge.clock import now_micros
from bridge.store.database import Database, Insert
from mappers.canonical.merge import Reducer
from mappers.canonical.rows import (
    DatasetRow,
    DatasetVersionRow,
    FacetRow,
    JobRow,
    QualityCheckRow,
    QualityResultRow,
    RunRow,
)

#: Facets with measurements of a dataset that a run read or wrote.
METRICS_FACETS = ("input:dataQualityMetrics", "output:dataQualityMetrics")
_TARGETS = "SELECT target FROM sync_target WHERE org_id = ?1 AND enabled_at IS NOT NULL ORDER BY target"
#: An existing mark gets a later time, so that a consumer that has read the earlier time does not delete the mark.
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
_MARK_ALL = """
INSERT INTO dirty_mark (org_id, target, kind, key, marked_at)
SELECT org_id, ?2, 'dataset', dataset_id, CAST(?3 AS bigint) FROM ol_dataset WHERE org_id = ?1
UNION ALL SELECT org_id, ?2, 'job', job_id, CAST(?3 AS bigint) FROM ol_job WHERE org_id = ?1
UNION ALL SELECT org_id, ?2, 'run', run_id, CAST(?3 AS bigint) FROM ol_run WHERE org_id = ?1
UNION ALL SELECT org_id, ?2, 'check', qdef_id, CAST(?3 AS bigint) FROM quality_check_def WHERE org_id = ?1
UNION ALL SELECT org_id, ?2, 'result', qres_id, CAST(?3 AS bigint) FROM quality_check_result WHERE org_id = ?1
ON CONFLICT (org_id, target, kind, key) DO UPDATE SET marked_at = dirty_mark.marked_at + 1
"""
_PROFILE_KEYS = """
SELECT dataset_id, writer_id FROM dataset_version WHERE org_id = ?1 AND statistics_order IS NOT NULL
UNION SELECT about_id, owner_id FROM facet WHERE org_id = ?1 AND name IN (?2, ?3)
"""
_BATCH_SIZE = 1_000
_DISABLE = ("UPDATE sync_target SET enabled_at = NULL WHERE org_id = ?1 AND target = ?2",
            "DELETE FROM dirty_mark WHERE org_id = ?1 AND target = ?2")  # fmt: skip


def mark_changes(db: Database, org: str, changes: Reducer, regrouped_datasets: Collection[bytes]) -> None:
    """Write marks for everything that events changed, and for datasets that moved to another identity group."""
    targets = [target for (target,) in db.fetch_all(_TARGETS, org)]
    if not targets:
        return
    now = now_micros()
    changed_keys = sorted({*_changed_entities(changes, regrouped_datasets), *_changed_observations(changes)})
    db.insert(_MARK, [(org, target, kind, key, now) for target in targets for kind, key in changed_keys])


def _changed_entities(changes: Reducer, regrouped_datasets: Collection[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the kind and key of each changed dataset, job and run."""
    for dataset in changes.rows(DatasetRow):
        yield "dataset", dataset.dataset_id
    for dataset_id in regrouped_datasets:
        yield "dataset", dataset_id
    for job in changes.rows(JobRow):
        yield "job", job.job_id
    for run in changes.rows(RunRow):
        yield "run", run.run_id
        if run.parent_order is not None:  # the parent of a run affects the logical job of its children
            yield "children", run.run_id


def _changed_observations(changes: Reducer) -> Iterator[tuple[str, bytes]]:
    """Yield the kind and key of each changed check, check result and profile.

    The key of a profile is the id of its dataset followed by the id of its run.
    """
    for check in changes.rows(QualityCheckRow):
        yield "check", check.qdef_id
    for result in changes.rows(QualityResultRow):
        yield "result", result.qres_id
    for version in changes.rows(DatasetVersionRow):
        if version.statistics_order is not None:
            yield "profile", version.dataset_id + version.writer_id
    for facet in changes.rows(FacetRow):
        if facet.name in METRICS_FACETS:
            yield "profile", facet.about_id + facet.owner_id


def is_enabled(db: Database, org: str, target: str) -> bool:
    """Return True if dirty marks are written for the target."""
    return (target,) in db.fetch_all(_TARGETS, org)


def enable_target(db: Database, org: str, target: str, now: int) -> bool:
    """Start writing dirty marks for a target, and mark everything. Return False if it was already enabled."""
    if is_enabled(db, org, target):
        return False
    with db.transaction():
        db.execute(_ENABLE, org, target, now)
    db.last_stable_seq()  # transactions that began earlier write no marks
    mark_all(db, org, target, now)
    return True


def mark_all(db: Database, org: str, target: str, now: int) -> None:
    """Mark everything in the store for a target."""
    with db.transaction():
        db.execute(_MARK_ALL, org, target, now)
    _mark_profiles(db, org, target, now)


def mark_before_removal(db: Database, org: str) -> None:
    """Mark everything for each enabled target in the open transaction, before it is removed from the store."""
    for (target,) in db.fetch_all(_TARGETS, org):
        db.execute(_MARK_ALL, org, target, now_micros())


def _mark_profiles(db: Database, org: str, target: str, now: int) -> None:
    """Mark all profiles. Their keys are pairs of ids, which the two databases concatenate with different SQL."""
    keys: set[bytes] = set()
    for dataset, run in db.fetch_all(_PROFILE_KEYS, org, *METRICS_FACETS):
        keys.add(bytes(dataset) + bytes(run))
    marks = [(org, target, "profile", key, now) for key in sorted(keys)]
    for start in range(0, len(marks), _BATCH_SIZE):
        with db.transaction():
            db.insert(_MARK, marks[start : start + _BATCH_SIZE])


def disable_target(db: Database, org: str, target: str) -> None:
    """Stop writing dirty marks for a target and delete its marks. Its sync items remain."""
    with db.transaction():
        for statement in _DISABLE:
            db.execute(statement, org, target)
