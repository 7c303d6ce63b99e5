"""Maps jobs to the logical jobs that they are shown as, and vice versa."""

from collections.abc import Iterable

from bridge.store.database import Database
from mappers.logical_job import FoldingRule, is_action

_JOB_TYPES = "SELECT job_id, integration, job_type FROM ol_job WHERE org_id = ?1 AND job_id {ids}"
_PARENTS = """
SELECT target_id, source_id FROM lineage_edge WHERE org_id = ?1 AND target_id {ids} AND edge_role = 'PARENT'
"""
_CHILDREN = """
SELECT source_id, target_id FROM lineage_edge WHERE org_id = ?1 AND source_id {ids} AND edge_role = 'PARENT'
"""


def logical_jobs(db: Database, org: str, rule: FoldingRule, jobs: Iterable[bytes]) -> dict[bytes, set[bytes]]:
    """Map each job to the logical jobs that it is shown as: the job itself or, for an action, its parents."""
    logical_jobs_by_job = {job: {job} for job in jobs}
    actions = {
        job
        for job, *job_type in db.fetch_for_ids(_JOB_TYPES, sorted(logical_jobs_by_job), org)
        if is_action(*job_type)
    }
    parents_by_action = _read_parents(db, org, actions)
    parents_by_application: dict[bytes, set[bytes]] = {}
    if rule.job == "parent":
        parents_by_application = _read_parents(db, org, set().union(*parents_by_action.values()))
    for action, parents in parents_by_action.items():
        shown_as = [parents_by_application.get(parent, {parent}) for parent in parents]
        logical_jobs_by_job[action] = set().union(*shown_as)
    return logical_jobs_by_job


def family_members(db: Database, org: str, rule: FoldingRule, jobs: Iterable[bytes]) -> dict[bytes, set[bytes]]:
    """Map each job to the jobs that are folded into it: the job itself, and actions one or two levels below."""
    requested_jobs = set(jobs)
    links = set(db.fetch_for_ids(_CHILDREN, sorted(requested_jobs), org))
    children = {child for _, child in links}
    all_jobs = requested_jobs | children | {child for _, child in db.fetch_for_ids(_CHILDREN, sorted(children), org)}
    members: dict[bytes, set[bytes]] = {job: set() for job in requested_jobs}
    for member, folded_into in logical_jobs(db, org, rule, all_jobs).items():
        for job in folded_into & requested_jobs:
            members[job].add(member)
    return members


def _read_parents(db: Database, org: str, jobs: Iterable[bytes]) -> dict[bytes, set[bytes]]:
    parents: dict[bytes, set[bytes]] = {}
    for job, parent in db.fetch_for_ids(_PARENTS, sorted(jobs), org):
        parents.setdefault(job, set()).add(parent)
    return parents
