"""Persists the lineage edges that were pushed to a target."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from bridge.store.database import Database, Insert
from bridge.sync.sync_item import RemoteReference

_COLUMNS = "into_key, from_key, into_type, into_id, from_type, from_id, job_key, fingerprint, ours, said_json"
_INTO = f"SELECT {_COLUMNS} FROM sync_edge WHERE org_id = ?1 AND target = ?2 AND into_key {{ids}}"
_NEXT = f"""
SELECT {_COLUMNS} FROM sync_edge
WHERE org_id = ?1 AND target = ?2 AND (into_key > ?3 OR into_key = ?3 AND from_key > ?4)
ORDER BY into_key, from_key LIMIT ?5
"""
_TARGETS_BY = "SELECT DISTINCT into_key FROM sync_edge WHERE org_id = ?1 AND target = ?2 AND {column} {{ids}}"
_TARGETS_OF_SOURCES, _TARGETS_OF_JOBS = _TARGETS_BY.format(column="from_key"), _TARGETS_BY.format(column="job_key")
_HAS_EDGES = "SELECT 1 FROM sync_edge WHERE org_id = ?1 AND target = ?2 AND (into_id = ?3 OR from_id = ?3) LIMIT 1"
_CONNECTS = "SELECT 1 FROM sync_edge WHERE org_id = ?1 AND target = ?2 AND from_id = ?3 AND into_id = ?4 LIMIT 1"
_UPSERT = Insert(
    "sync_edge",
    {
        "org_id": str, "target": str, "into_key": bytes, "from_key": bytes, "into_type": str, "into_id": str,
        "from_type": str, "from_id": str, "job_key": bytes, "fingerprint": bytes, "ours": bool, "said_json": str,
    },
    "ON CONFLICT (org_id, target, into_key, from_key) DO UPDATE SET into_type = excluded.into_type,"
    " into_id = excluded.into_id, from_type = excluded.from_type, from_id = excluded.from_id,"
    " job_key = excluded.job_key, fingerprint = excluded.fingerprint, ours = excluded.ours,"
    " said_json = excluded.said_json",
)  # fmt: skip
_INVALIDATE_INTO = "UPDATE sync_edge SET fingerprint = ?4 WHERE org_id = ?1 AND target = ?2 AND into_key = ?3"
_INVALIDATE_ALL = "UPDATE sync_edge SET fingerprint = ?3 WHERE org_id = ?1 AND target = ?2"
_DELETE = "DELETE FROM sync_edge WHERE org_id = ?1 AND target = ?2 AND into_key = ?3 AND from_key = ?4"


class EdgeRecord(NamedTuple):
    """A lineage edge as it was last written."""

    target_key: bytes
    source_key: bytes
    target: RemoteReference
    source: RemoteReference
    job: bytes | None
    fingerprint: bytes
    #: Whether this bridge created the edge.
    created_by_us: bool
    content: dict[str, Any]
    #: Contents of later writes with an unknown result.
    attempted: Sequence[dict[str, Any]] = ()
    #: Hash of the whole remote edge when it was last read; None while a write is in progress.
    content_hash: str | None = None
    #: Earlier hashes since another client last changed the edge; a restored backup may contain one of them.
    earlier_hashes: Sequence[str] = ()

    def connects(self, source: RemoteReference, target: RemoteReference) -> bool:
        """True if the edge was written between these entities."""
        return (self.source.id, self.target.id) == (source.id, target.id)


class EdgeStore:
    """The edges of one target. Not thread-safe."""

    def __init__(self, db: Database, org: str, target: str) -> None:
        self._db = db
        self._org_and_target = (org, target)

    def into(self, keys: Collection[bytes]) -> dict[bytes, dict[bytes, EdgeRecord]]:
        """Return edges into datasets and jobs, by target key, then by source key."""
        edges: dict[bytes, dict[bytes, EdgeRecord]] = {key: {} for key in keys}
        for row in self._db.fetch_for_ids(_INTO, sorted(set(keys)), *self._org_and_target):
            edge = _decode_edge(row)
            edges[edge.target_key][edge.source_key] = edge
        return edges

    def batches(self, limit: int) -> Iterator[list[EdgeRecord]]:
        """Yield all edges, in batches of `limit`."""
        after = b"", b""
        while rows := self._db.fetch_all(_NEXT, *self._org_and_target, *after, limit):
            edges = [_decode_edge(row) for row in rows]
            yield edges
            after = edges[-1].target_key, edges[-1].source_key

    def targets_of_sources(self, sources: Collection[bytes]) -> set[bytes]:
        """Return keys of the datasets and jobs that edges from these sources lead to."""
        rows = self._db.fetch_for_ids(_TARGETS_OF_SOURCES, sorted(set(sources)), *self._org_and_target)
        return {key for (key,) in rows}

    def targets_of_jobs(self, jobs: Collection[bytes]) -> set[bytes]:
        """Return keys of the datasets and jobs that edges of these jobs lead to."""
        rows = self._db.fetch_for_ids(_TARGETS_OF_JOBS, sorted(set(jobs)), *self._org_and_target)
        return {key for (key,) in rows}

    def has_edges(self, remote_id: str) -> bool:
        """True if an edge starts or ends at an entity."""
        return bool(self._db.fetch_all(_HAS_EDGES, *self._org_and_target, remote_id))

    def connects(self, source_id: str, target_id: str) -> bool:
        """True if an edge connects two entities."""
        return bool(self._db.fetch_all(_CONNECTS, *self._org_and_target, source_id, target_id))

    def invalidate(self, edges: Sequence[EdgeRecord]) -> None:
        """Invalidate edges that this worker may have written after another worker had taken them over.

        This method and all write methods below must be called inside a transaction.
        """
        stored_edges = self.into({edge.target_key for edge in edges})
        current_edges = [stored_edges[edge.target_key].get(edge.source_key, edge) for edge in edges]
        invalidated = [
            current._replace(fingerprint=b"", attempted=(*current.attempted, edge.content))
            for current, edge in zip(current_edges, edges, strict=True)
        ]
        self.write(invalidated, [])

    def invalidate_edges_into(self, keys: Collection[bytes]) -> None:
        """Invalidate the edges into these datasets and jobs, so that they are written again if they differ."""
        self._db.execute_many(_INVALIDATE_INTO, [(*self._org_and_target, key, b"") for key in sorted(set(keys))])

    def invalidate_all(self) -> None:
        """Invalidate all edges, so that they are written again if they differ."""
        self._db.execute(_INVALIDATE_ALL, *self._org_and_target, b"")

    def write(self, written: Sequence[EdgeRecord], deleted: Sequence[EdgeRecord]) -> None:
        """Store written edges and remove deleted ones."""
        deleted_keys = [(*self._org_and_target, edge.target_key, edge.source_key) for edge in deleted]
        self._db.execute_many(_DELETE, deleted_keys)
        self._db.insert(_UPSERT, [(*self._org_and_target, *_encode_edge(edge)) for edge in written])


def _decode_edge(row: tuple[Any, ...]) -> EdgeRecord:
    into_key, from_key, into_type, into_id, from_type, from_id, job, fingerprint, created_by_us, content = row
    endpoints = RemoteReference(into_type, into_id, ""), RemoteReference(from_type, from_id, "")
    return EdgeRecord(
        into_key, from_key, *endpoints, job, fingerprint, bool(created_by_us), *msgspec.json.decode(content)
    )


def _encode_edge(edge: EdgeRecord) -> tuple[Any, ...]:
    content = msgspec.json.encode([edge.content, edge.attempted, edge.content_hash, edge.earlier_hashes]).decode()
    endpoints = (edge.target.type, edge.target.id, edge.source.type, edge.source.id)
    return (edge.target_key, edge.source_key, *endpoints, edge.job, edge.fingerprint, edge.created_by_us, content)
