"""The items of a target in the store: marked, claimed by one worker at a time, settled or postponed."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from bridge.store.database import Database, Insert
from bridge.store.sync_tables import TROUBLED_SQL
from bridge.sync.item import NOT_WANTED, REMOVAL, UNRESOLVED_FOR, Done, Item, Outcome, Postponed, Released, Remote
from bridge.sync.worker import Worker
from mappers.canonical.identity import digest

#: What the target was last sent is not known to be there any more once that was doubted.
_COLUMNS = (
    "kind, key, marked, since, attempts, refusals, outcome, reason, settled_at,"
    " CASE WHEN doubted > settled THEN NULL ELSE fingerprint END AS fingerprint,"
    " remote_type, remote_id, remote_name, ours, detail_json, claim"
)
_MARK = Insert(
    "sync_item",
    {"org_id": str, "target": str, "kind": str, "key": bytes, "marked": int, "since": int, "due_at": int},
    "ON CONFLICT (org_id, target, kind, key) DO UPDATE SET marked = sync_item.marked + 1,"
    " since = CASE WHEN sync_item.settled < sync_item.marked THEN sync_item.since ELSE excluded.since END,"
    " due_at = CASE WHEN sync_item.settled < sync_item.marked THEN sync_item.due_at ELSE excluded.due_at END",
)
_MARK_REMOTE = Insert(
    "sync_item",
    {
        "org_id": str, "target": str, "kind": str, "key": bytes, "marked": int, "since": int, "due_at": int,
        "remote_type": str, "remote_id": str, "remote_name": str, "ours": bool,
    },
    "ON CONFLICT (org_id, target, kind, key) DO UPDATE SET marked = sync_item.marked + 1,"
    " since = excluded.since, due_at = excluded.due_at, remote_type = excluded.remote_type,"
    " remote_id = excluded.remote_id, remote_name = excluded.remote_name",
)  # fmt: skip
#: What nobody else who lives has taken; a worker that takes anew has lost sight of what it took before.
_FREE = """settled < marked AND due_at <= ?4 AND (claim IS NULL OR NOT EXISTS (
  SELECT 1 FROM sync_worker w WHERE w.org_id = ?1 AND w.target = ?2 AND w.worker_id = sync_item.claim
    AND w.worker_id <> ?6 AND w.until >= ?4))"""
_DUE = """
SELECT 1 FROM sync_item WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND settled < marked AND due_at <= ?4 LIMIT 1
"""
_CLAIM = f"""
UPDATE sync_item SET claim = ?6
WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND {_FREE} AND key IN (
  SELECT key FROM sync_item WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND {_FREE}
  ORDER BY due_at, key LIMIT ?5)
RETURNING {_COLUMNS}
"""
#: What is wanted now, whatever is known of it and whenever it is due.
_TAKE = f"""
UPDATE sync_item SET claim = ?5, marked = marked + 1, doubted = marked + 1, attempts = 0, refusals = 0
WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND key {{among}} AND (claim IS NULL OR NOT EXISTS (
  SELECT 1 FROM sync_worker w WHERE w.org_id = ?1 AND w.target = ?2 AND w.worker_id = sync_item.claim
    AND w.worker_id <> ?5 AND w.until >= ?4))
RETURNING {_COLUMNS}
"""
_OF_KEYS = f"SELECT {_COLUMNS} FROM sync_item WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND key {{among}}"
_OF_REMOTE = f"SELECT {_COLUMNS} FROM sync_item WHERE org_id = ?1 AND target = ?2 AND remote_id = ?3"
_TOLD_OF = """
SELECT 1 FROM sync_item
WHERE org_id = ?1 AND target = ?2 AND kind = 'run' AND remote_id > ?3 AND remote_id < ?4 LIMIT 1
"""
_LISTED = f"""
SELECT {_COLUMNS} FROM sync_item WHERE org_id = ?1 AND target = ?2 AND outcome = ?3 ORDER BY settled_at, kind, key
"""
_BEGINNING = "SELECT key FROM sync_item WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND key >= ?4 AND key < ?5"
_LINKED = """
SELECT remote_type, remote_id, remote_name, key FROM sync_item
WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND settled >= marked AND remote_id IS NOT NULL
ORDER BY remote_type, remote_name
"""
_PLACES = """
SELECT remote_name, key FROM sync_item WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND remote_id IS NOT NULL
"""
_WANTED = f"coalesce(outcome, '') NOT IN {tuple(map(str, NOT_WANTED))}"
#: What is not to be there needs no entity; what waits or has none cannot be looked at.
_OWED = f"""
SELECT kind, count(*), coalesce(sum(CASE WHEN settled < marked OR remote_id IS NULL THEN 1 ELSE 0 END), 0)
FROM sync_item WHERE org_id = ?1 AND target = ?2 AND {_WANTED} AND kind <> '{REMOVAL}' GROUP BY kind ORDER BY kind
"""
_AFTER = f"""
SELECT {_COLUMNS} FROM sync_item WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND key > ?4 ORDER BY key LIMIT ?5
"""
_SETTLED_SINCE = f"""
SELECT {_COLUMNS} FROM sync_item
WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND settled >= marked AND settled_at >= ?4 ORDER BY settled_at, key
"""
_PENDING = f"""
SELECT {_COLUMNS} FROM sync_item WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND settled < marked
ORDER BY due_at, key
"""
#: Whose claim was taken over by another worker may not say what became of the item.
_OURS = "org_id = ?1 AND target = ?2 AND kind = ?3 AND key = ?4 AND claim = ?5"
_SETTLE = f"""
UPDATE sync_item SET settled = ?6, outcome = ?7, reason = ?8, settled_at = ?9, fingerprint = ?10, remote_type = ?11,
  remote_id = ?12, remote_name = ?13, ours = ?14, detail_json = ?15, attempts = 0, refusals = 0, claim = NULL
WHERE {_OURS} RETURNING key
"""
_POSTPONE = f"""
UPDATE sync_item SET reason = ?6, due_at = ?7, attempts = attempts + 1, refusals = refusals + ?8, claim = NULL
WHERE {_OURS} RETURNING key
"""
#: What is not known to be in the target as it was last pushed.
_BEGIN = f"UPDATE sync_item SET fingerprint = NULL, detail_json = ?6 WHERE {_OURS}"
_DOUBT = """
UPDATE sync_item SET marked = marked + 1, doubted = marked + 1, due_at = ?5,
  attempts = CASE WHEN ?6 = 1 THEN 0 ELSE attempts END, refusals = CASE WHEN ?6 = 1 THEN 0 ELSE refusals END,
  since = CASE WHEN settled < marked THEN since ELSE ?5 END
WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND key = ?4
"""
_DOUBT_ALL = """
UPDATE sync_item SET marked = marked + 1, doubted = marked + 1, due_at = ?3, since = ?3, attempts = 0, refusals = 0
WHERE org_id = ?1 AND target = ?2 AND remote_id IS NOT NULL
"""
_LOOK_AGAIN = f"""
UPDATE sync_item SET marked = marked + 1, since = ?3, due_at = ?3
WHERE org_id = ?1 AND target = ?2 AND {TROUBLED_SQL} AND outcome = '{Outcome.UNRESOLVED}'
  AND settled >= marked AND settled_at <= ?4
"""
_RELEASE = f"UPDATE sync_item SET claim = NULL WHERE {_OURS} RETURNING key"
_DROP = f"""
UPDATE sync_item SET outcome = '{Outcome.DROPPED}' WHERE org_id = ?1 AND target = ?2 AND kind = ?3 AND key = ?4
  AND outcome = '{Outcome.DEAD}'
"""
_WORDS_CHARACTERS = 2_000
#: What no id comes after.
_AFTER_ANY = b"\xff" * 17
#: How many items are written in one transaction: who writes events waits no longer than for so many.
AT_ONCE = 200


class Items:
    """The items of one target. Not for several threads at once."""

    def __init__(self, db: Database, org: str, target: str, clock: Callable[[], int]) -> None:
        self._db = db
        self._org = org
        self._target = target
        self._clock = clock
        self.worker = Worker(db, org, target, clock)

    def mark(self, wanted: Iterable[tuple[str, bytes]]) -> None:
        """Mark items as changed; those that are new are made. Within a transaction of the caller."""
        now = self._clock()
        rows = [(self._org, self._target, kind, key, 1, now, now) for kind, key in sorted(set(wanted))]
        self._db.insert(_MARK, rows)

    def mark_removals(self, remotes: Iterable[Remote]) -> None:
        """Mark entities to be removed, each an item by itself. Within a transaction of the caller."""
        now = self._clock()
        self._db.insert(
            _MARK_REMOTE,
            [
                (self._org, self._target, REMOVAL, _removal_key(remote.id), 1, now, now, *remote, True)
                for remote in sorted(set(remotes))
            ],
        )

    def claim(self, kind: str, limit: int) -> list[Item]:
        """Take items that are due, those that waited longest first; nobody else gets them while this worker lives."""
        if not self._db.rows(_DUE, self._org, self._target, kind, self._clock()):
            return []
        with self._db.transaction():
            self.worker.renew()
        with self._db.transaction():  # whoever waits for these rows sees that this worker lives
            rows = self._db.rows(_CLAIM, self._org, self._target, kind, self._clock(), limit, self.worker.id)
        return sorted(map(_item, rows), key=lambda item: (item.since, item.key))

    def take(self, kind: str, keys: Collection[bytes]) -> list[Item]:
        """Take items by their keys, as far as nobody else who lives has taken them; nothing is believed of them."""
        with self._db.transaction():
            self.worker.renew()
        bound = (self._org, self._target, kind, self._clock(), self.worker.id)
        with self._db.transaction():
            rows = self._db.among(_TAKE, sorted(set(keys)), *bound)
        return sorted(map(_item, rows), key=lambda item: (item.since, item.key))

    def of(self, kind: str, keys: Collection[bytes]) -> dict[bytes, Item]:
        """Give the items of these keys that there are."""
        rows = self._db.among(_OF_KEYS, sorted(set(keys)), self._org, self._target, kind)
        return {item.key: item for item in map(_item, rows)}

    def of_remote(self, remote_id: str) -> list[Item]:
        """Give the items that are one thing in the target."""
        return [_item(row) for row in self._db.rows(_OF_REMOTE, self._org, self._target, remote_id)]

    def removal(self, remote_id: str) -> Item | None:
        """Give the item that is to remove an entity, or did."""
        return next(iter(self.of(REMOVAL, [_removal_key(remote_id)]).values()), None)

    def any_told_of(self, remote_id: str) -> bool:
        """Tell whether a run is told as a status of this pipeline: ids of statuses begin with that of theirs."""
        return bool(self._db.rows(_TOLD_OF, self._org, self._target, f"{remote_id}/", f"{remote_id}0"))

    def with_outcome(self, outcome: Outcome) -> list[Item]:
        """List the items that ended so, the oldest first."""
        return [_item(row) for row in self._db.rows(_LISTED, self._org, self._target, outcome)]

    def beginning(self, kind: str, ids: Collection[bytes]) -> set[bytes]:
        """List the items of a kind whose keys are several ids, the first of which is one of these."""
        found: set[bytes] = set()
        for id_ in ids:
            rows = self._db.rows(_BEGINNING, self._org, self._target, kind, id_, id_ + _AFTER_ANY)
            found.update(bytes(key) for (key,) in rows)
        return found

    def linked(self, kind: str) -> list[tuple[Remote, bytes]]:
        """List what items of a kind that are not waiting are in the target, in the order of the names there."""
        rows = self._db.rows(_LINKED, self._org, self._target, kind)
        return [(Remote(*remote), bytes(key)) for *remote, key in rows]

    def places(self, kind: str) -> Iterator[tuple[str, bytes]]:
        """Give the names of items of a kind in the target as they were last, whether they are waiting or not."""
        rows = self._db.stream(_PLACES, self._org, self._target, kind)
        return ((name, bytes(key)) for name, key in rows)

    def owed(self) -> list[tuple[str, int, int]]:
        """Count, by kind, what shall be in the target, and what of it is not there or still to be pushed."""
        return [(kind, int(all_), int(left)) for kind, all_, left in self._db.rows(_OWED, self._org, self._target)]

    def everything(self, kind: str, most: int) -> Iterator[list[Item]]:
        """Give all items of a kind, so many at a time."""
        after = b""
        while rows := self._db.rows(_AFTER, self._org, self._target, kind, after, most):
            yield (items := [_item(row) for row in rows])
            after = items[-1].key

    def settled_since(self, kind: str, at: int) -> list[Item]:
        """List the items of a kind that were settled at a time or later, and are not waiting, the oldest first."""
        return [_item(row) for row in self._db.rows(_SETTLED_SINCE, self._org, self._target, kind, at)]

    def pending(self, kind: str) -> list[Item]:
        """List the items of a kind that are waiting."""
        return [_item(row) for row in self._db.rows(_PENDING, self._org, self._target, kind)]

    def finish(self, done: Sequence[Done]) -> set[bytes]:
        """Write down what became of items; gives those that others took over. Within a transaction of the caller.

        What was done to the target for these is not believed: it is looked at anew.
        """
        fenced = [one.item for one in done if not self._finish(one)]
        self.doubt((item.kind, item.key) for item in fenced)
        return {item.key for item in fenced}

    def drop(self, keys: Iterable[tuple[str, bytes]]) -> None:
        """Give items up that are dead. Within a transaction of the caller."""
        self._db.run_many(_DROP, [(self._org, self._target, kind, key) for kind, key in sorted(set(keys))])

    def begin(self, items: Iterable[tuple[Item, dict[str, Any]]]) -> None:
        """Write down, before the target is told, what is about to change: whoever dies now leaves it to be seen."""
        begun = [(*self._key(item), _encoded(detail)) for item, detail in items]
        for i in range(0, len(begun), AT_ONCE):
            with self._db.transaction():
                self._db.run_many(_BEGIN, begun[i : i + AT_ONCE])

    def doubt(self, keys: Iterable[tuple[str, bytes]], *, afresh: bool = False) -> None:
        """Mark items whose things may not be in the target as they should be. Within a transaction of the caller.

        Afresh, they are as if they had never failed.
        """
        now = self._clock()
        rows = [(self._org, self._target, kind, key, now, int(afresh)) for kind, key in sorted(set(keys))]
        self._db.run_many(_DOUBT, rows)

    def doubt_all(self) -> None:
        """Believe nothing of what is in the target. Within a transaction of the caller."""
        self._db.run(_DOUBT_ALL, self._org, self._target, self._clock())

    def look_again(self) -> None:
        """Mark what had no place some time ago: it may have one by now."""
        now = self._clock()
        with self._db.transaction():
            self._db.run(_LOOK_AGAIN, self._org, self._target, now, now - UNRESOLVED_FOR)

    def _key(self, item: Item) -> tuple[str, str, str, bytes, bytes | None]:
        return (self._org, self._target, item.kind, item.key, item.claim)

    def _finish(self, one: Done) -> bool:
        bound = self._key(one.item)
        if isinstance(one, Released):
            return bool(self._db.rows(_RELEASE, *bound))
        reason = one.reason[:_WORDS_CHARACTERS] if one.reason else None
        if isinstance(one, Postponed):
            return bool(self._db.rows(_POSTPONE, *bound, reason, one.due_at, int(one.refused)))
        remote = one.remote or (None, None, None)
        said = (one.outcome, reason, self._clock(), one.fingerprint)
        values = (one.item.marked, *said, *remote, one.ours, _encoded(one.detail))
        return bool(self._db.rows(_SETTLE, *bound, *values))


def _removal_key(remote_id: str) -> bytes:
    return digest(remote_id.encode())


def _encoded(detail: Mapping[str, Any]) -> str | None:
    return msgspec.json.encode(dict(detail)).decode() if detail else None


def _item(row: tuple[Any, ...]) -> Item:
    *head, remote_type, remote_id, remote_name, ours, detail, claim = row
    remote = Remote(remote_type, remote_id, remote_name) if remote_id is not None else None
    return Item._make((*head, remote, bool(ours), msgspec.json.decode(detail) if detail else {}, claim))
