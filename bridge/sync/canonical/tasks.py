"""Reads the tasks of logical jobs: Spark actions of an application, or jobs in a box of a scheduler."""

from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from heapq import heappop, heappush
from typing import Any, NamedTuple

from bridge.store.database import Database
from bridge.store.governance_facets import read_facet_bodies, read_facet_texts
from bridge.store.lineage.evidence import IS_CURRENT_SQL
from mappers.logical_job import FoldingRule, is_action, is_scheduled, step_name

_JOBS = """
SELECT j.job_id, n.namespace_uri, j.name, j.integration, j.job_type, j.description FROM ol_job j
JOIN ol_namespace n ON n.org_id = j.org_id AND n.namespace_id = j.namespace_id
WHERE j.org_id = ?1 AND j.job_id {ids}
"""
_CHILDREN = """
SELECT source_id, target_id FROM lineage_edge WHERE org_id = ?1 AND source_id {ids} AND edge_role = 'PARENT'
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
_AWAITED_JOBS = f"""
SELECT e.target_id, e.source_id FROM lineage_edge e
JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id
WHERE e.org_id = ?1 AND e.target_id {{ids}} AND e.edge_role = 'DEPENDS' AND {IS_CURRENT_SQL}
"""
#: Facet with the definition of a job of Autosys.
AUTOSYS = "lineageBridge_autosys"
_BOX = "BOX"


class CanonicalTask(NamedTuple):
    """A task of a job, and the tasks that run after it."""

    name: str
    sql: str | None
    downstream: tuple[str, ...] = ()
    #: Integration that reported it, for example SPARK, or the type of the job in a box.
    type: str | None = None
    description: str | None = None
    #: Spark actions shown as this task.
    actions: frozenset[bytes] = frozenset()


class JobRow(NamedTuple):
    """Attributes of a job."""

    namespace: str
    name: str
    integration: str | None
    job_type: str | None
    description: str | None

    @property
    def is_action(self) -> bool:
        return is_action(self.integration, self.job_type)

    @property
    def is_scheduled(self) -> bool:
        """True if a scheduler defines the job."""
        return is_scheduled(self.integration)

    @property
    def is_box(self) -> bool:
        """True if a scheduler starts other jobs as parts of this job."""
        return self.is_scheduled and (self.job_type or "").upper() == _BOX


class JobFamily(NamedTuple):
    """Jobs, their children and their grandchildren."""

    rows: dict[bytes, JobRow]
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


def read_family(db: Database, org: str, ids: Collection[bytes]) -> JobFamily:
    children = read_links(db, org, _CHILDREN, ids)
    child_ids = set().union(*children.values())
    children |= read_links(db, org, _CHILDREN, child_ids - children.keys())
    all_ids = {*ids, *child_ids}.union(*children.values())
    return JobFamily({job: JobRow(*row) for job, *row in db.fetch_for_ids(_JOBS, sorted(all_ids), org)}, children)


def read_links(db: Database, org: str, sql: str, ids: Collection[bytes]) -> dict[bytes, set[bytes]]:
    """Return the jobs or datasets to which a query links each id."""
    linked: dict[bytes, set[bytes]] = {}
    for from_id, to_id in db.fetch_for_ids(sql, sorted(ids), org):
        linked.setdefault(from_id, set()).add(to_id)
    return linked


def read_tasks(
    db: Database, org: str, rule: FoldingRule, family: JobFamily, jobs: Collection[bytes]
) -> dict[bytes, tuple[CanonicalTask, ...]]:
    """Return the tasks of each job in execution order."""
    boxes = [job for job in jobs if family.rows[job].is_box]
    others = [job for job in jobs if not family.rows[job].is_box]
    return _read_action_tasks(db, org, rule, family, others) | _read_box_tasks(db, org, family, boxes)


class _TaskBuilder:
    """Collects the actions that are shown as one task."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.actions: set[bytes] = set()
        self.written: set[bytes] = set()


def _read_action_tasks(
    db: Database, org: str, rule: FoldingRule, family: JobFamily, jobs: Collection[bytes]
) -> dict[bytes, tuple[CanonicalTask, ...]]:
    """Build tasks: each is named after the dataset it writes, and has its alphabetically first SQL statement."""
    steps = {job: list(family.steps(job, rule)) for job in jobs}
    actions = sorted({action for job_steps in steps.values() for action, _ in job_steps})
    written_by_action: dict[bytes, set[tuple[str, bytes]]] = {}
    for action, dataset, name in db.fetch_for_ids(_WRITTEN_DATASETS, actions, org):
        written_by_action.setdefault(action, set()).add((name, dataset))
    read_by_action = read_links(db, org, _READ_DATASETS, actions)
    sql_by_action = read_facet_texts(db, org, actions, "sql", "query")
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
        tasks[job] = _build_action_tasks(builders, read_by_action, family)
    return tasks


def _build_action_tasks(
    builders: dict[str, _TaskBuilder], read_by_action: Mapping[bytes, AbstractSet[bytes]], family: JobFamily
) -> tuple[CanonicalTask, ...]:
    """Build tasks so that each follows the tasks that write what it reads."""
    writers: dict[bytes, set[str]] = {}
    for name, builder in builders.items():
        for dataset in builder.written:
            writers.setdefault(dataset, set()).add(name)
    upstream: dict[str, set[str]] = {}
    for name, builder in builders.items():
        inputs = {dataset for action in builder.actions for dataset in read_by_action.get(action, ())}
        upstream[name] = {writer for dataset in inputs for writer in writers.get(dataset, ())} - {name}

    tasks: list[CanonicalTask] = []
    for name, downstream in _in_execution_order(upstream):
        builder = builders[name]
        types = {family.rows[action].integration for action in builder.actions}
        tasks.append(
            CanonicalTask(
                name,
                min(builder.statements, default=None),
                downstream,
                min(filter(None, types), default=None),
                actions=frozenset(builder.actions),
            )
        )
    return tuple(tasks)


def _read_box_tasks(
    db: Database, org: str, family: JobFamily, boxes: Collection[bytes]
) -> dict[bytes, tuple[CanonicalTask, ...]]:
    """Build one task for each job in a box; each follows the jobs that its start condition names."""
    children = {child for box in boxes for child in family.children.get(box, ())}
    definitions = read_facet_bodies(db, org, children, AUTOSYS)
    awaited_jobs = read_links(db, org, _AWAITED_JOBS, children)
    tasks: dict[bytes, tuple[CanonicalTask, ...]] = {}
    for box in boxes:
        names = {
            child: family.rows[child].name
            for child in family.children.get(box, ())
            if _is_in_box(family.rows[box].name, definitions.get(child))
        }
        upstream = {
            name: {names[awaited] for awaited in awaited_jobs.get(job, ()) if awaited in names} - {name}
            for job, name in names.items()
        }
        rows = {name: family.rows[job] for job, name in names.items()}
        tasks[box] = tuple(
            CanonicalTask(name, None, downstream, rows[name].job_type, rows[name].description)
            for name, downstream in _in_execution_order(upstream)
        )
    return tasks


def _is_in_box(box: str, definition: Mapping[str, Any] | None) -> bool:
    """Return whether a box still contains a job; the definition of a job names only its current boxes."""
    if definition is None:
        return True
    *_, innermost_box, _ = ["", *str(definition.get("processKey", "")).split("/")]
    return innermost_box == box


def _in_execution_order(upstream: Mapping[str, AbstractSet[str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield tasks with their downstream tasks, each after its upstream tasks; independent ones are sorted by name."""
    downstream: dict[str, set[str]] = {name: set() for name in upstream}
    for name, upstream_names in upstream.items():
        for upstream_name in upstream_names:
            downstream[upstream_name].add(name)
    waits_for = {name: set(upstream_names) for name, upstream_names in upstream.items()}
    done: set[str] = set()
    ready = sorted(name for name in upstream if not upstream[name])  # a sorted list is a heap
    by_name = iter(sorted(upstream))
    while len(done) < len(upstream):
        # if the remaining tasks wait for each other, the first by name goes first
        name = heappop(ready) if ready else next(by_name)
        if name in done:
            continue
        done.add(name)
        yield name, tuple(sorted(downstream[name]))
        for follower in downstream[name]:
            waits_for[follower].discard(name)
            if not waits_for[follower]:
                heappush(ready, follower)
