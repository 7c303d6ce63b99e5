"""Lists sync items for planning, comparison and status."""

from collections.abc import Iterator
from typing import NamedTuple

from bridge.store.database import Database
from bridge.sync.sync_item import Outcome, RemoteReference

#: `|| ''` rules out the other indexes, so that the index on (remote_id, key) supplies the order.
_PUSHED = f"""
SELECT remote_type, remote_id, remote_name, key FROM sync_item
WHERE org_id = ?1 AND target || '' = ?2 AND kind || '' = ?3
  AND remote_id >= ?4 AND (remote_id > ?4 OR key > ?5) AND settled >= marked
  AND outcome IN ('{Outcome.PUSHED}', '{Outcome.UNCHANGED}')
ORDER BY remote_id, key LIMIT ?6
"""
_WITH_RECORD = f"""
SELECT key FROM sync_item
WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND key > ?4 AND settled >= marked AND detail_json IS NOT NULL
  AND outcome NOT IN ('{Outcome.DEAD}', '{Outcome.DROPPED}', '{Outcome.OFF}')
ORDER BY key LIMIT ?5
"""


class PushedObservation(NamedTuple):
    """A pushed run status, test result or profile; its timestamp is in milliseconds."""

    key: bytes
    remote: RemoteReference

    @property
    def timestamp(self) -> int:
        return int(self.remote.id.rpartition("/")[2])


def pushed_observations(
    db: Database, org: str, target: str, kind: str, limit: int
) -> Iterator[list[PushedObservation]]:
    """Read pushed observations, ordered by entity and time, in batches of `limit`."""
    after = "", b""
    while rows := db.fetch_all(_PUSHED, org, target, kind, *after, limit):
        observations = [PushedObservation(bytes(key), RemoteReference(*remote)) for *remote, key in rows]
        yield observations
        after = observations[-1].remote.id, observations[-1].key


def items_with_history(db: Database, org: str, target: str, kind: str, limit: int) -> Iterator[list[bytes]]:
    """Keys of completed items that have a record (`detail_json`), in batches of `limit`."""
    after = b""
    while rows := db.fetch_all(_WITH_RECORD, org, target, kind, after, limit):
        keys = [bytes(key) for (key,) in rows]
        yield keys
        after = keys[-1]
