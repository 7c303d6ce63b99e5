"""What a change of a dataset reaches: datasets, the jobs that make them, and who owns either."""

from collections.abc import Callable
from typing import NamedTuple

from bridge.store.database import Database
from bridge.store.graph import Graph, Named
from bridge.store.walk import MOST_EDGES, Cut, walk

_OWNERS = """
SELECT m.class_id, m.owner_team, m.owner_email FROM ol_dataset m WHERE m.org_id = ?1 AND m.class_id {among}
UNION SELECT j.job_id, j.owner_team, j.owner_email FROM ol_job j WHERE j.org_id = ?1 AND j.job_id {among}
"""


class Reached(NamedTuple):
    """A dataset or job that a change reaches, how far away it is, and who owns it."""

    id: bytes
    name: Named
    distance: int
    owners: tuple[str, ...]


class Impact(NamedTuple):
    """All that a change reaches, nearest first, and what kept the walk from finding more, if anything did."""

    datasets: list[Reached]
    jobs: list[Reached]
    owners: list[str]
    cut: Cut | None


def impact(db: Database, org: str, graph: Graph, start: bytes, depth: int, most: int = MOST_EDGES) -> Impact:
    """Find what is made of a dataset, directly or not."""
    found = walk(graph, start, "downstream", depth, most)
    datasets, jobs = {start: 0}, dict[bytes, int]()
    for edge in found.edges:  # level by level: where an edge ends is no nearer than where it begins
        distance = datasets[edge.source or start] + 1
        datasets.setdefault(edge.target, distance)
        if edge.job:
            jobs.setdefault(edge.job, distance)
    del datasets[start]
    owners = _owners(db, org, [*datasets, *jobs])

    def reached(ends: dict[bytes, int], name: Callable[[bytes], Named]) -> list[Reached]:
        told = (Reached(one, name(one), far, tuple(sorted(owners.get(one, ())))) for one, far in ends.items())
        return sorted(told, key=lambda end: (end.distance, end.name))

    everybody = sorted(set().union(*owners.values()))
    return Impact(reached(datasets, graph.dataset), reached(jobs, graph.job), everybody, found.cut)


def _owners(db: Database, org: str, ends: list[bytes]) -> dict[bytes, set[str]]:
    owners: dict[bytes, set[str]] = {}
    for end, *named in db.among(_OWNERS, ends, org):
        owners.setdefault(end, set()).update(name for name in named if name)
    return owners
