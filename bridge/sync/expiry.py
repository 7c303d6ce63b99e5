"""Finds runs that enter or leave the retirement window of their job."""

from collections import Counter
from collections.abc import Iterable

from bridge.store.database import Database
from bridge.store.job_families import family_members
from bridge.store.lineage.evidence import NO_TIME_LIMIT
from bridge.store.lineage.retirement import RetirementPolicy
from mappers.logical_job import FoldingRule

_RUNS_BETWEEN = """
SELECT run_id FROM ol_run WHERE org_id = ?1 AND job_id {ids} AND started_at >= ?2 AND started_at < ?3
"""


def runs_crossing_retirement(db: Database, org: str, rule: FoldingRule, jobs: Iterable[bytes]) -> set[bytes]:
    """Runs that entered or left the retirement window of these jobs.

    `jobs` contains a job once per changed run: n changed runs move the window by at most n runs in either direction.
    """
    if not rule.retire_after:
        return set()
    retirement = RetirementPolicy(db, org, rule)
    runs: set[bytes] = set()
    for job, changed_runs in Counter(jobs).items():
        starts = retirement.complete_run_starts(job, rule.retire_after + changed_runs)
        if len(starts) >= rule.retire_after - changed_runs:
            newest_index = rule.retire_after - 1 - changed_runs
            until = starts[newest_index] + 1 if newest_index >= 0 and starts else NO_TIME_LIMIT
            since = starts[-1] if len(starts) == rule.retire_after + changed_runs else 0
            members = sorted(family_members(db, org, rule, [job])[job])
            runs |= {run for (run,) in db.fetch_for_ids(_RUNS_BETWEEN, members, org, since, until)}
    return runs
