"""Reads edge evidence: what runs, facets and declarations assert, in either direction."""

from collections.abc import Collection, Iterator
from functools import cache
from typing import Any, Literal, NamedTuple

from bridge.store.database import Database
from mappers.canonical.identity import split_ids

#: Later than the start of any run, in microseconds.
NO_TIME_LIMIT = (1 << 63) - 1

#: True for an edge `e` of a job `j`, unless a newer declaration replaced the one that declared the edge.
IS_CURRENT_SQL = """
(e.evidence <> 'declared' OR e.declared_io = j.declared_io OR e.declared_lineage = j.declared_lineage)
"""
_IN_LAST_SNAPSHOT = """
(NOT coalesce(j.emits_snapshots, FALSE) OR {side}.last_seen = (
  SELECT max(y.last_seen) FROM {table} y
  WHERE y.org_id = {side}.org_id AND y.run_id = {side}.run_id AND y.job_id = {side}.job_id))
"""
_ANCESTORS = """
JOIN ol_run r ON r.org_id = {alias}.org_id AND r.run_id = {alias}.run_id
LEFT JOIN ol_run p ON p.org_id = r.org_id AND p.run_id = r.parent_run_id
"""
#: Joins of the target `t` and the source `s` of an edge, in order of lookup: first the given end, then the other.
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
_BY_EDGE = {
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
_LAST_START = "max(coalesce(r.started_at, r.created_at))"
_COLUMN_SETS = f"""
SELECT t.class_id, l.job_id, j.integration, j.job_type, {{above}}, {_LAST_START}, l.columns_set
FROM ol_dataset t
JOIN run_lineage l ON l.org_id = t.org_id AND l.target_id = t.dataset_id
LEFT JOIN ol_job j ON j.org_id = l.org_id AND j.job_id = l.job_id
{_ANCESTORS.format(alias="l")}
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
_COLUMN_SOURCES_INTO = """
SELECT c.lineage_id, s.class_id FROM ol_dataset t
JOIN column_lineage c ON c.org_id = t.org_id AND c.target_id = t.dataset_id
JOIN ol_dataset s ON s.org_id = c.org_id AND s.dataset_id = c.source_id
WHERE t.org_id = ?1 AND t.class_id {ids}
"""
_COLUMN_SOURCES_BETWEEN = """
SELECT c.lineage_id, s.class_id FROM {keys} g
CROSS JOIN column_lineage c
JOIN ol_dataset s ON s.org_id = c.org_id AND s.dataset_id = c.source_id
WHERE c.org_id = ?1 AND c.target_id = g.a AND c.source_id = g.b
"""

#: Kinds of evidence, the strongest first.
EvidenceKind = Literal["explicit", "column", "declared", "inferred"]
_Side = Literal["source", "target"]


class EdgeEvidence(NamedTuple):
    """One assertion of an edge: the reporting job with its ancestors and, if evidence is read per run, the run."""

    target: bytes
    #: None if no job asserts the edge: a rename, or a declaration of the dataset itself.
    reporting_job: bytes | None
    integration: str | None
    job_type: str | None
    run_uuid: str | None
    parent: bytes | None
    grandparent: bytes | None
    root: bytes | None
    source: bytes | None
    evidence: EvidenceKind
    #: Start of the newest run that reports the edge, in microseconds; NO_TIME_LIMIT if no run is needed.
    last_seen: int


class EdgeEvidenceReader:
    """Reads edge evidence, aggregated over all runs or per run, as it was known at a given time."""

    def __init__(self, db: Database, org: str, *, by_run: bool = False, until: int = NO_TIME_LIMIT) -> None:
        self._db = db
        self._org = org
        self._until = until
        self._ancestor_columns = (
            f"{'r.run_uuid' if by_run else 'NULL'}, r.parent_job_id, p.parent_job_id, r.root_job_id"
        )

    def into(self, targets: Collection[bytes]) -> Iterator[EdgeEvidence]:
        """Read the edges into datasets. A job that reads nothing yields an edge without a source."""
        yield from self._direct_evidence(targets, "target")
        column_sets = self._read_column_sets("t.class_id", targets)
        if column_sets:
            column_sources = self._db.fetch_for_ids(_COLUMN_SOURCES_INTO, sorted(targets), self._org)
            yield from self._column_evidence(column_sets, column_sources)

    def out_of(self, sources: Collection[bytes]) -> Iterator[EdgeEvidence]:
        """Read the edges out of datasets."""
        yield from self._direct_evidence(sources, "source")
        pairs = sorted(set(self._db.fetch_for_ids(_COLUMN_PAIRS, sorted(sources), self._org)))
        if pairs:
            column_sets = self._read_column_sets("t.dataset_id", {target for target, _ in pairs})
            column_sources = self._db.fetch_for_keys(_COLUMN_SOURCES_BETWEEN, pairs, self._org)
            yield from self._column_evidence(column_sets, column_sources)

    def _direct_evidence(self, groups: Collection[bytes], side: _Side) -> Iterator[EdgeEvidence]:
        sql = _direct_evidence_sql(self._ancestor_columns, side)
        return map(EdgeEvidence._make, self._db.fetch_for_ids(sql, sorted(groups), self._org, self._until))

    def _read_column_sets(self, target_column: str, targets: Collection[bytes]) -> list[tuple[Any, ...]]:
        """Read what runs report about targets, which are group ids or dataset ids, depending on the SQL column."""
        sql = _COLUMN_SETS.format(above=self._ancestor_columns, end=target_column)
        return self._db.fetch_for_ids(sql, sorted(targets), self._org, self._until)

    def _column_evidence(
        self, column_sets: list[tuple[Any, ...]], column_sources: list[tuple[Any, ...]]
    ) -> Iterator[EdgeEvidence]:
        """Yield the edges that column lineage asserts. `column_sources` are pairs of lineage id and source group."""
        source_by_lineage_id = dict(column_sources)
        set_ids = sorted({set_id for *_, set_id in column_sets})
        sources_by_set: dict[bytes, set[bytes]] = {}
        for set_id, members in self._db.fetch_for_ids(_SETS, set_ids, self._org):
            lineage_ids = source_by_lineage_id.keys() & split_ids(members)
            sources_by_set[set_id] = {source_by_lineage_id[lineage_id] for lineage_id in lineage_ids}
        for *target_and_jobs, last_seen, set_id in column_sets:
            for source in sources_by_set[set_id]:
                yield EdgeEvidence._make((*target_and_jobs, source, "column", last_seen))


@cache
def _direct_evidence_sql(ancestor_columns: str, side: _Side) -> str:
    """Build the query of edges from inputs and outputs, explicit lineage, declarations and renames."""
    alias = "t" if side == "target" else "s"
    job_type = "j.integration, j.job_type"
    null_id = "CAST(NULL AS bytea)"
    no_ancestors = f"NULL, {null_id}, {null_id}, {null_id}"
    where = f"WHERE {alias}.org_id = ?1 AND {alias}.class_id {{ids}}"
    derives = f"{where} AND e.edge_role = 'DERIVES'"
    join_job = "LEFT JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id"
    inferred = _INFERRED[side].format(
        above=_ANCESTORS.format(alias="o"), shown=_IN_LAST_SNAPSHOT.format(side="i", table="ol_run_input")
    )
    return f"""
SELECT t.class_id, o.job_id, {job_type}, {ancestor_columns}, s.class_id, 'inferred', {_LAST_START}
{inferred} {where} AND r.created_at <= ?2 AND o.dropped_at IS NULL AND NOT r.explicit
  AND {_IN_LAST_SNAPSHOT.format(side="o", table="ol_run_output")}
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
UNION ALL
SELECT t.class_id, l.job_id, {job_type}, {ancestor_columns}, s.class_id, 'explicit', {_LAST_START}
{_BY_EDGE[side].format(table="lineage_edge")} {join_job}
JOIN run_lineage l ON l.org_id = e.org_id AND l.job_id = e.job_id AND l.target_id = e.target_id AND l.explicit
{_ANCESTORS.format(alias="l")} {derives} AND e.evidence = 'explicit' AND e.source_type = 'dataset'
  AND r.created_at <= ?2
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
UNION ALL
SELECT DISTINCT t.class_id, j.job_id, {job_type}, {no_ancestors}, s.class_id, 'declared', {NO_TIME_LIMIT}
{_BY_EDGE[side].format(table="lineage_edge")} {join_job} {derives} AND e.evidence = 'declared' AND e.first_seen <= ?2
  AND (e.declared_io = j.declared_io
    OR e.declared_lineage = coalesce(j.declared_lineage, CASE WHEN j.job_id IS NULL THEN t.declared_lineage END))
UNION ALL
SELECT DISTINCT t.class_id, j.job_id, {job_type}, {no_ancestors}, s.class_id, 'declared', {NO_TIME_LIMIT}
{_DECLARED_IO[side]} {where} AND e.first_seen <= ?2
  AND e.edge_role = 'PRODUCES' AND e.evidence = 'declared' AND e.declared_io = j.declared_io
UNION ALL
SELECT DISTINCT t.class_id, {null_id}, NULL, NULL, {no_ancestors}, s.class_id, 'explicit', {NO_TIME_LIMIT}
{_BY_EDGE[side].format(table="dataset_succession")} {where} AND e.renamed_at <= ?2
"""
