"""The lineage graph, computed from the merged tables when it is read.

Every edge into a dataset is found run by run: a run with explicit entries shows only those, any other run
shows what its column lineage names and, weaker, all of its inputs. Downstream edges are the same edges,
found from the other end.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from bridge.store.database import Database
from mappers.canonical.identity import NOBODY, split_ids
from mappers.folding import FoldingRule, Granularity, Lineage, folded_job, is_action, step_name
from mappers.openlineage.statements import name_dataset

_EVIDENCE = ("explicit", "column", "declared", "inferred")

_ABOVE = """
  r.run_uuid, r.parent_job_id, p.parent_job_id AS grandparent_job_id, r.root_job_id
"""
_ABOVE_JOIN = "LEFT JOIN ol_run p ON p.org_id = r.org_id AND p.run_id = r.parent_run_id"
_INFERRED = f"""
SELECT DISTINCT i.dataset_id AS source_id, o.job_id, {_ABOVE}
FROM shown_output o
JOIN ol_run r ON r.org_id = o.org_id AND r.run_id = o.run_id {_ABOVE_JOIN}
LEFT JOIN shown_input i ON i.org_id = o.org_id AND i.run_id = o.run_id AND i.job_id = o.job_id
WHERE o.org_id = ?1 AND o.dataset_id = ?2 AND o.dropped_at IS NULL AND NOT r.explicit
"""
_COLUMNS = f"""
SELECT DISTINCT l.columns_set, l.job_id, {_ABOVE}
FROM run_lineage l
JOIN ol_run r ON r.org_id = l.org_id AND r.run_id = l.run_id {_ABOVE_JOIN}
WHERE l.org_id = ?1 AND l.target_id = ?2 AND NOT l.explicit AND NOT r.explicit AND l.columns_set IS NOT NULL
"""
_EXPLICIT = f"""
SELECT DISTINCT e.source_id, l.job_id, {_ABOVE}
FROM lineage_edge e
JOIN run_lineage l ON l.org_id = e.org_id AND l.job_id = e.job_id AND l.target_id = e.target_id AND l.explicit
JOIN ol_run r ON r.org_id = l.org_id AND r.run_id = l.run_id {_ABOVE_JOIN}
WHERE e.org_id = ?1 AND e.target_id = ?2 AND e.edge_role = 'DERIVES' AND e.evidence = 'explicit'
  AND e.source_type = 'dataset'
"""
_DECLARED = """
SELECT e.source_id, e.job_id FROM lineage_edge e
LEFT JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id
LEFT JOIN ol_dataset t ON t.org_id = e.org_id AND t.dataset_id = e.target_id AND e.job_id = ?3
WHERE e.org_id = ?1 AND e.target_id = ?2 AND e.edge_role = 'DERIVES' AND e.evidence = 'declared'
  AND (e.declared_io = j.declared_io OR e.declared_lineage = coalesce(j.declared_lineage, t.declared_lineage))
UNION
SELECT i.source_id, o.job_id FROM lineage_edge o
JOIN ol_job j ON j.org_id = o.org_id AND j.job_id = o.job_id AND j.declared_lineage IS NULL
LEFT JOIN lineage_edge i ON i.org_id = o.org_id AND i.target_id = o.job_id AND i.edge_role = 'CONSUMES'
  AND i.evidence = 'declared' AND i.declared_io = j.declared_io
WHERE o.org_id = ?1 AND o.target_id = ?2 AND o.edge_role = 'PRODUCES' AND o.evidence = 'declared'
  AND o.declared_io = j.declared_io
"""
_RENAMED = "SELECT source_id FROM dataset_succession WHERE org_id = ?1 AND target_id = ?2"
_TARGETS = """
SELECT o.dataset_id FROM ol_run_input i
JOIN ol_run_output o ON o.org_id = i.org_id AND o.run_id = i.run_id AND o.job_id = i.job_id
WHERE i.org_id = ?1 AND i.dataset_id = ?2
UNION SELECT target_id FROM lineage_edge
WHERE org_id = ?1 AND source_id = ?2 AND edge_role = 'DERIVES' AND target_type = 'dataset'
UNION SELECT o.target_id FROM lineage_edge i
JOIN lineage_edge o ON o.org_id = i.org_id AND o.source_id = i.target_id AND o.edge_role = 'PRODUCES'
WHERE i.org_id = ?1 AND i.source_id = ?2 AND i.edge_role = 'CONSUMES' AND i.evidence = 'declared'
UNION SELECT target_id FROM dataset_succession WHERE org_id = ?1 AND source_id = ?2
"""
_SOURCES_OF = "SELECT lineage_id, source_id FROM column_lineage WHERE org_id = ?1 AND target_id = ?2"
_SET = "SELECT members FROM lineage_set WHERE org_id = ?1 AND set_id = ?2"
_CLASS = "SELECT class_id FROM ol_dataset WHERE org_id = ?1 AND dataset_id = ?2"
_MEMBERS = "SELECT dataset_id FROM ol_dataset WHERE org_id = ?1 AND class_id = ?2"
_JOB_TYPE = "SELECT integration, job_type FROM ol_job WHERE org_id = ?1 AND job_id = ?2"
_NAME = """
SELECT n.namespace_uri, x.name FROM {table} x
JOIN ol_namespace n ON n.org_id = x.org_id AND n.namespace_id = x.namespace_id
WHERE x.org_id = ?1 AND x.{id} = ?2
"""


class Edge(NamedTuple):
    """Data went from source to target in a job; source and job are None where nobody knows them."""

    source: bytes | None
    target: bytes
    job: bytes | None
    step: str
    evidence: str
    run_uuid: str | None = None


class Named(NamedTuple):
    """How a dataset or job is called."""

    namespace: str
    name: str


class _Found(NamedTuple):
    source: bytes | None
    leaf: bytes
    above: Lineage
    evidence: str
    run_uuid: str | None


class Graph:
    """Answers where data comes from and where it goes, at one granularity."""

    def __init__(
        self,
        db: Database,
        org: str,
        granularity: Granularity = "job",
        rule: FoldingRule = FoldingRule(),  # noqa: B008 - an immutable tuple
    ) -> None:
        self._db = db
        self._org = org
        self._granularity = granularity
        self._rule = rule

    def find(self, namespace: str, name: str) -> bytes | None:
        """Find the class of a dataset by any of its names."""
        rows = self._db.rows(_CLASS, self._org, name_dataset(self._org, namespace, name).id)
        return rows[0][0] if rows else None

    def dataset(self, dataset: bytes) -> Named:
        """Name a dataset."""
        return Named(*self._db.rows(_NAME.format(table="ol_dataset", id="dataset_id"), self._org, dataset)[0])

    def job(self, job: bytes) -> Named:
        """Name a job."""
        return Named(*self._db.rows(_NAME.format(table="ol_job", id="job_id"), self._org, job)[0])

    def upstream(self, dataset: bytes) -> set[Edge]:
        """Find every edge into a dataset, given by its class; the strongest evidence of each."""
        best: dict[Edge, Edge] = {}
        for member in self._members(dataset):
            for found in self._into(member):
                edge = self._fold(found, dataset)
                key = edge._replace(evidence="")
                known = best.get(key)
                if known is None or _EVIDENCE.index(edge.evidence) < _EVIDENCE.index(known.evidence):
                    best[key] = edge
        return _without_redundant_unknowns(set(best.values()))

    def downstream(self, dataset: bytes) -> set[Edge]:
        """Find every edge out of a dataset, given by its class."""
        targets = {
            self._class_of(target)
            for member in self._members(dataset)
            for (target,) in self._db.rows(_TARGETS, self._org, member)
        }
        return {edge for target in targets for edge in self.upstream(target) if edge.source == dataset}

    def _fold(self, found: _Found, target: bytes) -> Edge:
        job = None
        step = ""
        if found.leaf != NOBODY:
            job = folded_job(found.above, self._granularity, self._rule)
            if found.above.is_action and self._granularity in ("run", "step"):
                parent = found.above.parent
                step = step_name(
                    self._rule, self.job(found.leaf).name, self.job(parent).name if parent else None,
                    self.dataset(target).name,
                )  # fmt: skip
        run = found.run_uuid if self._granularity == "run" else None
        source = self._class_of(found.source) if found.source else None
        return Edge(source, target, job, step, found.evidence, run)

    def _into(self, member: bytes) -> Iterator[_Found]:
        bound = (self._org, member)
        for source, *who in self._db.rows(_INFERRED, *bound):
            yield self._found(source, who, "inferred")
        source_of = dict(self._db.rows(_SOURCES_OF, *bound))
        for columns_set, *who in self._db.rows(_COLUMNS, *bound):
            for source in {source_of[line] for line in self._lines(columns_set)}:
                yield self._found(source, who, "column")
        for source, *who in self._db.rows(_EXPLICIT, *bound):
            yield self._found(source, who, "explicit")
        for source, job in self._db.rows(_DECLARED, *bound, NOBODY):
            yield _Found(source, job, Lineage(job, False), "declared", None)
        for (source,) in self._db.rows(_RENAMED, *bound):
            yield _Found(source, NOBODY, Lineage(NOBODY, False), "explicit", None)

    def _found(self, source: bytes | None, who: list[Any], evidence: str) -> _Found:
        leaf, run_uuid, parent, grandparent, root = who
        return _Found(
            source, leaf, Lineage(leaf, self._is_action(leaf), parent, grandparent, root), evidence, run_uuid
        )

    def _is_action(self, job: bytes) -> bool:
        rows = self._db.rows(_JOB_TYPE, self._org, job)
        return bool(rows) and is_action(*rows[0])

    def _lines(self, set_id: bytes) -> list[bytes]:
        ((members,),) = self._db.rows(_SET, self._org, set_id)
        return split_ids(members)

    def _members(self, dataset: bytes) -> list[bytes]:
        return [member for (member,) in self._db.rows(_MEMBERS, self._org, dataset)]

    def _class_of(self, member: bytes) -> bytes:
        ((class_id,),) = self._db.rows(_CLASS, self._org, member)
        return bytes(class_id)


def _without_redundant_unknowns(edges: set[Edge]) -> set[Edge]:
    """Drop the producers of unknown sources that also have an edge which names one."""
    named = {(edge.job, edge.step, edge.run_uuid) for edge in edges if edge.source is not None}
    return {e for e in edges if e.source is not None or (e.job, e.step, e.run_uuid) not in named}
