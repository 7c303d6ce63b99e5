"""The lineage graph as people see it, computed from the merged tables when it is read.

Datasets are classes of names, jobs are folded to one granularity, and of what several assert the strongest evidence
counts. Many datasets are looked up at once: a walk costs a few queries a level, not a few a dataset.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple, get_args

from bridge.store.database import Database
from bridge.store.edges import EVER, Edges, Evidence, Found
from bridge.store.retirement import Retirement
from mappers.folding import FoldingRule, Granularity, Lineage, folded_job, is_action, step_name
from mappers.openlineage.statements import name_dataset

_EVIDENCE = get_args(Evidence)

_NAMESPACES = """
SELECT namespace_uri FROM ol_namespace WHERE org_id = ?1 AND substr(?2, 1, length(namespace_uri)) = namespace_uri
ORDER BY length(namespace_uri) DESC
"""
_CLASSES = "SELECT dataset_id, class_id FROM ol_dataset WHERE org_id = ?1 AND dataset_id {among}"
_NAMES = """
SELECT x.{id}, n.namespace_uri, x.name FROM {table} x
JOIN ol_namespace n ON n.org_id = x.org_id AND n.namespace_id = x.namespace_id
WHERE x.org_id = ?1 AND x.{id} {{among}}
"""
_DATASET_NAMES = _NAMES.format(table="ol_dataset", id="dataset_id")
_JOB_NAMES = _NAMES.format(table="ol_job", id="job_id")


class Edge(NamedTuple):
    """Data went from source to target in a job; source and job are None where nobody knows them."""

    source: bytes | None
    target: bytes
    job: bytes | None
    step: str
    evidence: Evidence
    run_uuid: str | None = None
    #: Whether it is gone: its job ran often since, and showed it no more.
    retired: bool = False


class Named(NamedTuple):
    """How a dataset or job is called."""

    namespace: str
    name: str


class Graph:
    """Answers where data comes from and where it goes, at one granularity, as it was known at a time."""

    def __init__(
        self,
        db: Database,
        org: str,
        granularity: Granularity = "job",
        rule: FoldingRule = FoldingRule(),  # noqa: B008 - an immutable tuple
        until: int = EVER,
        *,
        retired: bool = False,
    ) -> None:
        self._db = db
        self._org = org
        self._granularity = granularity
        self._rule = rule
        self._retirement = Retirement(db, org, rule, until)
        self._retired = retired
        self._edges = Edges(db, org, by_run=granularity == "run", until=until)
        self._names: dict[bytes, Named] = {}

    def find(self, namespace: str, name: str) -> bytes | None:
        """Find the class of a dataset by any of its names."""
        return self.class_of(name_dataset(self._org, namespace, name).id)

    def class_of(self, dataset: bytes) -> bytes | None:
        """Find the class of a dataset by the id of any of its members."""
        rows = self._db.among(_CLASSES, [dataset], self._org)
        return rows[0][1] if rows else None

    def find_whole(self, text: str) -> bytes | None:
        """Find a dataset by namespace and name in one text, split at the longest namespace that is known."""
        for (namespace,) in self._db.rows(_NAMESPACES, self._org, text):
            rest = text[len(namespace) :]
            for name in (rest, rest[1:]):  # with what stands between the two, or without
                if name and (found := self.find(namespace, name)):
                    return found
        return self.find("file", text) if text.startswith("/") else None

    def dataset(self, dataset: bytes) -> Named:
        """Name a dataset."""
        return self.datasets([dataset])[dataset]

    def datasets(self, datasets: Iterable[bytes]) -> dict[bytes, Named]:
        """Name datasets: many at once cost no more than one."""
        return self._named(_DATASET_NAMES, datasets)

    def job(self, job: bytes) -> Named:
        """Name a job."""
        return self.jobs([job])[job]

    def jobs(self, jobs: Iterable[bytes]) -> dict[bytes, Named]:
        """Name jobs: many at once cost no more than one."""
        return self._named(_JOB_NAMES, jobs)

    def upstream(self, datasets: Collection[bytes]) -> set[Edge]:
        """Find every edge into datasets, given by their classes; the strongest evidence of each."""
        return self._folded(list(self._edges.into(datasets)))

    def downstream(self, datasets: Collection[bytes]) -> set[Edge]:
        """Find every edge out of datasets, given by their classes."""
        return self._folded(list(self._edges.out_of(datasets)))

    def _folded(self, found: list[Found]) -> set[Edge]:
        """Fold what stands, and, where it is asked for, what is gone and not asserted by anything that stands."""
        self._learn(found)
        standing = found if self._granularity == "run" else self._retirement.standing(found)
        best = self._best(standing)
        if self._retired and len(standing) < len(found):
            best = {key: edge._replace(retired=True) for key, edge in self._best(found).items()} | best
        return _without_redundant_unknowns(set(best.values()))

    def _best(self, found: list[Found]) -> dict[tuple[object, ...], Edge]:
        """Keep the strongest evidence of each edge."""
        best: dict[tuple[object, ...], Edge] = {}
        for one in found:
            edge = self._fold(one)
            key = (edge.source, edge.target, edge.job, edge.step, edge.run_uuid)
            known = best.get(key)
            if known is None or _EVIDENCE.index(edge.evidence) < _EVIDENCE.index(known.evidence):
                best[key] = edge
        return best

    def _learn(self, found: list[Found]) -> None:
        """Look up at once the names by which steps are called."""
        if self._granularity in ("run", "step"):
            steps = [one for one in found if is_action(one.integration, one.job_type)]
            self.datasets({one.target for one in steps})
            self.jobs({job for one in steps for job in (one.leaf, one.parent) if job})

    def _named(self, sql: str, ids: Iterable[bytes]) -> dict[bytes, Named]:
        wanted = set(ids) - self._names.keys()
        for id_, namespace, name in self._db.among(sql, sorted(wanted), self._org):
            self._names[id_] = Named(namespace, name)
        return self._names

    def _fold(self, found: Found) -> Edge:
        source, target = found.source, found.target
        if found.leaf is None:
            return Edge(source, target, None, "", found.evidence)
        action = is_action(found.integration, found.job_type)
        above = Lineage(found.leaf, action, found.parent, found.grandparent, found.root)
        step = ""
        if action and self._granularity in ("run", "step"):
            parent = self._names[found.parent].name if found.parent else None
            step = step_name(self._rule, self._names[found.leaf].name, parent, self._names[target].name)
        job = folded_job(above, self._granularity, self._rule)
        return Edge(source, target, job, step, found.evidence, found.run_uuid)


def _without_redundant_unknowns(edges: set[Edge]) -> set[Edge]:
    """Drop the producers of unknown sources that also have an edge into the same dataset which names one."""
    named = {(edge.target, edge.job, edge.step, edge.run_uuid) for edge in edges if edge.source is not None}
    return {e for e in edges if e.source is not None or (e.target, e.job, e.step, e.run_uuid) not in named}
