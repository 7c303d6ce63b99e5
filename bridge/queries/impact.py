"""Query: what a change of a dataset affects, and who owns it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from bridge.queries.lineage import DepthField, MaxEdgesField
from bridge.queries.query import QueryContext
from bridge.queries.subject import DatasetSubjectQuery
from bridge.store.governance_facets import read_owners, read_slas
from bridge.store.lineage.graph import QualifiedName
from bridge.store.lineage.walk import MAX_EDGES, Truncation, walk
from bridge.store.references import NodeReference, format_id


class AffectedNode(NodeReference, frozen=True):
    """A dataset or job that a change reaches, how far away it is, who owns it, and what was promised of it."""

    distance: int
    owners: list[str]
    sla: dict[str, Any] | None


class ImpactResult(msgspec.Struct, frozen=True):
    """All that a change reaches, nearest first, and what kept the walk from finding more, if anything did."""

    datasets: list[AffectedNode]
    jobs: list[AffectedNode]
    owners: list[str]
    cut: Truncation | None


class ImpactQuery(DatasetSubjectQuery[ImpactResult], frozen=True, kw_only=True):
    """What is made of a dataset, directly or not, and whom a change of it concerns."""

    path = "/impact"
    result_type = ImpactResult
    depth: DepthField = 20
    most: MaxEdgesField = MAX_EDGES

    def run(self, view: QueryContext) -> ImpactResult:
        """Walk."""
        graph, start = view.graph(), self.group_id(view)
        found = walk(graph, start, "downstream", self.depth, self.most)
        datasets, jobs = {start: 0}, dict[bytes, int]()
        for edge in found.edges:  # level by level: where an edge ends is no nearer than where it begins
            distance = datasets[edge.source or start] + 1
            datasets.setdefault(edge.target, distance)
            if edge.job:
                jobs.setdefault(edge.job, distance)
        del datasets[start]
        ends = [*datasets, *jobs]
        owners = read_owners(view.db, view.org, ends)
        promised = read_slas(view.db, view.org, ends)

        def reached(ends: dict[bytes, int], names: Mapping[bytes, QualifiedName]) -> list[AffectedNode]:
            told = [
                AffectedNode(format_id(one), *names[one], far, owners.get(one, []), promised.get(one))
                for one, far in ends.items()
            ]
            return sorted(told, key=lambda end: (end.distance, end.namespace, end.name))

        everybody = sorted(set().union(*owners.values()))
        return ImpactResult(
            reached(datasets, graph.dataset_names(datasets)),
            reached(jobs, graph.job_names(jobs)),
            everybody,
            found.truncated_by,
        )
