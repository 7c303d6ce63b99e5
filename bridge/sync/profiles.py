"""Figures of datasets as runs report them: what they wrote, and what was measured of what they read or wrote."""

from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec

from bridge.store.database import Database

_WRITTEN = """
SELECT g.a, g.b, d.class_id, v.produced_at, i.last_seen, v.row_count, v.byte_count, t.lifecycle, t.run_id
FROM {given} g
JOIN ol_dataset d ON d.org_id = ?1 AND d.dataset_id = g.a
LEFT JOIN dataset_version v ON v.org_id = ?1 AND v.dataset_id = g.a AND v.writer_id = g.b
LEFT JOIN ol_run_output t ON t.org_id = ?1 AND t.run_id = g.b AND t.dataset_id = g.a
LEFT JOIN ol_run_input i ON i.org_id = ?1 AND i.run_id = g.b AND i.dataset_id = g.a
ORDER BY g.a, g.b
"""
_MEASURED = """
SELECT g.a, g.b, f.body FROM {given} g
JOIN facet f ON f.org_id = ?1 AND f.owner_id = g.b AND f.about_id = g.a
  AND f.name IN ('input:dataQualityMetrics', 'output:dataQualityMetrics') AND f.body IS NOT NULL
ORDER BY f.name
"""
_COLUMNS = """
SELECT class_id, count(*) FROM class_field WHERE org_id = ?1 AND class_id {among} AND depth = 0 GROUP BY class_id
"""
_ID_BYTES = 16


class StoredProfile(NamedTuple):
    """Figures of a dataset, by its class, of one run; the time is in microseconds."""

    dataset: bytes
    at: int
    rows: int | None
    bytes: int | None
    change: str | None
    wrote: bool
    columns: int
    measured: dict[str, Any]


def read_profiles(db: Database, org: str, keys: Collection[bytes]) -> dict[bytes, StoredProfile]:
    """Read figures, by keys that are the id of a dataset and that of a run."""
    pairs = [(key[:_ID_BYTES], key[_ID_BYTES:]) for key in sorted(set(keys))]
    measured: dict[bytes, dict[str, Any]] = {}
    for dataset, run, body in db.given(_MEASURED, pairs, org):
        said = msgspec.json.decode(body)
        if isinstance(said, dict):
            measured[dataset + run] = said
    found: dict[bytes, StoredProfile] = {}
    rows = db.given(_WRITTEN, pairs, org)
    columns = dict(db.among(_COLUMNS, sorted({row[2] for row in rows}), org))
    for dataset, run, class_id, produced_at, read_at, count, size, change, wrote in rows:
        at = max((time for time in (produced_at, read_at) if time is not None), default=None)
        if at is not None and dataset + run not in found:
            found[dataset + run] = StoredProfile(
                class_id, at, count, size, change, wrote is not None, columns.get(class_id, 0),
                measured.get(dataset + run, {}),
            )  # fmt: skip
    return found
