"""Edges as runs and declarations assert them, found for many datasets at once, in either direction.

A run with explicit entries asserts only those; any other run asserts what its column lineage names and, weaker, all
of its inputs. An edge is looked up by its target, or by its target and source: both find the same edges.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bridge.store.database import Database
from mappers.canonical.identity import NOBODY, split_ids

#: No run began later.
EVER = (1 << 63) - 1

_SHOWN = """
(NOT coalesce(j.emits_snapshots, FALSE) OR {side}.last_seen = (
  SELECT max(y.last_seen) FROM {table} y
  WHERE y.org_id = {side}.org_id AND y.run_id = {side}.run_id AND y.job_id = {side}.job_id))
"""
_INFERRED = f"""
SELECT DISTINCT g.a, o.job_id, {{above}}, i.dataset_id
FROM {{{{given}}}} g
CROSS JOIN ol_run_output o
JOIN ol_job j ON j.org_id = o.org_id AND j.job_id = o.job_id
JOIN ol_run r ON r.org_id = o.org_id AND r.run_id = o.run_id
LEFT JOIN ol_run p ON p.org_id = r.org_id AND p.run_id = r.parent_run_id
LEFT JOIN ol_run_input i ON i.org_id = o.org_id AND i.run_id = o.run_id AND i.job_id = o.job_id
  AND {_SHOWN.format(side="i", table="ol_run_input")}
WHERE o.org_id = ?1 AND o.dataset_id = g.a AND r.created_at <= ?2 AND {{also}}
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
SELECT DISTINCT g.a, l.job_id, {above}, e.source_id
FROM {{given}} g
CROSS JOIN lineage_edge e
JOIN run_lineage l ON l.org_id = e.org_id AND l.job_id = e.job_id AND l.target_id = e.target_id AND l.explicit
JOIN ol_run r ON r.org_id = l.org_id AND r.run_id = l.run_id
LEFT JOIN ol_run p ON p.org_id = r.org_id AND p.run_id = r.parent_run_id
WHERE e.org_id = ?1 AND e.target_id = g.a AND r.created_at <= ?2 AND {also}
  AND e.edge_role = 'DERIVES' AND e.evidence = 'explicit' AND e.source_type = 'dataset'
"""
_DECLARED = """
SELECT e.target_id, e.job_id, e.source_id
FROM {{given}} g
CROSS JOIN lineage_edge e
LEFT JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id
LEFT JOIN ol_dataset t ON t.org_id = e.org_id AND t.dataset_id = e.target_id AND e.job_id = ?3
WHERE e.org_id = ?1 AND e.target_id = g.a AND e.first_seen <= ?2 AND {also}
  AND e.edge_role = 'DERIVES' AND e.evidence = 'declared'
  AND (e.declared_io = j.declared_io OR e.declared_lineage = coalesce(j.declared_lineage, t.declared_lineage))
"""
_DECLARED_IO = """
SELECT DISTINCT e.target_id, e.job_id, i.source_id
FROM {{given}} g
CROSS JOIN lineage_edge e
JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id AND j.declared_lineage IS NULL
LEFT JOIN lineage_edge i ON i.org_id = e.org_id AND i.target_id = e.job_id AND i.edge_role = 'CONSUMES'
  AND i.evidence = 'declared' AND i.declared_io = j.declared_io
WHERE e.org_id = ?1 AND e.target_id = g.a AND e.first_seen <= ?2 AND {also}
  AND e.edge_role = 'PRODUCES' AND e.evidence = 'declared' AND e.declared_io = j.declared_io
"""
_RENAMED = """
SELECT DISTINCT g.a, s.source_id FROM {{given}} g CROSS JOIN dataset_succession s
WHERE s.org_id = ?1 AND s.target_id = g.a AND s.renamed_at <= ?2 AND {also}
"""
#: Every pair that may be an edge: what is asserted about it is looked up afterwards.
_PAIRS = """
SELECT o.dataset_id, i.dataset_id FROM ol_run_input i
JOIN ol_run_output o ON o.org_id = i.org_id AND o.run_id = i.run_id AND o.job_id = i.job_id
WHERE i.org_id = ?1 AND i.dataset_id {among}
"""
_ASSERTED_PAIRS = """
SELECT target_id, source_id FROM lineage_edge
WHERE org_id = ?1 AND source_id {among} AND edge_role = 'DERIVES' AND target_type = 'dataset'
"""
_DECLARED_PAIRS = """
SELECT o.target_id, i.source_id FROM lineage_edge i
JOIN lineage_edge o ON o.org_id = i.org_id AND o.source_id = i.target_id AND o.edge_role = 'PRODUCES'
WHERE i.org_id = ?1 AND i.source_id {among} AND i.edge_role = 'CONSUMES' AND i.evidence = 'declared'
"""
_RENAMED_PAIRS = "SELECT target_id, source_id FROM dataset_succession WHERE org_id = ?1 AND source_id {among}"
_SETS = "SELECT set_id, members FROM lineage_set WHERE org_id = ?1 AND set_id {among}"
_LINES = """
SELECT c.lineage_id, c.source_id FROM {{given}} g CROSS JOIN column_lineage c
WHERE c.org_id = ?1 AND c.target_id = g.a AND {also}
"""


class Found(NamedTuple):
    """One asserted edge: who asserts it, above whom, and in which run where runs are kept apart."""

    target: bytes
    leaf: bytes
    run_uuid: str | None
    parent: bytes | None
    grandparent: bytes | None
    root: bytes | None
    source: bytes | None
    evidence: str


class Edges:
    """Looks edges up: of all runs together or of each run by itself, as far as they were known at a time."""

    def __init__(self, db: Database, org: str, *, by_run: bool = False, until: int = EVER) -> None:
        self._db = db
        self._bound = (org, until)
        self._above = f"{'r.run_uuid' if by_run else 'NULL'}, r.parent_job_id, p.parent_job_id, r.root_job_id"

    def into(self, targets: Iterable[bytes]) -> Iterator[Found]:
        """Find the edges into datasets; a job that reads nothing gives an edge without a source."""
        return self._found([(target,) for target in targets])

    def out_of(self, sources: Iterable[bytes]) -> Iterator[Found]:
        """Find the edges out of datasets."""
        wanted = list(sources)
        pairs: set[tuple[bytes, ...]] = set()
        for sql in (_PAIRS, _ASSERTED_PAIRS, _DECLARED_PAIRS, _RENAMED_PAIRS):
            pairs.update(self._db.among(sql, wanted, self._bound[0]))
        return self._found(sorted(pairs))

    def _found(self, given: list[tuple[bytes, ...]]) -> Iterator[Found]:
        """Look up each (target) or (target, source)."""
        if not given:
            return
        paired = len(given[0]) > 1
        yield from self._stated(_INFERRED, "inferred", "i.dataset_id", given, paired)
        yield from self._by_columns(given, paired)
        yield from self._stated(_EXPLICIT, "explicit", "e.source_id", given, paired)
        for sql, source, more in ((_DECLARED, "e.source_id", (NOBODY,)), (_DECLARED_IO, "i.source_id", ())):
            for target, job, origin in self._db.given(self._filled(sql, source, paired), given, *self._bound, *more):
                yield Found(target, job, None, None, None, None, origin, "declared")
        for target, origin in self._db.given(self._filled(_RENAMED, "s.source_id", paired), given, *self._bound):
            yield Found(target, NOBODY, None, None, None, None, origin, "explicit")

    def _stated(
        self, sql: str, evidence: str, source: str, given: list[tuple[bytes, ...]], paired: bool
    ) -> Iterator[Found]:
        for row in self._db.given(self._filled(sql, source, paired), given, *self._bound):
            yield Found._make((*row, evidence))

    def _by_columns(self, given: list[tuple[bytes, ...]], paired: bool) -> Iterator[Found]:
        targets = sorted({target for target, *_ in given})
        stated = self._db.among(_COLUMNS.format(above=self._above), targets, *self._bound)
        if not stated:
            return
        org = self._bound[0]
        lines = dict(self._db.given(self._filled(_LINES, "c.source_id", paired), given, org))
        sets = self._db.among(_SETS, sorted({row[-1] for row in stated}), org)
        sources = {set_id: {lines[line] for line in split_ids(members) if line in lines} for set_id, members in sets}
        for row in stated:
            for source in sources[row[-1]]:
                yield Found._make((*row[:-1], source, "column"))

    def _filled(self, sql: str, source: str, paired: bool) -> str:
        return sql.format(above=self._above, also=f"{source} = g.b" if paired else "TRUE")
