"""Summary of the lineage in a store, in the notation of the expected cases."""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from bridge.store.lineage.graph import LineageGraph
from bridge.store.sqlite import SqliteDatabase

_ORG = "default"
_DATASETS = "SELECT dataset_id, namespace, name FROM dataset WHERE org_id = ?1 AND status = 'ACTIVE'"
_VERSIONS = """
SELECT class_id, row_count FROM dataset_version_read WHERE org_id = ?1 ORDER BY produced_at, version_tag
"""
_COLUMNS = """
SELECT s.class_id, c.source_field, t.class_id, c.target_field, c.transformation_subtype, c.masking
FROM column_lineage c
JOIN ol_dataset s ON s.org_id = c.org_id AND s.dataset_id = c.source_id
JOIN ol_dataset t ON t.org_id = c.org_id AND t.dataset_id = c.target_id
WHERE c.org_id = ?1 AND c.is_active
"""
_OUTCOMES = """
SELECT j.name, r.status, r.status_derived, r.error_message FROM process_run r
JOIN ol_job j ON j.org_id = r.org_id AND j.job_id = r.process_id
WHERE r.org_id = ?1 AND j.job_type = 'APPLICATION'
"""
_RUNNING = """
SELECT j.name FROM process_run r JOIN ol_job j ON j.org_id = r.org_id AND j.job_id = r.process_id
WHERE r.org_id = ?1 AND r.status = 'STARTED'
"""


class StoreSummary(NamedTuple):
    """Lineage of the store; edges are `source -> target`, columns are `source.column -> target.column HOW`."""

    datasets: set[str]
    versions: dict[str, list[int | None]]
    edges: set[str]
    columns: set[str]
    outcomes: dict[str, str]
    errors: dict[str, str]
    running: set[str]


def summarize_store(store: Path, base: Path, postgres: str = "") -> StoreSummary:
    """Summarize a store; names omit the folder and port, which vary between runs."""
    with closing(SqliteDatabase.for_reading(store)) as db:
        graph = LineageGraph(db, _ORG)
        names = {
            dataset: _short(namespace, name, base, postgres)
            for dataset, namespace, name in db.fetch_all(_DATASETS, _ORG)
        }
        versions: dict[str, list[int | None]] = {}
        for dataset, rows in db.fetch_all(_VERSIONS, _ORG):
            if dataset in names:
                versions.setdefault(names[dataset], []).append(rows)
        edges = {
            f"{names[edge.source]} -> {names[edge.target]}" for edge in graph.upstream(names) if edge.source in names
        }
        columns = {
            f"{names[source]}.{field or '*'} -> {names[target]}.{column or '*'} {how}{' MASKED' if masked else ''}"
            for source, field, target, column, how, masked in db.fetch_all(_COLUMNS, _ORG)
            if source in names and target in names
        }
        outcome_rows = db.fetch_all(_OUTCOMES, _ORG)
        outcomes = {name: f"{status}{' (derived)' if derived else ''}" for name, status, derived, _ in outcome_rows}
        errors = {name: error for name, _, _, error in outcome_rows if error}
        running = {name for (name,) in db.fetch_all(_RUNNING, _ORG)}
    return StoreSummary(set(names.values()), versions, edges, columns, outcomes, errors, running)


def _short(namespace: str, name: str, base: Path, postgres: str) -> str:
    if namespace == "file":
        return name.removeprefix(f"{base}/")
    if postgres and namespace == postgres:
        return f"postgres:{name}"
    return f"{namespace.removeprefix(f'file:{base}/')}:{name}"


def facts(text: str) -> set[str]:
    """Lines of a hand-written table, with normalized spaces."""
    return {" ".join(line.split()) for line in text.strip().splitlines() if line.strip()}


def unexplained(actual: Iterable[str], expected: Iterable[str]) -> list[str]:
    """Missing and unexpected facts, as a readable assertion message."""
    actual, expected = set(actual), set(expected)
    return sorted(
        [*(f"missing: {fact}" for fact in expected - actual), *(f"unexpected: {fact}" for fact in actual - expected)]
    )
