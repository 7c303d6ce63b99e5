"""Lineage graph at one granularity, folded from edge evidence when it is read."""

from collections.abc import Collection, Iterable
from typing import NamedTuple, get_args

from bridge.store.database import Database
from bridge.store.identity_groups import dataset_names, group_ids
from bridge.store.lineage.evidence import NO_TIME_LIMIT, EdgeEvidence, EdgeEvidenceReader, EvidenceKind
from bridge.store.lineage.retirement import RetirementPolicy
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
    """Data went from source to target in a job; source and job are None where nobody knows them."""

    source: bytes | None
    target: bytes
    job: bytes | None
    step: str
    evidence: EvidenceKind
    run_uuid: str | None = None
    #: Whether it is gone: its job ran often since, and showed it no more.
    retired: bool = False


class QualifiedName(NamedTuple):
    """How a dataset or job is called."""

    namespace: str
    name: str


class LineageGraph:
    """Answers where data comes from and where it goes, at one granularity, as it was known at a time."""

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
        self._retired = retired
        self._edges = EdgeEvidenceReader(db, org, by_run=granularity == "run", until=until)
        self._names: dict[bytes, QualifiedName] = {}

    def find_dataset(self, namespace: str, name: str) -> bytes | None:
        """Find the class of a dataset by any of its names."""
        return self.group_of(canonical_dataset_name(self._org, namespace, name).id)

    def group_of(self, dataset: bytes) -> bytes | None:
        """Find the class of a dataset by the id of any of its members."""
        return group_ids(self._db, self._org, [dataset]).get(dataset)

    def find_by_full_name(self, text: str) -> bytes | None:
        """Find a dataset by namespace and name in one text, split at the longest namespace that is known."""
        for (namespace,) in self._db.fetch_all(_NAMESPACES, self._org, text):
            rest = text[len(namespace) :]
            for name in (rest, rest[1:]):  # with what stands between the two, or without
                if name and (found := self.find_dataset(namespace, name)):
                    return found
        return self.find_dataset("file", text) if text.startswith("/") else None

    def dataset_name(self, dataset: bytes) -> QualifiedName:
        """Name a dataset."""
        return self.dataset_names([dataset])[dataset]

    def dataset_names(self, datasets: Iterable[bytes]) -> dict[bytes, QualifiedName]:
        """Name datasets: many at once cost no more than one."""
        missing = set(datasets) - self._names.keys()
        for dataset, name in dataset_names(self._db, self._org, missing).items():
            self._names[dataset] = QualifiedName(*name)
        return self._names

    def job_name(self, job: bytes) -> QualifiedName:
        """Name a job."""
        return self.job_names([job])[job]

    def job_names(self, jobs: Iterable[bytes]) -> dict[bytes, QualifiedName]:
        """Name jobs: many at once cost no more than one."""
        missing = set(jobs) - self._names.keys()
        for job, namespace, name in self._db.fetch_for_ids(_JOB_NAMES, sorted(missing), self._org):
            self._names[job] = QualifiedName(namespace, name)
        return self._names

    def upstream(self, datasets: Collection[bytes]) -> set[Edge]:
        """Find every edge into datasets, given by their classes; the strongest evidence of each."""
        return self._folded(list(self._edges.into(datasets)))

    def downstream(self, datasets: Collection[bytes]) -> set[Edge]:
        """Find every edge out of datasets, given by their classes."""
        return self._folded(list(self._edges.out_of(datasets)))

    def _folded(self, found: list[EdgeEvidence]) -> set[Edge]:
        """Fold what stands, and, where it is asked for, what is gone and not asserted by anything that stands."""
        self._load_step_names(found)
        standing = found if self._granularity == "run" else self._retirement.current(found)
        best = self._strongest_evidence(standing)
        if self._retired and len(standing) < len(found):
            best = {key: edge._replace(retired=True) for key, edge in self._strongest_evidence(found).items()} | best
        return _without_redundant_sourceless(set(best.values()))

    def _strongest_evidence(self, found: list[EdgeEvidence]) -> dict[tuple[object, ...], Edge]:
        """Keep the strongest evidence of each edge."""
        best: dict[tuple[object, ...], Edge] = {}
        for one in found:
            edge = self._fold(one)
            key = (edge.source, edge.target, edge.job, edge.step, edge.run_uuid)
            known = best.get(key)
            if known is None or _EVIDENCE.index(edge.evidence) < _EVIDENCE.index(known.evidence):
                best[key] = edge
        return best

    def _load_step_names(self, found: list[EdgeEvidence]) -> None:
        """Look up at once the names by which steps are called."""
        if self._granularity in ("run", "step"):
            steps = [one for one in found if is_action(one.integration, one.job_type)]
            self.dataset_names({one.target for one in steps})
            self.job_names({job for one in steps for job in (one.reporting_job, one.parent) if job})

    def _fold(self, found: EdgeEvidence) -> Edge:
        source, target = found.source, found.target
        if found.reporting_job is None:
            return Edge(source, target, None, "", found.evidence)
        action = is_action(found.integration, found.job_type)
        above = JobAncestry(found.reporting_job, action, found.parent, found.grandparent, found.root)
        step = ""
        if action and self._granularity in ("run", "step"):
            parent = self._names[found.parent].name if found.parent else None
            step = step_name(self._rule, self._names[found.reporting_job].name, parent, self._names[target].name)
        job = logical_job(above, self._granularity, self._rule)
        return Edge(source, target, job, step, found.evidence, found.run_uuid)


def _without_redundant_sourceless(edges: set[Edge]) -> set[Edge]:
    """Drop the producers of unknown sources that also have an edge into the same dataset which names one."""
    named = {(edge.target, edge.job, edge.step, edge.run_uuid) for edge in edges if edge.source is not None}
    return {e for e in edges if e.source is not None or (e.target, e.job, e.step, e.run_uuid) not in named}
