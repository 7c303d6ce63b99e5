"""Lineage graph at one granularity, folded from edge evidence when it is read."""

from collections.abc import Collection, Iterable
from typing import NamedTuple, get_args

from bridge.store.database import Database
from bridge.store.identity_groups import group_ids
from bridge.store.lineage.evidence import NO_TIME_LIMIT, EdgeEvidence, EdgeEvidenceReader, EvidenceKind
from bridge.store.lineage.retirement import RetirementPolicy
from bridge.store.symlink_graph import dataset_names
from mappers.logical_job import FoldingRule, Granularity, JobAncestry, is_action, logical_job, step_name
from mappers.openlineage.names import canonical_dataset_name

_EVIDENCE = get_args(EvidenceKind)

_NAMESPACES = """
SELECT namespace_uri FROM ol_namespace WHERE org_id = ?1 AND substr(?2, 1, length(namespace_uri)) = namespace_uri
ORDER BY length(namespace_uri) DESC
"""
_JOB_NAMES = """
SELECT j.job_id, n.namespace_uri, j.name FROM ol_job j
JOIN ol_namespace n ON n.org_id = j.org_id AND n.namespace_id = j.namespace_id
WHERE j.org_id = ?1 AND j.job_id {ids}
"""


class Edge(NamedTuple):
    """Data flows from source to target in a job. Source and job are None if they are unknown."""

    source: bytes | None
    target: bytes
    job: bytes | None
    step: str
    evidence: EvidenceKind
    run_uuid: str | None = None
    #: True if the last complete runs of the job did not report the edge.
    retired: bool = False


class QualifiedName(NamedTuple):
    """Namespace and name of a dataset or job."""

    namespace: str
    name: str


class LineageGraph:
    """The lineage graph at one granularity, as it was known at a given time, optionally with retired edges."""

    def __init__(
        self,
        db: Database,
        org: str,
        granularity: Granularity = "job",
        rule: FoldingRule = FoldingRule(),  # noqa: B008 - an immutable tuple
        until: int = NO_TIME_LIMIT,
        *,
        retired: bool = False,
    ) -> None:
        self._db = db
        self._org = org
        self._granularity = granularity
        self._rule = rule
        self._retirement = RetirementPolicy(db, org, rule, until)
        self._include_retired = retired
        self._edges = EdgeEvidenceReader(db, org, by_run=granularity == "run", until=until)
        self._names: dict[bytes, QualifiedName] = {}

    def find_dataset(self, namespace: str, name: str) -> bytes | None:
        """Find the group of a dataset by any of its names."""
        return self.group_of(canonical_dataset_name(self._org, namespace, name).id)

    def group_of(self, dataset: bytes) -> bytes | None:
        """Find the group of a dataset by the id of any member."""
        return group_ids(self._db, self._org, [dataset]).get(dataset)

    def find_by_full_name(self, full_name: str) -> bytes | None:
        """Find a dataset by namespace and name in one string, split at the longest namespace that exists."""
        for (namespace,) in self._db.fetch_all(_NAMESPACES, self._org, full_name):
            remainder = full_name[len(namespace) :]
            for name in (remainder, remainder[1:]):  # with the separator, or without
                if name and (dataset := self.find_dataset(namespace, name)):
                    return dataset
        return self.find_dataset("file", full_name) if full_name.startswith("/") else None

    def dataset_name(self, dataset: bytes) -> QualifiedName:
        return self.dataset_names([dataset])[dataset]

    def dataset_names(self, datasets: Iterable[bytes]) -> dict[bytes, QualifiedName]:
        """Look up missing names in one query, add them to the cache, and return the cache."""
        missing = {dataset for dataset in datasets if dataset not in self._names}
        for dataset, name in dataset_names(self._db, self._org, missing).items():
            self._names[dataset] = QualifiedName(*name)
        return self._names

    def job_name(self, job: bytes) -> QualifiedName:
        return self.job_names([job])[job]

    def job_names(self, jobs: Iterable[bytes]) -> dict[bytes, QualifiedName]:
        """Look up missing names in one query, add them to the cache, and return the cache."""
        missing = {job for job in jobs if job not in self._names}
        for job, namespace, name in self._db.fetch_for_ids(_JOB_NAMES, sorted(missing), self._org):
            self._names[job] = QualifiedName(namespace, name)
        return self._names

    def upstream(self, datasets: Collection[bytes]) -> set[Edge]:
        """Find the incoming edges of the datasets with these group ids, each with its strongest evidence."""
        return self._fold_into_edges(list(self._edges.into(datasets)))

    def downstream(self, datasets: Collection[bytes]) -> set[Edge]:
        """Find the outgoing edges of the datasets with these group ids, each with its strongest evidence."""
        return self._fold_into_edges(list(self._edges.out_of(datasets)))

    def _fold_into_edges(self, evidence: list[EdgeEvidence]) -> set[Edge]:
        """Fold current evidence into edges. If retired edges are requested, also fold the evidence for them."""
        self._load_step_names(evidence)
        current = evidence if self._granularity == "run" else self._retirement.current(evidence)
        edges = self._strongest_edges(current)
        if self._include_retired and len(current) < len(evidence):
            all_edges = self._strongest_edges(evidence)
            edges = {key: edge._replace(retired=True) for key, edge in all_edges.items()} | edges
        return _drop_redundant_sourceless_edges(set(edges.values()))

    def _strongest_edges(self, evidence: list[EdgeEvidence]) -> dict[tuple[object, ...], Edge]:
        """Fold evidence into edges. Of edges that differ only in evidence, keep the one with the strongest."""
        strongest: dict[tuple[object, ...], Edge] = {}
        for item in evidence:
            edge = self._to_edge(item)
            key = (edge.source, edge.target, edge.job, edge.step, edge.run_uuid)
            previous = strongest.get(key)
            if previous is None or _EVIDENCE.index(edge.evidence) < _EVIDENCE.index(previous.evidence):
                strongest[key] = edge
        return strongest

    def _load_step_names(self, evidence: list[EdgeEvidence]) -> None:
        """Load, in two queries, the dataset and job names from which step names are built."""
        if self._granularity in ("run", "step"):
            steps = [item for item in evidence if is_action(item.integration, item.job_type)]
            self.dataset_names({item.target for item in steps})
            self.job_names({job for item in steps for job in (item.reporting_job, item.parent) if job})

    def _to_edge(self, evidence: EdgeEvidence) -> Edge:
        """Convert evidence to an edge at the granularity of the graph."""
        source, target = evidence.source, evidence.target
        if evidence.reporting_job is None:
            return Edge(source, target, None, "", evidence.evidence)
        is_step = is_action(evidence.integration, evidence.job_type)
        ancestry = JobAncestry(evidence.reporting_job, is_step, evidence.parent, evidence.grandparent, evidence.root)
        step = ""
        if is_step and self._granularity in ("run", "step"):
            parent = self._names[evidence.parent].name if evidence.parent else None
            step = step_name(self._rule, self._names[evidence.reporting_job].name, parent, self._names[target].name)
        job = logical_job(ancestry, self._granularity, self._rule)
        return Edge(source, target, job, step, evidence.evidence, evidence.run_uuid)


def _drop_redundant_sourceless_edges(edges: set[Edge]) -> set[Edge]:
    """Drop an edge without a source if the same producer also has an edge with a source into the same dataset."""
    with_source = {(edge.target, edge.job, edge.step, edge.run_uuid) for edge in edges if edge.source is not None}
    return {
        edge
        for edge in edges
        if edge.source is not None or (edge.target, edge.job, edge.step, edge.run_uuid) not in with_source
    }
