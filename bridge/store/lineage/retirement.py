"""Leaves out edges that the last complete runs of the job did not report."""

from collections.abc import Collection, Iterable

from bridge.store.database import Database
from bridge.store.job_families import is_action_sql
from bridge.store.lineage.evidence import NO_TIME_LIMIT, EdgeEvidence
from mappers.logical_job import FoldingRule, JobAncestry, is_action, logical_job

_IO = """(EXISTS (SELECT 1 FROM ol_run_output t WHERE t.org_id = {run}.org_id AND t.run_id = {run}.run_id)
  OR EXISTS (SELECT 1 FROM ol_run_input t WHERE t.org_id = {run}.org_id AND t.run_id = {run}.run_id))"""
_STEP_IO = """EXISTS (SELECT 1 FROM ol_run {run} JOIN ol_job {job} ON {job}.org_id = {run}.org_id
    AND {job}.job_id = {run}.job_id
  WHERE {run}.org_id = {above}.org_id AND {run}.parent_run_id = {above}.run_id AND {which})"""
_IS_ACTION_WITH_IO = f"{is_action_sql('{job}')} AND {_IO}"
_GRANDCHILDREN = _STEP_IO.format(run="b", job="y", above="a", which=_IS_ACTION_WITH_IO.format(run="b", job="y"))
_IS_CHILD_WITH_IO = (
    f"({_IS_ACTION_WITH_IO.format(run='a', job='x')} OR upper(x.job_type) = 'APPLICATION' AND {_GRANDCHILDREN})"
)
_HAD_IO = f"({_IO.format(run='r')} OR {_STEP_IO.format(run='a', job='x', above='r', which=_IS_CHILD_WITH_IO)})"
_COMPLETE_RUNS = f"""
SELECT r.started_at FROM ol_run r
JOIN run_outcome o ON o.org_id = r.org_id AND o.run_id = r.run_id
WHERE r.org_id = ?1 AND r.job_id = ?2 AND r.started_at <= ?3 AND o.status = 'SUCCESS' AND {{which}} AND {_HAD_IO}
ORDER BY r.started_at DESC LIMIT ?4
"""
_REPORTED_RUNS = _COMPLETE_RUNS.format(which="r.least_claimant IS NOT NULL")
#: Runs of applications that are shown as the job that started them, where that job reports no events.
_STARTED_RUNS = _COMPLETE_RUNS.format(
    which="r.parent_job_id = ?5 AND EXISTS (SELECT 1 FROM ol_run p WHERE p.org_id = r.org_id"
    " AND p.run_id = r.parent_run_id AND p.least_claimant IS NULL)"
)
#: Start of the n-th newest run of a job, regardless of its outcome: edges seen since then are current.
_NTH_NEWEST_START = """
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
    """Decides which edges are retired under a folding rule, from what was known at a given time."""

    def __init__(self, db: Database, org: str, rule: FoldingRule, until: int = NO_TIME_LIMIT) -> None:
        self._db = db
        self._org = org
        self._rule = rule
        self._until = until
        self._oldest_current: dict[bytes, int] = {}

    def current(self, evidence: Collection[EdgeEvidence]) -> list[EdgeEvidence]:
        """Select the evidence of edges that are not retired."""
        jobs = [logical_job_of(item, self._rule) for item in evidence]
        earliest_seen: dict[bytes, int] = {}
        for item, job in zip(evidence, jobs, strict=True):
            if job is not None:
                earliest_seen[job] = min(item.last_seen, earliest_seen.get(job, item.last_seen))
        oldest_current = self.oldest_current(earliest_seen)
        return [
            item
            for item, job in zip(evidence, jobs, strict=True)
            if job is None or item.last_seen >= oldest_current.get(job, 0)
        ]

    def oldest_current(self, earliest_seen: dict[bytes, int]) -> dict[bytes, int]:
        """Map jobs to the time since which an edge must have been seen to count as current.

        `earliest_seen` maps each job to the earliest of the times at which its edges were last seen. The result may
        omit jobs without retired edges.
        """
        if not self._rule.retire_after:
            return {}
        jobs_with_runs = {job for job, seen in earliest_seen.items() if seen != NO_TIME_LIMIT}
        candidates = jobs_with_runs - self._oldest_current.keys()
        for job in self._jobs_with_retirable_edges({job: earliest_seen[job] for job in candidates}):
            starts = self.complete_run_starts(job, self._rule.retire_after)
            has_enough_runs = len(starts) == self._rule.retire_after
            self._oldest_current[job] = min(starts) if has_enough_runs else 0
        return self._oldest_current

    def complete_run_starts(self, job: bytes, limit: int) -> list[int]:
        """List the start times of a job's newest complete runs that read or wrote anything, newest first."""
        rows = self._db.fetch_all(_REPORTED_RUNS, self._org, job, self._until, limit)
        if self._rule.job == "parent":
            for _, application in self._db.fetch_for_ids(_APPLICATIONS, [job], self._org):
                rows += self._db.fetch_all(_STARTED_RUNS, self._org, application, self._until, limit, job)
        return sorted((start for (start,) in rows), reverse=True)[:limit]

    def _jobs_with_retirable_edges(self, earliest_seen: dict[bytes, int]) -> Iterable[bytes]:
        """Yield the jobs that may have retired edges.

        At least `retire_after` runs of such a job started after its least recently seen edge was last seen.
        """
        offset = self._rule.retire_after - 1
        nth_starts = dict(
            self._db.fetch_for_ids(_NTH_NEWEST_START, sorted(earliest_seen), self._org, self._until, offset)
        )
        retirable = {job for job, start in nth_starts.items() if start is not None and start > earliest_seen[job]}
        yield from retirable
        other_jobs = sorted(nth_starts.keys() - retirable)
        if self._rule.job == "parent" and other_jobs:
            # Runs of applications count as well if the job that started them reports no events of those runs.
            job_applications = self._db.fetch_for_ids(_APPLICATIONS, other_jobs, self._org)
            applications = {application for _, application in job_applications}
            application_starts = dict(
                self._db.fetch_for_ids(_NTH_NEWEST_START, sorted(applications), self._org, self._until, 0)
            )
            yield from {
                job
                for job, application in job_applications
                if (application_starts[application] or 0) > earliest_seen[job]
            }


def logical_job_of(evidence: EdgeEvidence, rule: FoldingRule) -> bytes | None:
    """Return the logical job behind an edge, or None if no job asserts the edge."""
    if evidence.reporting_job is None:
        return None
    is_step = is_action(evidence.integration, evidence.job_type)
    ancestry = JobAncestry(evidence.reporting_job, is_step, evidence.parent, evidence.grandparent, evidence.root)
    return logical_job(ancestry, "job", rule)
