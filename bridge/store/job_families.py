"""Maps jobs to the logical jobs that they are folded into, and vice versa."""

from collections.abc import Iterable

from bridge.store.database import Database
from mappers.canonical.merge import Reducer
from mappers.canonical.rows import JobRow
from mappers.logical_job import ACTION_TYPES, FoldingRule, is_action

_JOB_TYPES = "SELECT job_id, integration, job_type FROM ol_job WHERE org_id = ?1 AND job_id {ids}"
_TYPE_REGISTERS = "SELECT job_id, type_order, integration, job_type FROM ol_job WHERE org_id = ?1 AND job_id {ids}"
_PARENTS = """
SELECT target_id, source_id FROM lineage_edge WHERE org_id = ?1 AND target_id {ids} AND edge_role = 'PARENT'
"""
_CHILDREN = """
SELECT source_id, target_id FROM lineage_edge WHERE org_id = ?1 AND source_id {ids} AND edge_role = 'PARENT'
"""


def is_action_sql(job: str) -> str:
    """Build the condition under which the Spark listener reported a job for a single action."""
    types = ", ".join(f"'{kind}'" for kind in sorted(ACTION_TYPES))
    return f"(upper(coalesce({job}.integration, '')) = 'SPARK' AND upper(coalesce({job}.job_type, '')) IN ({types}))"


def first_action_sql(run: str) -> str:
    """Build the query of the action of a run that started first."""
    return f"""
SELECT a.run_id FROM ol_run a JOIN ol_job aj ON aj.org_id = a.org_id AND aj.job_id = a.job_id
WHERE a.org_id = {run}.org_id AND a.parent_run_id = {run}.run_id AND a.started_at IS NOT NULL
  AND {is_action_sql("aj")}
ORDER BY a.started_at, a.run_id LIMIT 1
"""  # noqa: S608 - the argument is an alias


def find_retyped_jobs(db: Database, org: str, changes: Reducer) -> set[bytes]:
    """Return stored jobs that these changes give another integration or type. Must be called before the merge."""
    new_types = {row.job_id: row for row in changes.rows(JobRow) if row.type_order is not None}
    return {
        job
        for job, order, *stored_type in db.fetch_for_ids(_TYPE_REGISTERS, list(new_types), org)
        if (order is None or new_types[job].type_order > order)
        and stored_type != [new_types[job].integration, new_types[job].job_type]
    }


def logical_jobs(db: Database, org: str, rule: FoldingRule, jobs: Iterable[bytes]) -> dict[bytes, set[bytes]]:
    """Map each job to its logical jobs: the job itself or, for an action, the application.

    If the rule folds applications into their parents, an action maps to the parents of its application.
    """
    logical_jobs_by_job = {job: {job} for job in jobs}
    actions = {
        job
        for job, integration, job_type in db.fetch_for_ids(_JOB_TYPES, sorted(logical_jobs_by_job), org)
        if is_action(integration, job_type)
    }
    parents_by_action = _read_parents(db, org, actions)
    parents_by_application: dict[bytes, set[bytes]] = {}
    if rule.job == "parent":
        parents_by_application = _read_parents(db, org, set().union(*parents_by_action.values()))
    for action, applications in parents_by_action.items():
        job_sets = [parents_by_application.get(application, {application}) for application in applications]
        logical_jobs_by_job[action] = set().union(*job_sets)
    return logical_jobs_by_job


def family_members(db: Database, org: str, rule: FoldingRule, jobs: Iterable[bytes]) -> dict[bytes, set[bytes]]:
    """Map each job to the jobs that are folded into it: the job itself, and actions one or two levels below."""
    requested_jobs = set(jobs)
    children = {child for _, child in db.fetch_for_ids(_CHILDREN, sorted(requested_jobs), org)}
    grandchildren = {child for _, child in db.fetch_for_ids(_CHILDREN, sorted(children), org)}
    members_by_job: dict[bytes, set[bytes]] = {job: set() for job in requested_jobs}
    candidates = logical_jobs(db, org, rule, requested_jobs | children | grandchildren)
    for member, jobs_of_member in candidates.items():
        for job in jobs_of_member & requested_jobs:
            members_by_job[job].add(member)
    return members_by_job


def _read_parents(db: Database, org: str, jobs: Iterable[bytes]) -> dict[bytes, set[bytes]]:
    parents_by_job: dict[bytes, set[bytes]] = {}
    for job, parent in db.fetch_for_ids(_PARENTS, sorted(jobs), org):
        parents_by_job.setdefault(job, set()).add(parent)
    return parents_by_job
