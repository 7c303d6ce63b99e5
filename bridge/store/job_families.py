"""Maps jobs to the logical jobs they are shown as, and back."""

from collections.abc import Iterable

from bridge.store.database import Database
from mappers.logical_job import FoldingRule, is_action

_KINDS = "SELECT job_id, integration, job_type FROM ol_job WHERE org_id = ?1 AND job_id {ids}"
_PARENTS = """
SELECT target_id, source_id FROM lineage_edge WHERE org_id = ?1 AND target_id {ids} AND edge_role = 'PARENT'
"""


def logical_jobs(db: Database, org: str, rule: FoldingRule, jobs: Iterable[bytes]) -> dict[bytes, set[bytes]]:
    """Give for each job the jobs that people know it under: itself, unless it is an action that has parents."""
    wanted = set(jobs)
    actions = {job for job, *kind in db.fetch_for_ids(_KINDS, sorted(wanted), org) if is_action(*kind)}
    applications = _parents(db, org, actions)
    starters = _parents(db, org, {one for found in applications.values() for one in found})
    shown = {job: {job} for job in wanted}
    for action, found in applications.items():
        above = {one: starters.get(one, {one}) if rule.job == "parent" else {one} for one in found}
        shown[action] = set().union(*above.values())
    return shown


def _parents(db: Database, org: str, jobs: Iterable[bytes]) -> dict[bytes, set[bytes]]:
    found: dict[bytes, set[bytes]] = {}
    for job, parent in db.fetch_for_ids(_PARENTS, sorted(jobs), org):
        found.setdefault(job, set()).add(parent)
    return found
