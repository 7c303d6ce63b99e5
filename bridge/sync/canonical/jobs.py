"""Reads logical jobs from the canonical store."""

from collections.abc import Collection
from typing import Any, NamedTuple

from bridge.store.database import Database
from bridge.store.governance_facets import read_facet_bodies, read_facet_texts, read_owners
from bridge.store.job_families import logical_jobs
from bridge.sync.canonical.tasks import AUTOSYS, CanonicalTask, read_family, read_links, read_tasks
from mappers.logical_job import FoldingRule

_PARENTS = """
SELECT target_id, source_id FROM lineage_edge WHERE org_id = ?1 AND target_id {ids} AND edge_role = 'PARENT'
"""
#: Jobs that also run without a parent.
_WITHOUT_PARENT = """
SELECT DISTINCT job_id FROM ol_run
WHERE org_id = ?1 AND job_id {ids} AND parent_run_id IS NULL AND least_claimant IS NOT NULL
"""


class CanonicalJob(NamedTuple):
    """A logical job."""

    namespace: str
    name: str
    integration: str | None
    description: str | None
    source_url: str | None
    tasks: tuple[CanonicalTask, ...]
    #: Schedule of a scheduler's job, as its definition contains it.
    schedule: dict[str, Any] | None = None
    #: Names of teams, and email addresses.
    owners: tuple[str, ...] = ()


class JobsByRole(NamedTuple):
    """Logical jobs by id. `represented_by` maps each folded job to the ids of the logical jobs that represent it."""

    logical: dict[bytes, CanonicalJob]
    represented_by: dict[bytes, set[bytes]]


def read_jobs(db: Database, org: str, rule: FoldingRule, ids: Collection[bytes]) -> JobsByRole:
    """Read the given jobs; folded jobs are mapped to the logical jobs that represent them."""
    family = read_family(db, org, ids)
    job_ids = [job for job in sorted(set(ids)) if job in family.rows]
    represented_by = {
        job: representing_jobs
        for job, representing_jobs in logical_jobs(db, org, rule, job_ids).items()
        if representing_jobs != {job}
    }
    if rule.job == "parent":
        applications = [job for job in job_ids if family.is_application(job)]
        without_parent = {job for (job,) in db.fetch_for_ids(_WITHOUT_PARENT, applications, org)}
        represented_by |= read_links(db, org, _PARENTS, [job for job in applications if job not in without_parent])
    logical_ids = [job for job in job_ids if job not in represented_by]
    tasks = read_tasks(db, org, rule, family, logical_ids)
    urls = read_facet_texts(db, org, logical_ids, "sourceCodeLocation", "url")
    definitions = read_facet_bodies(db, org, [job for job in logical_ids if family.rows[job].is_scheduled], AUTOSYS)
    owners = read_owners(db, org, logical_ids)
    logical_jobs_by_id = {}
    for job in logical_ids:
        row = family.rows[job]
        schedule = definitions.get(job, {}).get("schedule")
        logical_jobs_by_id[job] = CanonicalJob(
            row.namespace,
            row.name,
            row.integration,
            row.description,
            urls.get(job),
            tasks[job],
            schedule if isinstance(schedule, dict) else None,
            tuple(owners.get(job, ())),
        )
    return JobsByRole(logical_jobs_by_id, represented_by)
