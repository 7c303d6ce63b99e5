"""Expected state of OpenMetadata, computed from the store independently of the product code.

Supports only the layout of `openmetadata_harness.py`: datasets of `db` are tables of `warehouse.d.s`, jobs are pipelines
of `runs`.
"""

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import msgspec

from bridge.store.lineage.column_walk import ColumnLineageWalker
from bridge.store.lineage.evidence import EdgeEvidence, EdgeEvidenceReader
from mappers.canonical.identity import NO_ID
from tests.standins.openmetadata import OpenMetadata as StandIn
from tests.stores import Store

_EVIDENCE = ("explicit", "column", "declared", "inferred")
_RUN_STATES = """
SELECT DISTINCT d.class_id, r.event_type FROM ol_dataset d
JOIN (SELECT org_id, dataset_id, run_id FROM ol_run_input UNION SELECT org_id, dataset_id, run_id FROM ol_run_output) x
  ON x.org_id = d.org_id AND x.dataset_id = d.dataset_id
JOIN ol_run r ON r.org_id = x.org_id AND r.run_id = x.run_id
"""
_EDGES = """
SELECT e.source_id, e.target_id FROM lineage_edge e LEFT JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id
WHERE e.edge_role = ? AND (e.evidence <> 'declared' OR ?
  OR e.declared_io = j.declared_io OR e.declared_lineage = j.declared_lineage)
"""


class Edge(NamedTuple):
    """Content of an edge."""

    pipeline: str | None
    sql: str | None
    columns: frozenset[tuple[str, frozenset[str]]]


class State(NamedTuple):
    """Tables with the names of their columns, pipelines with those of their tasks, and edges."""

    tables: dict[str, frozenset[str]]
    pipelines: dict[str, frozenset[str]]
    edges: dict[tuple[str, str], Edge]


def actual_state(standin: StandIn) -> State:
    """Read the entities that are not deleted, and all edges, even those of deleted entities."""
    state = standin.state()
    living = {key: entity for key, entity in state["entities"].items() if not entity["deleted"]}
    return State(
        {name: _names(entity["columns"]) for (kind, name), entity in living.items() if kind == "table"},
        {name: _names(entity.get("tasks", ())) for (kind, name), entity in living.items() if kind == "pipeline"},
        {pair: _read_edge(edge) for pair, edge in state["edges"].items()},
    )


def _names(parts: Iterable[dict[str, Any]]) -> frozenset[str]:
    return frozenset(part["name"] for part in parts)


def _read_edge(edge: dict[str, Any]) -> Edge:
    lines = frozenset((line["toColumn"], frozenset(line["fromColumns"])) for line in edge["columnsLineage"])
    return Edge(edge.get("pipeline", {}).get("fullyQualifiedName"), edge.get("sqlQuery"), lines)


def expected_state(store: Store, *, register_on_completion: bool, existing_tables: Collection[str]) -> State:
    """Compute the entities and edges that the store requires.

    Tables without a complete run are expected only if they already exist.
    """
    return _StoreRows(store, register_on_completion, existing_tables).state()


def expected_descriptions(store: Store, *, existing_tables: Collection[str]) -> dict[str, str | None]:
    """Compute the generated descriptions of datasets that no event describes, with at most three names each."""
    return _StoreRows(store, True, existing_tables).descriptions()


class _StoreRows:
    """Rows of a store, and the state derived from them."""

    def __init__(self, store: Store, register_on_completion: bool, existing_tables: Collection[str]) -> None:
        self._store = store
        members = store.rows("SELECT dataset_id, class_id, name FROM ol_dataset")
        names = {dataset: name for dataset, _, name in members}
        self.class_of = {dataset: class_id for dataset, class_id, _ in members}
        self.name_of = {class_id: names[class_id] for class_id in self.class_of.values()}
        states: dict[bytes, set[str]] = {}
        for class_id, state in store.rows(_RUN_STATES):
            states.setdefault(class_id, set()).add(state)
        self.tables = {
            class_id: _table(name)
            for class_id, name in self.name_of.items()
            if not register_on_completion
            or "COMPLETE" in states.get(class_id, {"COMPLETE"})
            or _table(name) in existing_tables
        }
        self.columns: dict[bytes, set[str]] = {}
        for class_id, column in store.rows("SELECT class_id, name FROM class_field"):
            self.columns.setdefault(class_id, set()).add(column)
        self._read_jobs()

    def _read_jobs(self) -> None:
        self.jobs = {}
        self.kinds = {}
        for job, name, integration, kind in self._store.rows(
            "SELECT job_id, name, integration, job_type FROM ol_job"
        ):
            self.jobs[job] = name
            self.kinds[job] = (integration, kind)
        self.parents: dict[bytes, set[bytes]] = {job: set() for job in self.jobs}
        self.children: dict[bytes, set[bytes]] = {job: set() for job in self.jobs}
        for parent, child in self._store.rows(_EDGES, "PARENT", True):
            self.parents[child].add(parent)
            self.children[parent].add(child)
        self.root_jobs = {
            job
            for (job,) in self._store.rows(
                "SELECT job_id FROM ol_run WHERE parent_run_id IS NULL AND least_claimant IS NOT NULL"
            )
        }
        self.pipelines = {job: _pipeline(name) for job, name in self.jobs.items() if self._is_shown(job)}
        self.sql = {
            job: msgspec.json.decode(body)["query"]
            for job, body in self._store.rows(
                "SELECT owner_id, body FROM facet WHERE about_id = ? AND name = 'sql' AND body IS NOT NULL", NO_ID
            )
            if job in self.jobs
        }

    def _is_action(self, job: bytes) -> bool:
        return self.kinds[job] == ("SPARK", "SQL_JOB")

    def _is_shown(self, job: bytes) -> bool:
        """Actions are tasks of their parent; so are applications, unless they also ran without a parent."""
        is_container = self.kinds[job][1] == "APPLICATION" or any(map(self._is_action, self.children[job]))
        return not (self.parents[job] and (self._is_action(job) or (is_container and job not in self.root_jobs)))

    def _steps(self, job: bytes) -> set[bytes]:
        """Find the actions that appear as tasks of a job."""
        steps = set(self.children[job])
        for child in self.children[job]:
            if not self._is_action(child):
                steps |= self.children[child]
        return {action for action in steps if self._is_action(action)}

    def state(self) -> State:
        produced: dict[bytes, set[bytes]] = {}
        for job, dataset in self._store.rows(_EDGES, "PRODUCES", True):
            produced.setdefault(job, set()).add(self.name_of[self.class_of[dataset]])
        tasks = {
            name: frozenset(f"write {target}" for step in self._steps(job) for target in produced.get(step, ()))
            for job, name in self.pipelines.items()
        }
        tables = {name: frozenset(self.columns.get(class_id, ())) for class_id, name in self.tables.items()}
        return State(tables, tasks, self._edges_between() | self._edges_into_jobs(set(produced)))

    def descriptions(self) -> dict[str, str | None]:
        evidence = list(EdgeEvidenceReader(self._store.db, "default").into(sorted(self.tables)))
        descriptions: dict[str, str | None] = {}
        for target, name in self.tables.items():
            jobs = {self._logical_job(item) for item in evidence if item.target == target}
            writers = sorted(self.jobs[job] for job in jobs if job)
            sources = sorted(
                self.name_of[item.source]
                for item in evidence
                if item.target == target and item.source not in (None, target)
            )
            text = "Written by " + " and ".join(dict.fromkeys(writers))
            origin = " from " + " and ".join(dict.fromkeys(sources)) if sources else ""
            descriptions[name] = text + origin if writers else None
        return descriptions

    def _edges_between(self) -> dict[tuple[str, str], Edge]:
        evidence_by_pair: dict[tuple[bytes, bytes | None], list[EdgeEvidence]] = {}
        for item in EdgeEvidenceReader(self._store.db, "default").into(sorted(self.tables)):
            evidence_by_pair.setdefault((item.target, item.source), []).append(item)
        edges: dict[tuple[str, str], Edge] = {}
        for (target, source), evidence in evidence_by_pair.items():
            if source is None:
                jobs_with_source = {
                    self._logical_job(item)
                    for (other_target, other_source), items in evidence_by_pair.items()
                    if other_target == target and other_source
                    for item in items
                }
                source_jobs = {self._logical_job(item) for item in evidence} - jobs_with_source
                edges |= {
                    (self.pipelines[job], self.tables[target]): Edge(None, None, frozenset())
                    for job in source_jobs
                    if job in self.pipelines
                }
            elif source in self.tables:
                edges[self.tables[source], self.tables[target]] = self._edge(source, target, evidence)
        return edges

    def _logical_job(self, evidence: EdgeEvidence) -> bytes | None:
        if evidence.reporting_job is None or not self._is_action(evidence.reporting_job):
            return evidence.reporting_job
        return evidence.grandparent or evidence.parent or evidence.reporting_job

    def _edge(self, source: bytes, target: bytes, evidence: list[EdgeEvidence]) -> Edge:
        job = min(
            (self._logical_job(item) is None, _EVIDENCE.index(item.evidence), self._logical_job(item) or b"")
            for item in evidence
        )[2]
        queries = [
            self.sql[item.reporting_job]
            for item in evidence
            if self._logical_job(item) == job and item.reporting_job in self.sql
        ]
        source_columns: dict[str, set[str]] = {}
        for hop in ColumnLineageWalker(self._store.db, "default").hops_between([(source, target)], limit=100_000):
            if hop.source[1] in self.columns.get(source, ()) and hop.target[1] in self.columns.get(target, ()):
                target_column = f"{self.tables[target]}.{hop.target[1]}"
                source_columns.setdefault(target_column, set()).add(f"{self.tables[source]}.{hop.source[1]}")
        columns = frozenset((column, frozenset(sources)) for column, sources in source_columns.items())
        return Edge(self.pipelines.get(job), min(queries, default=None), columns)

    def _edges_into_jobs(self, writing_jobs: set[bytes]) -> dict[tuple[str, str], Edge]:
        """A job that reads, but is not known to write, is the target of edges from datasets that lead nowhere else."""
        writing_jobs = writing_jobs | {job for (job,) in self._store.rows("SELECT job_id FROM column_head")}
        all_evidence = EdgeEvidenceReader(self._store.db, "default").into(sorted(self.name_of))
        derived_through = {(item.source, self._logical_job(item)) for item in all_evidence}
        edges = {}
        for dataset, job in self._store.rows(_EDGES, "CONSUMES", False):
            if job in writing_jobs or self.class_of[dataset] not in self.tables:
                continue
            for shown_job in self._shown_jobs(job) & self.pipelines.keys():
                if (self.class_of[dataset], shown_job) in derived_through:
                    continue
                pair = self.tables[self.class_of[dataset]], self.pipelines[shown_job]
                edges[pair] = Edge(None, None, frozenset())
        return edges

    def _shown_jobs(self, job: bytes) -> set[bytes]:
        if not self._is_action(job) or not self.parents[job]:
            return {job}
        return set().union(*(self.parents[parent] or {parent} for parent in self.parents[job]))


def _table(name: str) -> str:
    return f"warehouse.d.s.{name}"


def _pipeline(name: str) -> str:
    return f'runs."{name}"' if "." in name else f"runs.{name}"
