"""Query: datasets and jobs that a change of a dataset affects, and their owners."""

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
    """An affected dataset or job with its distance, its owners and its SLA."""

    distance: int
    owners: list[str]
    sla: dict[str, Any] | None


class ImpactResult(msgspec.Struct, frozen=True):
    """Affected datasets and jobs, nearest first, and the limit that truncated the walk, if any."""

    datasets: list[AffectedNode]
    jobs: list[AffectedNode]
    owners: list[str]
    cut: Truncation | None


class ImpactQuery(DatasetSubjectQuery[ImpactResult], frozen=True, kw_only=True):
    """Datasets and jobs derived from a dataset, directly or indirectly, with their owners."""

    path = "/impact"
    result_type = ImpactResult
    depth: DepthField = 20
    most: MaxEdgesField = MAX_EDGES

    def run(self, ctx: QueryContext) -> ImpactResult:
        graph = ctx.graph()
        start = self.group_id(ctx)
        downstream = walk(graph, start, "downstream", self.depth, self.most)
        dataset_distances: dict[bytes, int] = {start: 0}
        job_distances: dict[bytes, int] = {}
        for edge in downstream.edges:  # edges are sorted by level: a target is never nearer than its source
            distance = dataset_distances[edge.source or start] + 1
            dataset_distances.setdefault(edge.target, distance)
            if edge.job:
                job_distances.setdefault(edge.job, distance)
        del dataset_distances[start]
        nodes = [*dataset_distances, *job_distances]
        owners = read_owners(ctx.db, ctx.org, nodes)
        slas = read_slas(ctx.db, ctx.org, nodes)

        def affected_nodes(distances: dict[bytes, int], names: Mapping[bytes, QualifiedName]) -> list[AffectedNode]:
            """Convert datasets or jobs with their distances to results, nearest first."""
            results = [
                AffectedNode(format_id(node), *names[node], distance, owners.get(node, []), slas.get(node))
                for node, distance in distances.items()
            ]
            return sorted(results, key=lambda result: (result.distance, result.namespace, result.name))

        all_owners = sorted(set().union(*owners.values()))
        return ImpactResult(
            affected_nodes(dataset_distances, graph.dataset_names(dataset_distances)),
            affected_nodes(job_distances, graph.job_names(job_distances)),
            all_owners,
            downstream.truncated_by,
        )
