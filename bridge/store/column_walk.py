"""Walks from column to column: where a value comes from or goes, and what is done to it on each hop."""

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from bridge.store.database import Database
from bridge.store.limits import MOST_EDGES
from bridge.store.walk import Cut, Direction

_ROW = """
t.class_id, c.target_field, s.class_id, c.source_field, c.transformation_type, c.transformation_subtype, c.masking,
  c.job_id
"""
_INTO = f"""
SELECT {_ROW} FROM ol_dataset t
JOIN column_lineage c ON c.org_id = t.org_id AND c.target_id = t.dataset_id AND c.is_active
JOIN ol_dataset s ON s.org_id = c.org_id AND s.dataset_id = c.source_id
WHERE t.org_id = ?1 AND t.class_id {{among}}
"""
_OUT_OF = f"""
SELECT {_ROW} FROM ol_dataset s
JOIN lineage_edge e ON e.org_id = s.org_id AND e.source_id = s.dataset_id AND e.edge_role = 'DERIVES'
JOIN column_lineage c ON c.org_id = e.org_id AND c.target_id = e.target_id AND c.source_id = e.source_id
  AND c.job_id = e.job_id AND c.is_active
JOIN ol_dataset t ON t.org_id = c.org_id AND t.dataset_id = c.target_id
WHERE s.org_id = ?1 AND s.class_id {{among}}
"""

#: A column of a dataset, given by its class; no name means the whole dataset.
Column = tuple[bytes, str]


class Hop(NamedTuple):
    """What one job makes of a column."""

    target: Column
    source: Column
    kind: str
    subtype: str
    masking: bool
    job: bytes


class ColumnWalk(NamedTuple):
    """The hops from a column, and what kept the walk from finding more, if anything did."""

    start: Column
    hops: list[Hop]
    cut: Cut | None


def walk_columns(
    db: Database, org: str, start: Column, direction: Direction, depth: int, most: int = MOST_EDGES
) -> ColumnWalk:
    """Follow a column, `depth` hops far; what reaches a dataset as a whole is shown, and not followed."""
    upstream = direction == "upstream"
    seen, frontier = {start}, [start]
    hops: list[Hop] = []
    for _ in range(depth):
        found = _hops(db.among(_INTO if upstream else _OUT_OF, {dataset for dataset, _ in frontier}, org))
        reached: list[Column] = []
        for hop in sorted(_touching(found, frontier, upstream)):
            if len(hops) == most:
                return ColumnWalk(start, hops, "size")
            hops.append(hop)
            other = hop.source if upstream else hop.target
            if other not in seen and hop.source[1] and hop.target[1]:
                seen.add(other)
                reached.append(other)
        frontier = reached
        if not frontier:
            break
    return ColumnWalk(start, hops, "depth" if frontier else None)


def hops_between(db: Database, org: str, pairs: Collection[tuple[bytes, bytes]]) -> list[Hop]:
    """Give what the newest runs show of the columns between datasets, given as (source, target)."""
    found = _hops(db.among(_INTO, sorted({target for _, target in pairs}), org))
    wanted = set(pairs)
    return [hop for hop in found if (hop.source[0], hop.target[0]) in wanted]


def _hops(rows: Iterable[tuple[Any, ...]]) -> set[Hop]:
    return {
        Hop((target, target_field), (source, source_field), kind, subtype, bool(masking), job)
        for target, target_field, source, source_field, kind, subtype, masking, job in rows
    }


def _touching(found: Iterable[Hop], frontier: Collection[Column], upstream: bool) -> list[Hop]:
    """Keep the hops at the columns of the frontier; upstream also what reaches their datasets as a whole."""
    columns = set(frontier)
    if not upstream:
        return [hop for hop in found if hop.source in columns]
    whole = {(dataset, "") for dataset, _ in frontier}
    return [hop for hop in found if hop.target in columns or hop.target in whole]
