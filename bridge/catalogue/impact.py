"""What a change of a dataset reaches: datasets, the jobs that make them, and who owns either."""

from collections.abc import Mapping
from typing import Any

import msgspec

from bridge.catalogue.lineage import Depth, Most
from bridge.catalogue.question import View
from bridge.catalogue.things import AboutDataset, Thing, write_id
from bridge.store.graph import Named
from bridge.store.limits import MOST_EDGES
from bridge.store.owners import owners_of
from bridge.store.said import promises_of
from bridge.store.walk import Cut, walk


class Reached(Thing, frozen=True):
    """A dataset or job that a change reaches, how far away it is, who owns it, and what was promised of it."""

    distance: int
    owners: list[str]
    sla: dict[str, Any] | None


class ImpactAnswer(msgspec.Struct, frozen=True):
    """All that a change reaches, nearest first, and what kept the walk from finding more, if anything did."""

    datasets: list[Reached]
    jobs: list[Reached]
    owners: list[str]
    cut: Cut | None


class Impact(AboutDataset[ImpactAnswer], frozen=True, kw_only=True):
    """What is made of a dataset, directly or not, and whom a change of it concerns."""

    path = "/impact"
    answer = ImpactAnswer
    depth: Depth = 20
    most: Most = MOST_EDGES

    def answered(self, view: View) -> ImpactAnswer:
        """Walk."""
        graph, start = view.graph(), self.dataset(view)
        found = walk(graph, start, "downstream", self.depth, self.most)
        datasets, jobs = {start: 0}, dict[bytes, int]()
        for edge in found.edges:  # level by level: where an edge ends is no nearer than where it begins
            distance = datasets[edge.source or start] + 1
            datasets.setdefault(edge.target, distance)
            if edge.job:
                jobs.setdefault(edge.job, distance)
        del datasets[start]
        ends = [*datasets, *jobs]
        owners = owners_of(view.db, view.org, ends)
        promised = promises_of(view.db, view.org, ends)

        def reached(ends: dict[bytes, int], names: Mapping[bytes, Named]) -> list[Reached]:
            told = [
                Reached(write_id(one), *names[one], far, owners.get(one, []), promised.get(one))
                for one, far in ends.items()
            ]
            return sorted(told, key=lambda end: (end.distance, end.namespace, end.name))

        everybody = sorted(set().union(*owners.values()))
        return ImpactAnswer(
            reached(datasets, graph.datasets(datasets)), reached(jobs, graph.jobs(jobs)), everybody, found.cut
        )
