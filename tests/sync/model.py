"""What OpenMetadata shall hold, told from the rows of the store by another way than the one that brings it there.

It knows the layout of `synced.py` only: every dataset of `db` is a table of `warehouse.d.s`, every job a pipeline of
`runs`.
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
_TOUCHED = """
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
    """What an edge says."""

    pipeline: str | None
    sql: str | None
    columns: frozenset[tuple[str, frozenset[str]]]


class Picture(NamedTuple):
    """Tables with the names of their columns, pipelines with those of their tasks, and edges."""

    tables: dict[str, frozenset[str]]
    pipelines: dict[str, frozenset[str]]
    edges: dict[tuple[str, str], Edge]


def seen(standin: StandIn) -> Picture:
    """Tell what is there and not deleted; edges count whatever became of their ends."""
    state = standin.state()
    living = {key: entity for key, entity in state["entities"].items() if not entity["deleted"]}
    return Picture(
        {name: _names(entity["columns"]) for (kind, name), entity in living.items() if kind == "table"},
        {name: _names(entity.get("tasks", ())) for (kind, name), entity in living.items() if kind == "pipeline"},
        {pair: _seen_edge(edge) for pair, edge in state["edges"].items()},
    )


def _names(parts: Iterable[dict[str, Any]]) -> frozenset[str]:
    return frozenset(part["name"] for part in parts)


def _seen_edge(edge: dict[str, Any]) -> Edge:
    lines = frozenset((line["toColumn"], frozenset(line["fromColumns"])) for line in edge["columnsLineage"])
    return Edge(edge.get("pipeline", {}).get("fullyQualifiedName"), edge.get("sqlQuery"), lines)


def wanted(store: Store, *, waits: bool, there: Collection[str]) -> Picture:
    """Tell what shall be there; a table that no run has completed stays if it is there, and is not made."""
    return _Rows(store, waits, there).picture()


class _Rows:
    """The rows of a store, and what follows from them."""

    def __init__(self, store: Store, waits: bool, there: Collection[str]) -> None:
        self._store = store
        members = store.rows("SELECT dataset_id, class_id, name FROM ol_dataset")
        names = {dataset: name for dataset, _, name in members}
        self.class_of = {dataset: class_id for dataset, class_id, _ in members}
        self.name_of = {class_id: names[class_id] for class_id in self.class_of.values()}
        touched: dict[bytes, set[str]] = {}
        for class_id, state in store.rows(_TOUCHED):
            touched.setdefault(class_id, set()).add(state)
        self.tables = {
            class_id: _table(name)
            for class_id, name in self.name_of.items()
            if not waits or "COMPLETE" in touched.get(class_id, {"COMPLETE"}) or _table(name) in there
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
        self.above: dict[bytes, set[bytes]] = {job: set() for job in self.jobs}
        self.beneath: dict[bytes, set[bytes]] = {job: set() for job in self.jobs}
        for parent, child in self._store.rows(_EDGES, "PARENT", True):
            self.above[child].add(parent)
            self.beneath[parent].add(child)
        self.alone = {
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
        """An action is a step of what is above it, and so is an application, unless it also runs by itself."""
        consists = self.kinds[job][1] == "APPLICATION" or any(map(self._is_action, self.beneath[job]))
        return not (self.above[job] and (self._is_action(job) or (consists and job not in self.alone)))

    def _steps(self, job: bytes) -> set[bytes]:
        """Find the actions that are shown beneath a job."""
        within = set(self.beneath[job])
        for child in self.beneath[job]:
            if not self._is_action(child):
                within |= self.beneath[child]
        return {action for action in within if self._is_action(action)}

    def picture(self) -> Picture:
        produced: dict[bytes, set[bytes]] = {}
        for job, dataset in self._store.rows(_EDGES, "PRODUCES", True):
            produced.setdefault(job, set()).add(self.name_of[self.class_of[dataset]])
        tasks = {
            name: frozenset(f"write {target}" for step in self._steps(job) for target in produced.get(step, ()))
            for job, name in self.pipelines.items()
        }
        tables = {name: frozenset(self.columns.get(class_id, ())) for class_id, name in self.tables.items()}
        return Picture(tables, tasks, self._edges_between() | self._edges_into_jobs(set(produced)))

    def _edges_between(self) -> dict[tuple[str, str], Edge]:
        said: dict[tuple[bytes, bytes | None], list[EdgeEvidence]] = {}
        for found in EdgeEvidenceReader(self._store.db, "default").into(sorted(self.tables)):
            said.setdefault((found.target, found.source), []).append(found)
        edges: dict[tuple[str, str], Edge] = {}
        for (target, source), words in said.items():
            if source is None:
                named = {
                    self._folded(one) for (into, of), many in said.items() if into == target and of for one in many
                }
                starts = {self._folded(one) for one in words} - named
                edges |= {
                    (self.pipelines[job], self.tables[target]): Edge(None, None, frozenset())
                    for job in starts
                    if job in self.pipelines
                }
            elif source in self.tables:
                edges[self.tables[source], self.tables[target]] = self._edge(source, target, words)
        return edges

    def _folded(self, found: EdgeEvidence) -> bytes | None:
        if found.reporting_job is None or not self._is_action(found.reporting_job):
            return found.reporting_job
        return found.grandparent or found.parent or found.reporting_job

    def _edge(self, source: bytes, target: bytes, words: list[EdgeEvidence]) -> Edge:
        job = min(
            (self._folded(one) is None, _EVIDENCE.index(one.evidence), self._folded(one) or b"") for one in words
        )[2]
        texts = [
            self.sql[one.reporting_job] for one in words if self._folded(one) == job and one.reporting_job in self.sql
        ]
        made: dict[str, set[str]] = {}
        for hop in ColumnLineageWalker(self._store.db, "default").between([(source, target)]):
            if hop.source[1] in self.columns.get(source, ()) and hop.target[1] in self.columns.get(target, ()):
                into = f"{self.tables[target]}.{hop.target[1]}"
                made.setdefault(into, set()).add(f"{self.tables[source]}.{hop.source[1]}")
        columns = frozenset((into, frozenset(of)) for into, of in made.items())
        return Edge(self.pipelines.get(job), min(texts, default=None), columns)

    def _edges_into_jobs(self, writing: set[bytes]) -> dict[tuple[str, str], Edge]:
        """A job that reads and is not known to write is an end itself."""
        writing = writing | {job for (job,) in self._store.rows("SELECT job_id FROM column_head")}
        edges = {}
        for dataset, job in self._store.rows(_EDGES, "CONSUMES", False):
            if job in writing or self.class_of[dataset] not in self.tables:
                continue
            for shown in self._shown_under(job) & self.pipelines.keys():
                pair = self.tables[self.class_of[dataset]], self.pipelines[shown]
                edges[pair] = Edge(None, None, frozenset())
        return edges

    def _shown_under(self, job: bytes) -> set[bytes]:
        if not self._is_action(job) or not self.above[job]:
            return {job}
        return set().union(*(self.above[parent] or {parent} for parent in self.above[job]))


def _table(name: str) -> str:
    return f"warehouse.d.s.{name}"


def _pipeline(name: str) -> str:
    return f'runs."{name}"' if "." in name else f"runs.{name}"
