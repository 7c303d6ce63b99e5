"""Reads logical jobs and their tasks from the canonical store."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

import msgspec

from bridge.store.database import Database
from bridge.store.job_families import logical_jobs
from mappers.canonical.identity import NO_ID
from mappers.logical_job import FoldingRule, is_action, step_name

_JOBS = """
SELECT j.job_id, n.namespace_uri, j.name, j.integration, j.job_type, j.description FROM ol_job j
JOIN ol_namespace n ON n.org_id = j.org_id AND n.namespace_id = j.namespace_id
WHERE j.org_id = ?1 AND j.job_id {ids}
"""
_BENEATH = """
SELECT source_id, target_id FROM lineage_edge WHERE org_id = ?1 AND source_id {ids} AND edge_role = 'PARENT'
"""
_ABOVE = """
SELECT target_id, source_id FROM lineage_edge WHERE org_id = ?1 AND target_id {ids} AND edge_role = 'PARENT'
"""
#: Jobs that also run without anything above them.
_ALONE = """
SELECT DISTINCT job_id FROM ol_run
WHERE org_id = ?1 AND job_id {ids} AND parent_run_id IS NULL AND least_claimant IS NOT NULL
"""
_WRITTEN = """
SELECT e.source_id, h.name FROM lineage_edge e
JOIN ol_dataset d ON d.org_id = e.org_id AND d.dataset_id = e.target_id
JOIN ol_dataset h ON h.org_id = d.org_id AND h.dataset_id = d.class_id
WHERE e.org_id = ?1 AND e.source_id {ids} AND e.edge_role = 'PRODUCES' AND e.target_type = 'dataset'
"""
_FACETS = """
SELECT owner_id, body FROM facet
WHERE org_id = ?1 AND owner_id {ids} AND about_id = ?2 AND name = ?3 AND body IS NOT NULL
"""


class CanonicalTask(NamedTuple):
    """A step of a job, and the SQL that it runs."""

    name: str
    sql: str | None
    #: The actions that are told as this step.
    actions: frozenset[bytes] = frozenset()


class CanonicalJob(NamedTuple):
    """A job that people know."""

    namespace: str
    name: str
    integration: str | None
    description: str | None
    source_url: str | None
    tasks: tuple[CanonicalTask, ...]


class JobsByRole(NamedTuple):
    """Jobs by their ids, and those that are shown under others instead."""

    logical: dict[bytes, CanonicalJob]
    shown_as: dict[bytes, set[bytes]]


class _Row(NamedTuple):
    namespace: str
    name: str
    integration: str | None
    job_type: str | None
    description: str | None

    @property
    def is_action(self) -> bool:
        return is_action(self.integration, self.job_type)


class _JobFamily(NamedTuple):
    """Jobs, those one and two levels beneath them, and who lies beneath whom."""

    rows: dict[bytes, _Row]
    beneath: dict[bytes, set[bytes]]

    def steps(self, job: bytes, rule: FoldingRule) -> Iterator[tuple[bytes, str]]:
        """Give the actions that are shown as tasks of a job, each with the name of its application."""
        for child in sorted(self.beneath.get(job, ())):
            if self.rows[child].is_action:
                yield child, self.rows[job].name
            elif rule.job == "parent":
                for action in sorted(self.beneath.get(child, ())):
                    if self.rows[action].is_action:
                        yield action, self.rows[child].name

    def is_application(self, job: bytes) -> bool:
        """Tell whether a job is made of actions."""
        row = self.rows[job]
        if row.is_action:
            return False
        actions = (self.rows[child].is_action for child in self.beneath.get(job, ()))
        return (row.job_type or "").upper() == "APPLICATION" or any(actions)


def read_jobs(db: Database, org: str, rule: FoldingRule, ids: Collection[bytes]) -> JobsByRole:
    """Read jobs; an action, and an application whose actions are shown under what started it, is no job by itself."""
    family = _read_family(db, org, ids)
    asked = [job for job in sorted(set(ids)) if job in family.rows]
    folded = {job: above for job, above in logical_jobs(db, org, rule, asked).items() if above != {job}}
    if rule.job == "parent":
        applications = [job for job in asked if family.is_application(job)]
        alone = {job for (job,) in db.fetch_for_ids(_ALONE, applications, org)}
        folded |= _links(db, org, _ABOVE, [job for job in applications if job not in alone])
    known = [job for job in asked if job not in folded]
    tasks = _tasks(db, org, rule, family, known)
    urls = facet_texts(db, org, known, "sourceCodeLocation", "url")
    shown = {}
    for job in known:
        namespace, name, integration, _, description = family.rows[job]
        shown[job] = CanonicalJob(namespace, name, integration, description, urls.get(job), tasks[job])
    return JobsByRole(shown, folded)


def facet_texts(db: Database, org: str, owners: Collection[bytes], facet: str, key: str) -> dict[bytes, str]:
    """Read one text of a facet of each of many jobs, where it holds one."""
    rows = db.fetch_for_ids(_FACETS, sorted(owners), org, NO_ID, facet)
    bodies = {owner: msgspec.json.decode(body) for owner, body in rows}
    texts = {owner: body.get(key) for owner, body in bodies.items() if isinstance(body, dict)}
    return {owner: text for owner, text in texts.items() if isinstance(text, str) and text}


def _read_family(db: Database, org: str, ids: Collection[bytes]) -> _JobFamily:
    beneath = _links(db, org, _BENEATH, ids)
    children = {child for found in beneath.values() for child in found}
    beneath |= _links(db, org, _BENEATH, children - beneath.keys())
    everybody = {*ids, *children, *(child for found in beneath.values() for child in found)}
    return _JobFamily({job: _Row(*row) for job, *row in db.fetch_for_ids(_JOBS, sorted(everybody), org)}, beneath)


def _links(db: Database, org: str, sql: str, ids: Collection[bytes]) -> dict[bytes, set[bytes]]:
    found: dict[bytes, set[bytes]] = {}
    for one, other in db.fetch_for_ids(sql, sorted(ids), org):
        found.setdefault(one, set()).add(other)
    return found


def _tasks(
    db: Database, org: str, rule: FoldingRule, family: _JobFamily, jobs: Collection[bytes]
) -> dict[bytes, tuple[CanonicalTask, ...]]:
    """Name the steps of jobs after what they write; of several statements of a step the first counts."""
    steps = {job: list(family.steps(job, rule)) for job in jobs}
    actions = {action for found in steps.values() for action, _ in found}
    written: dict[bytes, set[str]] = {}
    for action, name in db.fetch_for_ids(_WRITTEN, sorted(actions), org):
        written.setdefault(action, set()).add(name)
    sql = facet_texts(db, org, actions, "sql", "query")
    tasks: dict[bytes, tuple[CanonicalTask, ...]] = {}
    for job, found in steps.items():
        said: dict[str, list[str]] = {}
        of: dict[str, set[bytes]] = {}
        for action, application in found:
            for target in sorted(written.get(action, ())):
                name = step_name(rule, family.rows[action].name, application, target)
                said.setdefault(name, []).extend(filter(None, [sql.get(action)]))
                of.setdefault(name, set()).add(action)
        tasks[job] = tuple(
            CanonicalTask(name, min(texts, default=None), frozenset(of[name])) for name, texts in sorted(said.items())
        )
    return tasks
