"""Leaves out edges that the last complete runs of their job did not report."""

from collections.abc import Collection, Iterable

from bridge.store.database import Database
from bridge.store.lineage.evidence import NO_TIME_LIMIT, EdgeEvidence
from mappers.logical_job import ACTION_TYPES, FoldingRule, JobAncestry, is_action, logical_job

_TYPES = ", ".join(f"'{kind}'" for kind in sorted(ACTION_TYPES))
_ACTION = (
    """({job}.integration IS NOT NULL AND upper({job}.integration) = 'SPARK' AND upper({job}.job_type) IN (%s))"""
)
_IO = """(EXISTS (SELECT 1 FROM ol_run_output t WHERE t.org_id = {run}.org_id AND t.run_id = {run}.run_id)
  OR EXISTS (SELECT 1 FROM ol_run_input t WHERE t.org_id = {run}.org_id AND t.run_id = {run}.run_id))"""
_STEP_IO = """EXISTS (SELECT 1 FROM ol_run {run} JOIN ol_job {job} ON {job}.org_id = {run}.org_id
    AND {job}.job_id = {run}.job_id
  WHERE {run}.org_id = {above}.org_id AND {run}.parent_run_id = {above}.run_id AND {which})"""
_OF_ACTION = f"{_ACTION % _TYPES} AND {_IO}"
_GRANDCHILDREN = _STEP_IO.format(run="b", job="y", above="a", which=_OF_ACTION.format(run="b", job="y"))
_OF_CHILD = f"({_OF_ACTION.format(run='a', job='x')} OR upper(x.job_type) = 'APPLICATION' AND {_GRANDCHILDREN})"
_HAD_IO = f"({_IO.format(run='r')} OR {_STEP_IO.format(run='a', job='x', above='r', which=_OF_CHILD)})"
_COMPLETE = f"""
SELECT r.started_at FROM ol_run r
JOIN run_outcome o ON o.org_id = r.org_id AND o.run_id = r.run_id
WHERE r.org_id = ?1 AND r.job_id = ?2 AND r.started_at <= ?3 AND o.status = 'SUCCESS' AND {{which}} AND {_HAD_IO}
ORDER BY r.started_at DESC LIMIT ?4
"""
_REPORTED = _COMPLETE.format(which="r.least_claimant IS NOT NULL")
#: Runs of applications that are shown as what started them, of which nobody ever reports.
_STARTED = _COMPLETE.format(
    which="r.parent_job_id = ?5 AND EXISTS (SELECT 1 FROM ol_run p WHERE p.org_id = r.org_id"
    " AND p.run_id = r.parent_run_id AND p.least_claimant IS NULL)"
)
#: When the n-th newest run of a job began, whatever became of it: no edge seen since is gone.
_NEWEST = """
SELECT j.job_id, (SELECT r.started_at FROM ol_run r
  WHERE r.org_id = j.org_id AND r.job_id = j.job_id AND r.started_at <= ?2
  ORDER BY r.started_at DESC LIMIT 1 OFFSET ?3)
FROM ol_job j WHERE j.org_id = ?1 AND j.job_id {ids}
"""
_APPLICATIONS = """
SELECT e.source_id, e.target_id FROM lineage_edge e
JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.target_id AND upper(j.job_type) = 'APPLICATION'
WHERE e.org_id = ?1 AND e.source_id {ids} AND e.edge_role = 'PARENT'
"""


class RetirementPolicy:
    """Tells which edges are gone, by the rule of how jobs are shown, as it was known at a time."""

    def __init__(self, db: Database, org: str, rule: FoldingRule, until: int = NO_TIME_LIMIT) -> None:
        self._db = db
        self._org = org
        self._rule = rule
        self._until = until
        self._limits: dict[bytes, int] = {}

    def current(self, found: Collection[EdgeEvidence]) -> list[EdgeEvidence]:
        """Leave out the edges that are gone."""
        jobs = {
            job: one.last_seen
            for one in sorted(found, key=lambda one: -one.last_seen)
            if (job := logical_job_of(one, self._rule))
        }
        limits = self.oldest_current(jobs)
        return [one for one in found if one.last_seen >= limits.get(logical_job_of(one, self._rule) or b"", 0)]

    def oldest_current(self, oldest: dict[bytes, int]) -> dict[bytes, int]:
        """Say of jobs since when an edge must have been seen to stand, given the oldest that each shows.

        A job of which no edge can be gone is not among them.
        """
        if not self._rule.retire_after:
            return {}
        suspects = {job for job, seen in oldest.items() if seen != NO_TIME_LIMIT} - self._limits.keys()
        for job in self._with_newer_runs({job: oldest[job] for job in suspects}):
            starts = self.complete_run_starts(job, self._rule.retire_after)
            self._limits[job] = starts[-1] if len(starts) == self._rule.retire_after else 0
        return self._limits

    def complete_run_starts(self, job: bytes, max_edges: int) -> list[int]:
        """Say when the newest complete runs of a job began that read or wrote something, the newest first."""
        bound = (self._until, max_edges)
        starts = [began for (began,) in self._db.fetch_all(_REPORTED, self._org, job, *bound)]
        if self._rule.job == "parent":
            for _, application in self._db.fetch_for_ids(_APPLICATIONS, [job], self._org):
                starts += [one for (one,) in self._db.fetch_all(_STARTED, self._org, application, *bound, job)]
        return sorted(starts, reverse=True)[:max_edges]

    def _with_newer_runs(self, oldest: dict[bytes, int]) -> Iterable[bytes]:
        """Leave out, in two cheap steps, the jobs that have not run often enough since their oldest edge was seen."""
        offset = self._rule.retire_after - 1
        newest = dict(self._db.fetch_for_ids(_NEWEST, sorted(oldest), self._org, self._until, offset))
        yield from (job for job, began in newest.items() if began is not None and began > oldest[job])
        if self._rule.job == "parent":
            unreported = sorted(job for job, began in newest.items() if began is None)
            pairs = self._db.fetch_for_ids(_APPLICATIONS, unreported, self._org) if unreported else []
            started = {application for _, application in pairs}
            began = (
                dict(self._db.fetch_for_ids(_NEWEST, sorted(started), self._org, self._until, 0)) if started else {}
            )
            yield from {job for job, one in pairs if (began[one] or 0) > oldest[job]}


def logical_job_of(found: EdgeEvidence, rule: FoldingRule) -> bytes | None:
    """Find the job that people know behind an edge."""
    if found.reporting_job is None:
        return None
    action = is_action(found.integration, found.job_type)
    return logical_job(
        JobAncestry(found.reporting_job, action, found.parent, found.grandparent, found.root), "job", rule
    )
