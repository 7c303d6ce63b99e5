"""Edges as runs and declarations assert them, found for many datasets at once, in either direction.

A run with explicit entries asserts only those; any other run asserts what its column lineage names and, weaker, all
of its inputs. Edges are looked up by their targets or by their sources: both find the same ones.
"""

from collections.abc import Collection, Iterator
from typing import Any, Literal, NamedTuple

from bridge.store.database import Database
from mappers.canonical.identity import NOBODY, split_ids

#: No run began later.
EVER = (1 << 63) - 1

#: What a job `j` was once declared to read or write holds until it is declared otherwise.
STANDS = """
(e.evidence <> 'declared' OR e.declared_io = j.declared_io OR e.declared_lineage = j.declared_lineage)
"""
_SHOWN = """
(NOT coalesce(j.emits_snapshots, FALSE) OR {side}.last_seen = (
  SELECT max(y.last_seen) FROM {table} y
  WHERE y.org_id = {side}.org_id AND y.run_id = {side}.run_id AND y.job_id = {side}.job_id))
"""
_INFERRED = f"""
SELECT DISTINCT o.dataset_id, o.job_id, {{above}}, i.dataset_id
FROM ol_run_output o
JOIN ol_job j ON j.org_id = o.org_id AND j.job_id = o.job_id
JOIN ol_run r ON r.org_id = o.org_id AND r.run_id = o.run_id
LEFT JOIN ol_run p ON p.org_id = r.org_id AND p.run_id = r.parent_run_id
{{join}} ol_run_input i ON i.org_id = o.org_id AND i.run_id = o.run_id AND i.job_id = o.job_id
  AND {_SHOWN.format(side="i", table="ol_run_input")}
WHERE o.org_id = ?1 AND {{end}} {{{{among}}}} AND r.created_at <= ?2
  AND o.dropped_at IS NULL AND NOT r.explicit AND {_SHOWN.format(side="o", table="ol_run_output")}
"""
_COLUMNS = """
SELECT DISTINCT l.target_id, l.job_id, {above}, l.columns_set
FROM run_lineage l
JOIN ol_run r ON r.org_id = l.org_id AND r.run_id = l.run_id
LEFT JOIN ol_run p ON p.org_id = r.org_id AND p.run_id = r.parent_run_id
WHERE l.org_id = ?1 AND l.target_id {{among}} AND r.created_at <= ?2
  AND NOT l.explicit AND NOT r.explicit AND l.columns_set IS NOT NULL
"""
_EXPLICIT = """
SELECT DISTINCT e.target_id, l.job_id, {above}, e.source_id
FROM lineage_edge e
JOIN run_lineage l ON l.org_id = e.org_id AND l.job_id = e.job_id AND l.target_id = e.target_id AND l.explicit
JOIN ol_run r ON r.org_id = l.org_id AND r.run_id = l.run_id
LEFT JOIN ol_run p ON p.org_id = r.org_id AND p.run_id = r.parent_run_id
WHERE e.org_id = ?1 AND {end} {{among}} AND r.created_at <= ?2
  AND e.edge_role = 'DERIVES' AND e.evidence = 'explicit' AND e.source_type = 'dataset'
"""
_DECLARED = """
SELECT e.target_id, e.job_id, e.source_id
FROM lineage_edge e
LEFT JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id
LEFT JOIN ol_dataset t ON t.org_id = e.org_id AND t.dataset_id = e.target_id AND e.job_id = ?3
WHERE e.org_id = ?1 AND {end} {{among}} AND e.first_seen <= ?2
  AND e.edge_role = 'DERIVES' AND e.evidence = 'declared'
  AND (e.declared_io = j.declared_io OR e.declared_lineage = coalesce(j.declared_lineage, t.declared_lineage))
"""
_DECLARED_IO = """
SELECT DISTINCT e.target_id, e.job_id, i.source_id
FROM lineage_edge e
JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id AND j.declared_lineage IS NULL
{join} lineage_edge i ON i.org_id = e.org_id AND i.target_id = e.source_id AND i.edge_role = 'CONSUMES'
  AND i.evidence = 'declared' AND i.declared_io = j.declared_io
WHERE e.org_id = ?1 AND {end} {{among}} AND e.first_seen <= ?2
  AND e.edge_role = 'PRODUCES' AND e.evidence = 'declared' AND e.declared_io = j.declared_io
"""
_RENAMED = """
SELECT DISTINCT s.target_id, s.source_id FROM dataset_succession s
WHERE s.org_id = ?1 AND {end} {{among}} AND s.renamed_at <= ?2
"""
_COLUMN_PAIRS = """
SELECT target_id, source_id FROM lineage_edge
WHERE org_id = ?1 AND source_id {among} AND edge_role = 'DERIVES' AND evidence = 'column'
"""
_SETS = "SELECT set_id, members FROM lineage_set WHERE org_id = ?1 AND set_id {among}"
_LINES_INTO = "SELECT lineage_id, source_id FROM column_lineage WHERE org_id = ?1 AND target_id {among}"
_LINES_BETWEEN = """
SELECT c.lineage_id, c.source_id FROM {given} g CROSS JOIN column_lineage c
WHERE c.org_id = ?1 AND c.target_id = g.a AND c.source_id = g.b
"""


#: What speaks for an edge, the strongest first.
Evidence = Literal["explicit", "column", "declared", "inferred"]


class Found(NamedTuple):
    """One asserted edge: who asserts it, above whom, and in which run where runs are kept apart."""

    target: bytes
    leaf: bytes
    run_uuid: str | None
    parent: bytes | None
    grandparent: bytes | None
    root: bytes | None
    source: bytes | None
    evidence: Evidence


class Edges:
    """Looks edges up: of all runs together or of each run by itself, as far as they were known at a time."""

    def __init__(self, db: Database, org: str, *, by_run: bool = False, until: int = EVER) -> None:
        self._db = db
        self._org = org
        self._until = until
        self._above = f"{'r.run_uuid' if by_run else 'NULL'}, r.parent_job_id, p.parent_job_id, r.root_job_id"

    def into(self, targets: Collection[bytes]) -> Iterator[Found]:
        """Find the edges into datasets; a job that reads nothing gives an edge without a source."""
        yield from self._stated(targets, "target")
        stated = self._columns(targets)
        if stated:
            yield from self._by_columns(stated, self._db.among(_LINES_INTO, targets, self._org))

    def out_of(self, sources: Collection[bytes]) -> Iterator[Found]:
        """Find the edges out of datasets."""
        yield from self._stated(sources, "source")
        pairs = sorted(set(self._db.among(_COLUMN_PAIRS, sources, self._org)))
        if pairs:
            stated = self._columns({target for target, _ in pairs})
            yield from self._by_columns(stated, self._db.given(_LINES_BETWEEN, pairs, self._org))

    def _stated(self, ends: Collection[bytes], side: Literal["source", "target"]) -> Iterator[Found]:
        """Find the edges that tables name one by one."""
        io = "o" if side == "target" else "i"
        for sql, end, evidence in (
            (_INFERRED, f"{io}.dataset_id", "inferred"),
            (_EXPLICIT, f"e.{side}_id", "explicit"),
        ):
            for row in self._among(sql, end, ends):
                yield Found._make((*row, evidence))
        io_end = "e.target_id" if side == "target" else "i.source_id"
        declared = self._among(_DECLARED, f"e.{side}_id", ends, NOBODY) + self._among(_DECLARED_IO, io_end, ends)
        for target, job, source in declared:
            yield Found(target, job, None, None, None, None, source, "declared")
        for target, source in self._among(_RENAMED, f"s.{side}_id", ends):
            yield Found(target, NOBODY, None, None, None, None, source, "explicit")

    def _among(self, sql: str, end: str, ends: Collection[bytes], *more: bytes) -> list[tuple[Any, ...]]:
        # A join that must find its right side may begin there; one that need not reads all of its left side.
        whole = sql.format(above=self._above, end=end, join="JOIN" if end.startswith("i.") else "LEFT JOIN")
        return self._db.among(whole, ends, self._org, self._until, *more)

    def _columns(self, targets: Collection[bytes]) -> list[tuple[Any, ...]]:
        return self._among(_COLUMNS, "", targets)

    def _by_columns(self, stated: list[tuple[Any, ...]], lines: list[tuple[Any, ...]]) -> Iterator[Found]:
        """Give the edges that column lineage names, of those whose lines are given."""
        source_of = dict(lines)
        sets = self._db.among(_SETS, sorted({row[-1] for row in stated}), self._org)
        sources = {
            set_id: {source_of[line] for line in split_ids(members) if line in source_of} for set_id, members in sets
        }
        for row in stated:
            for source in sources[row[-1]]:
                yield Found._make((*row[:-1], source, "column"))
