"""Lists inputs that were rejected or could not be merged, for retry."""

from collections.abc import Iterator
from typing import NamedTuple

import zstandard

from bridge.store.database import Database

_ALL = """
SELECT 'rejected' AS kind, payload_hash AS hash, reason, path, source, last_at, receipts, payload IS NULL AS evicted
FROM rejected_event WHERE org_id = ?1
UNION ALL
SELECT 'unmerged', event_hash, failure, '', source, received_at, receipts, FALSE
FROM run_event WHERE org_id = ?1 AND failure IS NOT NULL
ORDER BY last_at, hash
"""
_PAYLOAD = {
    "rejected": "SELECT payload FROM rejected_event WHERE org_id = ?1 AND payload_hash = ?2",
    "unmerged": "SELECT payload FROM run_event WHERE org_id = ?1 AND failure IS NOT NULL AND event_hash = ?2",
}

_IS_REJECTED = "SELECT 1 FROM rejected_event WHERE org_id = ?1 AND payload_hash = ?2"


class FailedInput(NamedTuple):
    """An input that is not part of the canonical state, and the reason."""

    kind: str
    hash: bytes
    reason: str
    path: str
    source: str
    last_at: int
    receipts: int
    evicted: bool


def list_failed_inputs(db: Database, org: str) -> Iterator[FailedInput]:
    """List all inputs that were rejected or could not be merged, oldest first."""
    for *columns, evicted in db.stream(_ALL, org):
        yield FailedInput._make((*columns, bool(evicted)))


def is_rejected(db: Database, org: str, payload_hash: bytes) -> bool:
    return bool(db.fetch_all(_IS_REJECTED, org, payload_hash))


def read_payload(db: Database, org: str, failed_input: FailedInput) -> bytes | None:
    """Return the bytes as they were sent, or None if they were deleted to make room for newer inputs."""
    rows = db.fetch_all(_PAYLOAD[failed_input.kind], org, failed_input.hash)
    compressed_payload = next((payload for (payload,) in rows), None)
    return None if compressed_payload is None else zstandard.decompress(compressed_payload)
