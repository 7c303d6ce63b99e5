"""Which lineage is to be looked at because a run ended that may retire what older runs showed."""

from collections import Counter
from collections.abc import Iterable

from bridge.store.database import Database
from bridge.store.edges import EVER
from bridge.store.retirement import Retirement
from bridge.sync.lineage import read_leaves
from mappers.folding import FoldingRule

_BETWEEN = """
SELECT run_id FROM ol_run WHERE org_id = ?1 AND job_id {among} AND started_at >= ?2 AND started_at < ?3
"""


def expired_runs(db: Database, org: str, rule: FoldingRule, jobs: Iterable[bytes]) -> set[bytes]:
    """Find the runs that counted among the last of these jobs, or do now: each job is named once for each run of it.

    Whatever became of as many runs, the limit has moved by no more than as many places, either way.
    """
    if not rule.retire_after:
        return set()
    retirement = Retirement(db, org, rule)
    found: set[bytes] = set()
    for job, moved in Counter(jobs).items():
        starts = retirement.newest(job, rule.retire_after + moved)
        if len(starts) >= rule.retire_after - moved:
            newest = rule.retire_after - 1 - moved
            until = starts[newest] + 1 if newest >= 0 and starts else EVER
            since = starts[-1] if len(starts) == rule.retire_after + moved else 0
            leaves = sorted(read_leaves(db, org, rule, [job])[job])
            found |= {run for (run,) in db.among(_BETWEEN, leaves, org, since, until)}
    return found
