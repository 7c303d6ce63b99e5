"""Which version of a dataset a run read or wrote."""

from collections.abc import Iterable

from bridge.store.database import Database
from bridge.store.graph import Edge
from mappers.canonical.identity import run_id

_READ = """
SELECT i.run_id, d.class_id, i.version FROM {given} g
JOIN ol_dataset d ON d.org_id = ?1 AND d.class_id = g.b
JOIN ol_run_input i ON i.org_id = d.org_id AND i.run_id = g.a AND i.dataset_id = d.dataset_id
WHERE i.version IS NOT NULL
"""
_WRITTEN = """
SELECT v.writer_id, d.class_id, v.version_tag FROM {given} g
JOIN ol_dataset d ON d.org_id = ?1 AND d.class_id = g.b
JOIN dataset_version v ON v.org_id = d.org_id AND v.dataset_id = d.dataset_id AND v.writer_id = g.a
"""


class RunVersions:
    """The versions along edges of runs, all looked up at once."""

    def __init__(self, db: Database, org: str, edges: Iterable[Edge]) -> None:
        self._org = org
        self._runs = {edge: run_id(org, edge.run_uuid) for edge in edges if edge.run_uuid}
        read = sorted({(run, edge.source) for edge, run in self._runs.items() if edge.source})
        written = sorted({(run, edge.target) for edge, run in self._runs.items()})
        self._read = _least(db.given(_READ, read, org))
        self._written = _least(db.given(_WRITTEN, written, org))

    def read(self, edge: Edge) -> str | None:
        """Tell which version of its source the run of an edge read."""
        return self._read.get((self._runs[edge], edge.source)) if edge in self._runs and edge.source else None

    def written(self, edge: Edge) -> str | None:
        """Tell which version of its target the run of an edge wrote."""
        return self._written.get((self._runs[edge], edge.target)) if edge in self._runs else None


def _least(rows: list[tuple[bytes, bytes, str]]) -> dict[tuple[bytes, bytes], str]:
    """Keep one version a run and dataset: a dataset of many names may be told of under each."""
    found: dict[tuple[bytes, bytes], str] = {}
    for run, dataset, version in sorted(rows, key=lambda row: (row[0], row[1], row[2]), reverse=True):
        found[run, dataset] = version
    return found
