"""What a target was told of moments, and what it was rid of, as it is remembered: some at a time."""

from collections.abc import Iterator
from typing import NamedTuple

from bridge.store.database import Database
from bridge.sync.item import Outcome, Remote

#: In the order of entities and times, whose index is the only one that it can take: no other leads to this order.
_TOLD = f"""
SELECT remote_type, remote_id, remote_name, key FROM sync_item
WHERE org_id = ?1 AND target || '' = ?2 AND kind || '' = ?3
  AND remote_id >= ?4 AND (remote_id > ?4 OR key > ?5) AND settled >= marked
  AND outcome IN ('{Outcome.PUSHED}', '{Outcome.UNCHANGED}')
ORDER BY remote_id, key LIMIT ?6
"""
_REMEMBERED = f"""
SELECT key FROM sync_item
WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND key > ?4 AND settled >= marked AND detail_json IS NOT NULL
  AND outcome NOT IN ('{Outcome.DEAD}', '{Outcome.DROPPED}', '{Outcome.OFF}')
ORDER BY key LIMIT ?5
"""


class Told(NamedTuple):
    """Something that was told of an entity at a time, in milliseconds."""

    key: bytes
    remote: Remote

    @property
    def timestamp(self) -> int:
        """Give the time by which it is known."""
        return int(self.remote.id.rpartition("/")[2])


def told(db: Database, org: str, target: str, kind: str, most: int) -> Iterator[list[Told]]:
    """Give what a target was told of moments and still knows, by its entities and times, so many at a time."""
    after = "", b""
    while rows := db.rows(_TOLD, org, target, kind, *after, most):
        found = [Told(bytes(key), Remote(*remote)) for *remote, key in rows]
        yield found
        after = found[-1].remote.id, found[-1].key


def remembered(db: Database, org: str, target: str, kind: str, most: int) -> Iterator[list[bytes]]:
    """Give the items of which more is remembered than what they are now, so many at a time."""
    after = b""
    while rows := db.rows(_REMEMBERED, org, target, kind, after, most):
        found = [bytes(key) for (key,) in rows]
        yield found
        after = found[-1]
