"""Reads edge evidence: what runs, facets and declarations assert, in either direction."""

from collections.abc import Collection, Iterator
from functools import cache
from typing import Any, Literal, NamedTuple

from bridge.store.database import Database
from mappers.canonical.identity import split_ids

#: No run began later.
NO_TIME_LIMIT = (1 << 63) - 1

#: What a job `j` was once declared to read or write holds until it is declared otherwise.
IS_CURRENT_SQL = """
(e.evidence <> 'declared' OR e.declared_io = j.declared_io OR e.declared_lineage = j.declared_lineage)
"""
_SHOWN = """
(NOT coalesce(j.emits_snapshots, FALSE) OR {side}.last_seen = (
  SELECT max(y.last_seen) FROM {table} y
  WHERE y.org_id = {side}.org_id AND y.run_id = {side}.run_id AND y.job_id = {side}.job_id))
"""
_ABOVE = """
JOIN ol_run r ON r.org_id = {of}.org_id AND r.run_id = {of}.run_id
LEFT JOIN ol_run p ON p.org_id = r.org_id AND p.run_id = r.parent_run_id
"""
#: The two ends of an edge, `t` and `s`, in the order in which they are looked up: a class, then what leads from it.
_INFERRED = {
    "target": """
FROM ol_dataset t
JOIN ol_run_output o ON o.org_id = t.org_id AND o.dataset_id = t.dataset_id
JOIN ol_job j ON j.org_id = o.org_id AND j.job_id = o.job_id
{above}
LEFT JOIN ol_run_input i ON i.org_id = o.org_id AND i.run_id = o.run_id AND i.job_id = o.job_id AND {shown}
LEFT JOIN ol_dataset s ON s.org_id = i.org_id AND s.dataset_id = i.dataset_id
""",
    "source": """
FROM ol_dataset s
JOIN ol_run_input i ON i.org_id = s.org_id AND i.dataset_id = s.dataset_id
JOIN ol_job j ON j.org_id = i.org_id AND j.job_id = i.job_id AND {shown}
JOIN ol_run_output o ON o.org_id = i.org_id AND o.run_id = i.run_id AND o.job_id = i.job_id
{above}
JOIN ol_dataset t ON t.org_id = o.org_id AND t.dataset_id = o.dataset_id
""",
}
_BETWEEN = {
    "target": """
FROM ol_dataset t
JOIN {table} e ON e.org_id = t.org_id AND e.target_id = t.dataset_id
JOIN ol_dataset s ON s.org_id = e.org_id AND s.dataset_id = e.source_id
""",
    "source": """
FROM ol_dataset s
JOIN {table} e ON e.org_id = s.org_id AND e.source_id = s.dataset_id
JOIN ol_dataset t ON t.org_id = e.org_id AND t.dataset_id = e.target_id
""",
}
_DECLARED_IO = {
    "target": """
FROM ol_dataset t
JOIN lineage_edge e ON e.org_id = t.org_id AND e.target_id = t.dataset_id
JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id AND j.declared_lineage IS NULL
LEFT JOIN lineage_edge i ON i.org_id = e.org_id AND i.target_id = e.source_id AND i.edge_role = 'CONSUMES'
  AND i.evidence = 'declared' AND i.declared_io = j.declared_io
LEFT JOIN ol_dataset s ON s.org_id = i.org_id AND s.dataset_id = i.source_id
""",
    "source": """
FROM ol_dataset s
JOIN lineage_edge i ON i.org_id = s.org_id AND i.source_id = s.dataset_id AND i.edge_role = 'CONSUMES'
  AND i.evidence = 'declared'
JOIN ol_job j ON j.org_id = i.org_id AND j.job_id = i.target_id AND j.declared_lineage IS NULL
  AND j.declared_io = i.declared_io
JOIN lineage_edge e ON e.org_id = i.org_id AND e.source_id = j.job_id AND e.job_id = j.job_id
JOIN ol_dataset t ON t.org_id = e.org_id AND t.dataset_id = e.target_id
""",
}
_BEGAN = "max(coalesce(r.started_at, r.created_at))"
_COLUMNS = f"""
SELECT t.class_id, l.job_id, j.integration, j.job_type, {{above}}, {_BEGAN}, l.columns_set
FROM ol_dataset t
JOIN run_lineage l ON l.org_id = t.org_id AND l.target_id = t.dataset_id
LEFT JOIN ol_job j ON j.org_id = l.org_id AND j.job_id = l.job_id
{_ABOVE.format(of="l")}
WHERE t.org_id = ?1 AND {{end}} {{{{ids}}}} AND r.created_at <= ?2
  AND NOT l.explicit AND NOT r.explicit AND l.columns_set IS NOT NULL
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, l.columns_set
"""
_COLUMN_PAIRS = """
SELECT e.target_id, e.source_id FROM ol_dataset s
JOIN lineage_edge e ON e.org_id = s.org_id AND e.source_id = s.dataset_id
WHERE s.org_id = ?1 AND s.class_id {ids} AND e.edge_role = 'DERIVES' AND e.evidence = 'column'
"""
_SETS = "SELECT set_id, members FROM lineage_set WHERE org_id = ?1 AND set_id {ids}"
_LINES_INTO = """
SELECT c.lineage_id, s.class_id FROM ol_dataset t
JOIN column_lineage c ON c.org_id = t.org_id AND c.target_id = t.dataset_id
JOIN ol_dataset s ON s.org_id = c.org_id AND s.dataset_id = c.source_id
WHERE t.org_id = ?1 AND t.class_id {ids}
"""
_LINES_BETWEEN = """
SELECT c.lineage_id, s.class_id FROM {keys} g
CROSS JOIN column_lineage c
JOIN ol_dataset s ON s.org_id = c.org_id AND s.dataset_id = c.source_id
WHERE c.org_id = ?1 AND c.target_id = g.a AND c.source_id = g.b
"""

#: What speaks for an edge, the strongest first.
EvidenceKind = Literal["explicit", "column", "declared", "inferred"]
_Side = Literal["source", "target"]


class EdgeEvidence(NamedTuple):
    """One asserted edge: who asserts it, above whom, and in which run where runs are kept apart."""

    target: bytes
    #: None where nobody's job asserts it: a rename, what a dataset says of itself.
    reporting_job: bytes | None
    integration: str | None
    job_type: str | None
    run_uuid: str | None
    parent: bytes | None
    grandparent: bytes | None
    root: bytes | None
    source: bytes | None
    evidence: EvidenceKind
    #: When the newest run began that shows it; for ever where no run needs to.
    last_seen: int


class EdgeEvidenceReader:
    """Looks edges up: of all runs together or of each run by itself, as far as they were known at a time."""

    def __init__(self, db: Database, org: str, *, by_run: bool = False, until: int = NO_TIME_LIMIT) -> None:
        self._db = db
        self._org = org
        self._until = until
        self._above = f"{'r.run_uuid' if by_run else 'NULL'}, r.parent_job_id, p.parent_job_id, r.root_job_id"

    def into(self, targets: Collection[bytes]) -> Iterator[EdgeEvidence]:
        """Find the edges into datasets; a job that reads nothing gives an edge without a source."""
        yield from self._direct_evidence(targets, "target")
        stated = self._columns("t.class_id", targets)
        if stated:
            yield from self._column_evidence(stated, self._db.fetch_for_ids(_LINES_INTO, sorted(targets), self._org))

    def out_of(self, sources: Collection[bytes]) -> Iterator[EdgeEvidence]:
        """Find the edges out of datasets."""
        yield from self._direct_evidence(sources, "source")
        pairs = sorted(set(self._db.fetch_for_ids(_COLUMN_PAIRS, sorted(sources), self._org)))
        if pairs:
            stated = self._columns("t.dataset_id", {target for target, _ in pairs})
            yield from self._column_evidence(stated, self._db.fetch_for_keys(_LINES_BETWEEN, pairs, self._org))

    def _direct_evidence(self, ends: Collection[bytes], side: _Side) -> Iterator[EdgeEvidence]:
        """Find the edges that tables name one by one."""
        sql = _stated_sql(self._above, side)
        return map(EdgeEvidence._make, self._db.fetch_for_ids(sql, sorted(ends), self._org, self._until))

    def _columns(self, end: str, targets: Collection[bytes]) -> list[tuple[Any, ...]]:
        sql = _COLUMNS.format(above=self._above, end=end)
        return self._db.fetch_for_ids(sql, sorted(targets), self._org, self._until)

    def _column_evidence(self, stated: list[tuple[Any, ...]], lines: list[tuple[Any, ...]]) -> Iterator[EdgeEvidence]:
        """Give the edges that column lineage names, of those whose lines are given."""
        source_of = dict(lines)
        sets = self._db.fetch_for_ids(_SETS, sorted({row[-1] for row in stated}), self._org)
        sources = {
            set_id: {source_of[line] for line in split_ids(members) if line in source_of} for set_id, members in sets
        }
        for *row, seen, set_id in stated:
            for source in sources[set_id]:
                yield EdgeEvidence._make((*row, source, "column", seen))


@cache
def _stated_sql(above: str, side: _Side) -> str:
    """Write the statement of what runs read and wrote, what is explicit, what is declared, and what was renamed."""
    end = "t.class_id" if side == "target" else "s.class_id"
    kind = "j.integration, j.job_type"
    nobody = "CAST(NULL AS bytea)"
    of_nobody = f"NULL, {nobody}, {nobody}, {nobody}"
    within = f"WHERE {{first}}.org_id = ?1 AND {end} {{{{ids}}}}".format(first=end[0])
    edge = f"{within} AND e.edge_role = 'DERIVES'"
    of_job = "LEFT JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id"
    inferred = _INFERRED[side].format(
        above=_ABOVE.format(of="o"), shown=_SHOWN.format(side="i", table="ol_run_input")
    )
    return f"""
SELECT t.class_id, o.job_id, {kind}, {above}, s.class_id, 'inferred', {_BEGAN}
{inferred} {within} AND r.created_at <= ?2 AND o.dropped_at IS NULL AND NOT r.explicit
  AND {_SHOWN.format(side="o", table="ol_run_output")}
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
UNION ALL
SELECT t.class_id, l.job_id, {kind}, {above}, s.class_id, 'explicit', {_BEGAN}
{_BETWEEN[side].format(table="lineage_edge")} {of_job}
JOIN run_lineage l ON l.org_id = e.org_id AND l.job_id = e.job_id AND l.target_id = e.target_id AND l.explicit
{_ABOVE.format(of="l")} {edge} AND e.evidence = 'explicit' AND e.source_type = 'dataset' AND r.created_at <= ?2
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
UNION ALL
SELECT DISTINCT t.class_id, j.job_id, {kind}, {of_nobody}, s.class_id, 'declared', {NO_TIME_LIMIT}
{_BETWEEN[side].format(table="lineage_edge")} {of_job} {edge} AND e.evidence = 'declared' AND e.first_seen <= ?2
  AND (e.declared_io = j.declared_io
    OR e.declared_lineage = coalesce(j.declared_lineage, CASE WHEN j.job_id IS NULL THEN t.declared_lineage END))
UNION ALL
SELECT DISTINCT t.class_id, j.job_id, {kind}, {of_nobody}, s.class_id, 'declared', {NO_TIME_LIMIT}
{_DECLARED_IO[side]} {within} AND e.first_seen <= ?2
  AND e.edge_role = 'PRODUCES' AND e.evidence = 'declared' AND e.declared_io = j.declared_io
UNION ALL
SELECT DISTINCT t.class_id, {nobody}, NULL, NULL, {of_nobody}, s.class_id, 'explicit', {NO_TIME_LIMIT}
{_BETWEEN[side].format(table="dataset_succession")} {within} AND e.renamed_at <= ?2
"""
