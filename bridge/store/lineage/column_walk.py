"""Walks column lineage hop by hop."""

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from bridge.store.database import Database
from bridge.store.lineage.evidence import NO_TIME_LIMIT
from bridge.store.lineage.walk import MAX_EDGES, Direction, Truncation
from mappers.canonical.identity import split_ids

_ROW = """
t.class_id, c.target_field, s.class_id, c.source_field, c.transformation_type, c.transformation_subtype, c.masking,
  c.job_id, c.lineage_id, c.is_active
"""
_INTO = f"""
SELECT {_ROW} FROM ol_dataset t
JOIN column_lineage c ON c.org_id = t.org_id AND c.target_id = t.dataset_id
JOIN ol_dataset s ON s.org_id = c.org_id AND s.dataset_id = c.source_id
WHERE t.org_id = ?1 AND t.class_id {{ids}}
"""
_OUT_OF = f"""
SELECT {_ROW} FROM ol_dataset s
JOIN lineage_edge e ON e.org_id = s.org_id AND e.source_id = s.dataset_id AND e.edge_role = 'DERIVES'
JOIN column_lineage c ON c.org_id = e.org_id AND c.target_id = e.target_id AND c.source_id = e.source_id
  AND c.job_id = e.job_id
JOIN ol_dataset t ON t.org_id = c.org_id AND t.dataset_id = c.target_id
WHERE s.org_id = ?1 AND s.class_id {{ids}}
"""
#: Rows that were active for each target, considering only runs that had started by then, with their final outcome.
_ACTIVE_AT = """
SELECT x.members FROM (
  SELECT c.*, first_value(c.unit_id) OVER newest AS newest_unit, first_value(c.succeeded) OVER newest AS is_success
  FROM ol_dataset t
  JOIN column_report c ON c.org_id = t.org_id AND c.target_id = t.dataset_id
  WHERE t.org_id = ?1 AND t.class_id {ids} AND c.run_start <= ?2
  WINDOW newest AS (
    PARTITION BY c.target_id, c.application_id ORDER BY c.succeeded DESC, c.run_start DESC, c.unit_id DESC)
) n
JOIN run_lineage l ON l.org_id = n.org_id AND l.target_id = n.target_id AND l.job_id = n.job_id
  AND l.run_id = n.run_id
LEFT JOIN run_explicit e ON e.org_id = l.org_id AND e.target_id = l.target_id AND e.job_id = l.job_id
  AND e.run_id = l.run_id AND l.explicit
JOIN lineage_set x ON x.org_id = l.org_id AND x.set_id = CASE WHEN l.explicit THEN e.set_id ELSE l.columns_set END
WHERE n.unit_id = n.newest_unit AND n.succeeded = n.is_success
"""

#: Targets per lookup: few at first, because a target can have hundreds of thousands of hops.
_FIRST_BATCH, _MAX_BATCH = 4, 512

#: A column: group id of its dataset, and its name; an empty name stands for the whole dataset.
ColumnKey = tuple[bytes, str]


class ColumnHop(NamedTuple):
    """The derivation of a target column from a source column by one job."""

    target: ColumnKey
    source: ColumnKey
    transformation_type: str
    subtype: str
    masking: bool
    job: bytes

    @property
    def datasets(self) -> tuple[bytes, bytes]:
        """Source and target dataset."""
        (source, _), (target, _) = self.source, self.target
        return source, target


class ColumnWalk(NamedTuple):
    """The hops from a column, and the limit that truncated the walk, if any."""

    start: ColumnKey
    hops: list[ColumnHop]
    truncated_by: Truncation | None


class ColumnLineageWalker:
    """Walks column lineage as reported by the newest runs that had started by a given time."""

    def __init__(self, db: Database, org: str, until: int = NO_TIME_LIMIT) -> None:
        self._db = db
        self._org = org
        self._until = until

    def walk(self, start: ColumnKey, direction: Direction, depth: int, max_edges: int = MAX_EDGES) -> ColumnWalk:
        """Follow a column for up to `depth` hops. Hops from or to whole datasets are included but not followed."""
        upstream = direction == "upstream"
        visited = {start}
        frontier = [start]
        hops: list[ColumnHop] = []
        for _ in range(depth):
            candidates = self._fetch_hops(_INTO if upstream else _OUT_OF, {dataset for dataset, _ in frontier})
            next_frontier: list[ColumnKey] = []
            for hop in sorted(_select_hops(candidates, frontier, upstream=upstream)):
                if len(hops) == max_edges:
                    return ColumnWalk(start, hops, "size")
                hops.append(hop)
                neighbor = hop.source if upstream else hop.target
                (_, source_column), (_, target_column) = hop.source, hop.target
                if neighbor not in visited and source_column and target_column:
                    visited.add(neighbor)
                    next_frontier.append(neighbor)
            frontier = next_frontier
            if not frontier:
                break
        return ColumnWalk(start, hops, "depth" if frontier else None)

    def hops_between(
        self, pairs: Collection[tuple[bytes, bytes]], limit: int, first_target: bytes = b""
    ) -> list[ColumnHop]:
        """List active hops between pairs of source and target dataset, ordered by target, from a target on."""
        dataset_pairs = set(pairs)
        targets = sorted({target for _, target in dataset_pairs if target >= first_target})
        hops: list[ColumnHop] = []
        batch_size = _FIRST_BATCH
        while targets and len(hops) < limit:
            batch, targets = targets[:batch_size], targets[batch_size:]
            batch_hops = self._fetch_hops(_INTO, set(batch))
            hops += sorted(hop for hop in batch_hops if hop.datasets in dataset_pairs)
            batch_size = min(2 * batch_size, _MAX_BATCH) if len(batch_hops) < _MAX_BATCH else _FIRST_BATCH
        return hops[: max(0, limit)]

    def _fetch_hops(self, sql: str, datasets: set[bytes]) -> set[ColumnHop]:
        """Fetch the active hops into or out of datasets."""
        rows = self._db.fetch_for_ids(sql, sorted(datasets), self._org)
        if self._until == NO_TIME_LIMIT:
            active_ids = {lineage_id for *_, lineage_id, is_active in rows if is_active}
        else:
            active_ids = self._active_lineage_ids(rows)
        return {_column_hop(hop_columns) for *hop_columns, lineage_id, _ in rows if lineage_id in active_ids}

    def _active_lineage_ids(self, rows: list[tuple[Any, ...]]) -> set[bytes]:
        """Find the lineage ids that were active for the targets of these rows at the given time."""
        targets = sorted({target for target, *_ in rows})
        id_sets = self._db.fetch_for_ids(_ACTIVE_AT, targets, self._org, self._until)
        return {lineage_id for (members,) in id_sets for lineage_id in split_ids(members)}


def _column_hop(columns: list[Any]) -> ColumnHop:
    target, target_field, source, source_field, transformation_type, subtype, masking, job = columns
    return ColumnHop((target, target_field), (source, source_field), transformation_type, subtype, bool(masking), job)


def _select_hops(hops: Iterable[ColumnHop], frontier: Collection[ColumnKey], *, upstream: bool) -> list[ColumnHop]:
    """Select the hops at columns of the frontier. A walk upstream also includes the hops into whole datasets."""
    columns = set(frontier)
    if not upstream:
        return [hop for hop in hops if hop.source in columns]
    whole_datasets = {(dataset, "") for dataset, _ in frontier}
    return [hop for hop in hops if hop.target in columns or hop.target in whole_datasets]
