"""Reads logical jobs and their tasks from the canonical store."""

from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from heapq import heappop, heappush
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
_CHILDREN = """
SELECT source_id, target_id FROM lineage_edge WHERE org_id = ?1 AND source_id {ids} AND edge_role = 'PARENT'
"""
_PARENTS = """
SELECT target_id, source_id FROM lineage_edge WHERE org_id = ?1 AND target_id {ids} AND edge_role = 'PARENT'
"""
#: Jobs that also run without a parent.
_WITHOUT_PARENT = """
SELECT DISTINCT job_id FROM ol_run
WHERE org_id = ?1 AND job_id {ids} AND parent_run_id IS NULL AND least_claimant IS NOT NULL
"""
_WRITTEN_DATASETS = """
SELECT e.source_id, d.class_id, h.name FROM lineage_edge e
JOIN ol_dataset d ON d.org_id = e.org_id AND d.dataset_id = e.target_id
JOIN ol_dataset h ON h.org_id = d.org_id AND h.dataset_id = d.class_id
WHERE e.org_id = ?1 AND e.source_id {ids} AND e.edge_role = 'PRODUCES' AND e.target_type = 'dataset'
"""
_READ_DATASETS = """
SELECT e.target_id, d.class_id FROM lineage_edge e
JOIN ol_dataset d ON d.org_id = e.org_id AND d.dataset_id = e.source_id
WHERE e.org_id = ?1 AND e.target_id {ids} AND e.edge_role = 'CONSUMES' AND e.source_type = 'dataset'
"""
_FACETS = """
SELECT owner_id, body FROM facet
WHERE org_id = ?1 AND owner_id {ids} AND about_id = ?2 AND name = ?3 AND body IS NOT NULL
"""


class CanonicalTask(NamedTuple):
    """A task of a job, with its SQL and the tasks that read what it writes."""

    name: str
    sql: str | None
    downstream: tuple[str, ...] = ()
    #: Integration that reported it, for example SPARK.
    type: str | None = None
    #: Spark actions shown as this task.
    actions: frozenset[bytes] = frozenset()


class CanonicalJob(NamedTuple):
    """A logical job."""

    namespace: str
    name: str
    integration: str | None
    description: str | None
    source_url: str | None
    tasks: tuple[CanonicalTask, ...]


class JobsByRole(NamedTuple):
    """Logical jobs by id. `represented_by` maps each folded job to the ids of the logical jobs that represent it."""

    logical: dict[bytes, CanonicalJob]
    represented_by: dict[bytes, set[bytes]]


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
    """Jobs, their children and their grandchildren."""

    rows: dict[bytes, _Row]
    children: dict[bytes, set[bytes]]

    def steps(self, job: bytes, rule: FoldingRule) -> Iterator[tuple[bytes, str]]:
        """Return actions that are shown as tasks of a job, each with the name of its application."""
        for child in sorted(self.children.get(job, ())):
            if self.rows[child].is_action:
                yield child, self.rows[job].name
            elif rule.job == "parent":
                for action in sorted(self.children.get(child, ())):
                    if self.rows[action].is_action:
                        yield action, self.rows[child].name

    def is_application(self, job: bytes) -> bool:
        """True if a job consists of actions."""
        row = self.rows[job]
        if row.is_action:
            return False
        actions = (self.rows[child].is_action for child in self.children.get(job, ()))
        return (row.job_type or "").upper() == "APPLICATION" or any(actions)


def read_jobs(db: Database, org: str, rule: FoldingRule, ids: Collection[bytes]) -> JobsByRole:
    """Read the given jobs; folded jobs are mapped to the logical jobs that represent them."""
    family = _read_family(db, org, ids)
    job_ids = [job for job in sorted(set(ids)) if job in family.rows]
    represented_by = {
        job: representing_jobs
        for job, representing_jobs in logical_jobs(db, org, rule, job_ids).items()
        if representing_jobs != {job}
    }
    if rule.job == "parent":
        applications = [job for job in job_ids if family.is_application(job)]
        without_parent = {job for (job,) in db.fetch_for_ids(_WITHOUT_PARENT, applications, org)}
        represented_by |= _links(db, org, _PARENTS, [job for job in applications if job not in without_parent])
    logical_ids = [job for job in job_ids if job not in represented_by]
    tasks = _tasks(db, org, rule, family, logical_ids)
    urls = facet_texts(db, org, logical_ids, "sourceCodeLocation", "url")
    logical_jobs_by_id = {}
    for job in logical_ids:
        namespace, name, integration, _, description = family.rows[job]
        logical_jobs_by_id[job] = CanonicalJob(namespace, name, integration, description, urls.get(job), tasks[job])
    return JobsByRole(logical_jobs_by_id, represented_by)


def facet_texts(db: Database, org: str, owners: Collection[bytes], facet_name: str, key: str) -> dict[bytes, str]:
    """Return values of a text field of a facet, by owner; owners without a value are left out."""
    rows = db.fetch_for_ids(_FACETS, sorted(owners), org, NO_ID, facet_name)
    bodies = {owner: msgspec.json.decode(body) for owner, body in rows}
    texts = {owner: body.get(key) for owner, body in bodies.items() if isinstance(body, dict)}
    return {owner: text for owner, text in texts.items() if isinstance(text, str) and text}


def _read_family(db: Database, org: str, ids: Collection[bytes]) -> _JobFamily:
    children = _links(db, org, _CHILDREN, ids)
    child_ids = set().union(*children.values())
    children |= _links(db, org, _CHILDREN, child_ids - children.keys())
    all_ids = {*ids, *child_ids}.union(*children.values())
    return _JobFamily({job: _Row(*row) for job, *row in db.fetch_for_ids(_JOBS, sorted(all_ids), org)}, children)


def _links(db: Database, org: str, sql: str, ids: Collection[bytes]) -> dict[bytes, set[bytes]]:
    linked: dict[bytes, set[bytes]] = {}
    for from_id, to_id in db.fetch_for_ids(sql, sorted(ids), org):
        linked.setdefault(from_id, set()).add(to_id)
    return linked


class _TaskBuilder:
    """Collects the actions that are shown as one task."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.actions: set[bytes] = set()
        self.written: set[bytes] = set()


def _tasks(
    db: Database, org: str, rule: FoldingRule, family: _JobFamily, jobs: Collection[bytes]
) -> dict[bytes, tuple[CanonicalTask, ...]]:
    """Build tasks: each is named after the dataset it writes, and has its alphabetically first SQL statement."""
    steps = {job: list(family.steps(job, rule)) for job in jobs}
    actions = sorted({action for job_steps in steps.values() for action, _ in job_steps})
    written_by_action: dict[bytes, set[tuple[str, bytes]]] = {}
    for action, dataset, name in db.fetch_for_ids(_WRITTEN_DATASETS, actions, org):
        written_by_action.setdefault(action, set()).add((name, dataset))
    read_by_action: dict[bytes, set[bytes]] = {}
    for action, dataset in db.fetch_for_ids(_READ_DATASETS, actions, org):
        read_by_action.setdefault(action, set()).add(dataset)
    sql_by_action = facet_texts(db, org, actions, "sql", "query")
    tasks: dict[bytes, tuple[CanonicalTask, ...]] = {}
    for job, job_steps in steps.items():
        builders: dict[str, _TaskBuilder] = {}
        for action, application in job_steps:
            for name, dataset in sorted(written_by_action.get(action, ())):
                task_name = step_name(rule, family.rows[action].name, application, name)
                builder = builders.setdefault(task_name, _TaskBuilder())
                if action in sql_by_action:
                    builder.statements.append(sql_by_action[action])
                builder.actions.add(action)
                builder.written.add(dataset)
        tasks[job] = _in_execution_order(builders, read_by_action, family)
    return tasks


def _in_execution_order(
    builders: dict[str, _TaskBuilder], read_by_action: Mapping[bytes, AbstractSet[bytes]], family: _JobFamily
) -> tuple[CanonicalTask, ...]:
    """Sort tasks so that each follows the tasks that write what it reads; independent tasks are sorted by name."""
    writers: dict[bytes, set[str]] = {}
    for name, builder in builders.items():
        for dataset in builder.written:
            writers.setdefault(dataset, set()).add(name)
    downstream: dict[str, set[str]] = {name: set() for name in builders}
    waits_for: dict[str, set[str]] = {}
    for name, builder in builders.items():
        inputs = {dataset for action in builder.actions for dataset in read_by_action.get(action, ())}
        waits_for[name] = {writer for dataset in inputs for writer in writers.get(dataset, ())} - {name}
        for writer in waits_for[name]:
            downstream[writer].add(name)
    names_in_order: dict[str, None] = {}
    ready = sorted(name for name in builders if not waits_for[name])  # a sorted list is a heap
    by_name = iter(sorted(builders))
    while len(names_in_order) < len(builders):
        # if the remaining tasks read each other's outputs, the first by name goes first
        name = heappop(ready) if ready else next(by_name)
        if name in names_in_order:
            continue
        names_in_order[name] = None
        for follower in downstream[name]:
            waits_for[follower].discard(name)
            if not waits_for[follower]:
                heappush(ready, follower)
    tasks: list[CanonicalTask] = []
    for name in names_in_order:
        builder = builders[name]
        types = {family.rows[action].integration for action in builder.actions}
        tasks.append(
            CanonicalTask(
                name,
                min(builder.statements, default=None),
                tuple(sorted(downstream[name])),
                min(filter(None, types), default=None),
                frozenset(builder.actions),
            )
        )
    return tuple(tasks)
