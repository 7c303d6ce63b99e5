"""What could not be taken or merged: listed, shown, and ready to be tried again."""

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

import zstandard

_ALL = """
SELECT 'rejected' AS kind, payload_hash AS hash, reason, path, source, last_at, receipts, payload IS NULL AS evicted
FROM rejected_event WHERE org_id = ?1
UNION ALL
SELECT 'unmerged', event_hash, failure, '', source, received_at, receipts, 0
FROM run_event WHERE org_id = ?1 AND failure IS NOT NULL
ORDER BY last_at, hash
"""
_PAYLOAD = {
    "rejected": "SELECT payload FROM rejected_event WHERE org_id = ? AND payload_hash = ?",
    "unmerged": "SELECT payload FROM run_event WHERE org_id = ? AND failure IS NOT NULL AND event_hash = ?",
}


class Trouble(NamedTuple):
    """An input that did not become part of the canonical state, and why."""

    kind: str
    hash: bytes
    reason: str
    path: str
    source: str
    last_at: int
    receipts: int
    evicted: bool


def list_troubles(connection: sqlite3.Connection, org: str) -> Iterator[Trouble]:
    """List everything that was refused or could not be merged, oldest first."""
    for row in connection.execute(_ALL, (org,)):
        yield Trouble(*row)


def payload_of(connection: sqlite3.Connection, org: str, trouble: Trouble) -> bytes | None:
    """Give the bytes as they were sent; None when they had to make room for newer ones."""
    row = connection.execute(_PAYLOAD[trouble.kind], (org, trouble.hash)).fetchone()
    return zstandard.decompress(row[0]) if row and row[0] is not None else None
