"""The edges that a target has of us, as they are remembered."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from bridge.store.database import Database, Insert
from bridge.sync.item import Remote

_COLUMNS = "into_key, from_key, into_type, into_id, from_type, from_id, job_key, fingerprint, ours, said_json"
_INTO = f"SELECT {_COLUMNS} FROM sync_edge WHERE org_id = ?1 AND target = ?2 AND into_key {{among}}"
_AFTER = f"""
SELECT {_COLUMNS} FROM sync_edge
WHERE org_id = ?1 AND target = ?2 AND (into_key > ?3 OR into_key = ?3 AND from_key > ?4)
ORDER BY into_key, from_key LIMIT ?5
"""
_READERS = "SELECT DISTINCT into_key FROM sync_edge WHERE org_id = ?1 AND target = ?2 AND {column} {{among}}"
_OUT_OF, _OF_JOBS = _READERS.format(column="from_key"), _READERS.format(column="job_key")
_AT = "SELECT 1 FROM sync_edge WHERE org_id = ?1 AND target = ?2 AND (into_id = ?3 OR from_id = ?3) LIMIT 1"
_BETWEEN = "SELECT 1 FROM sync_edge WHERE org_id = ?1 AND target = ?2 AND from_id = ?3 AND into_id = ?4 LIMIT 1"
_PUT = Insert(
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
_DOUBT = "UPDATE sync_edge SET fingerprint = ?4 WHERE org_id = ?1 AND target = ?2 AND into_key = ?3"
_DOUBT_ALL = "UPDATE sync_edge SET fingerprint = ?3 WHERE org_id = ?1 AND target = ?2"
_FORGET = "DELETE FROM sync_edge WHERE org_id = ?1 AND target = ?2 AND into_key = ?3 AND from_key = ?4"


class EdgeState(NamedTuple):
    """An edge as it was last written: its ends here and there, who stands for it, and what we said of it."""

    into_key: bytes
    from_key: bytes
    into: Remote
    source: Remote
    job: bytes | None
    fingerprint: bytes
    #: Whether nobody had written it before us.
    ours: bool
    said: dict[str, Any]
    #: What we were about to say since, each time that nobody came back to tell.
    tried: Sequence[dict[str, Any]] = ()
    #: A hash of all that it said when it was last seen; None while it is being written.
    seen: str | None = None
    #: Such hashes of what it said before, as long as nobody else wrote it: a backup may bring that back.
    before: Sequence[str] = ()

    def is_between(self, source: Remote, into: Remote) -> bool:
        """Tell whether it was written between these entities."""
        return (self.source.id, self.into.id) == (source.id, into.id)


class EdgeStates:
    """The edges of one target. Not for several threads at once."""

    def __init__(self, db: Database, org: str, target: str) -> None:
        self._db = db
        self._bound = (org, target)

    def into(self, keys: Collection[bytes]) -> dict[bytes, dict[bytes, EdgeState]]:
        """Give the edges into datasets and jobs, by their sources."""
        found: dict[bytes, dict[bytes, EdgeState]] = {key: {} for key in keys}
        for row in self._db.among(_INTO, sorted(set(keys)), *self._bound):
            state = _state(row)
            found[state.into_key][state.from_key] = state
        return found

    def everything(self, most: int) -> Iterator[list[EdgeState]]:
        """Give all edges, so many at a time."""
        after = b"", b""
        while rows := self._db.rows(_AFTER, *self._bound, *after, most):
            states = [_state(row) for row in rows]
            yield states
            after = states[-1].into_key, states[-1].from_key

    def targets_of(self, sources: Collection[bytes]) -> set[bytes]:
        """Find what edges out of these lead into."""
        return {key for (key,) in self._db.among(_OUT_OF, sorted(set(sources)), *self._bound)}

    def targets_by(self, jobs: Collection[bytes]) -> set[bytes]:
        """Find what edges lead into that these jobs stand for."""
        return {key for (key,) in self._db.among(_OF_JOBS, sorted(set(jobs)), *self._bound)}

    def any_at(self, remote_id: str) -> bool:
        """Tell whether any edge begins or ends at an entity."""
        return bool(self._db.rows(_AT, *self._bound, remote_id))

    def is_between(self, source_id: str, into_id: str) -> bool:
        """Tell whether an edge leads from one entity to another."""
        return bool(self._db.rows(_BETWEEN, *self._bound, source_id, into_id))

    def doubt(self, states: Sequence[EdgeState]) -> None:
        """Remember that edges may be as they were written here, though others wrote them since. As above."""
        known = self.into({state.into_key for state in states})
        there = [known[state.into_key].get(state.from_key, state) for state in states]
        pairs = zip(there, states, strict=True)
        self.write([now._replace(fingerprint=b"", tried=(*now.tried, state.said)) for now, state in pairs], [])

    def doubt_into(self, keys: Collection[bytes]) -> None:
        """Let the edges into datasets and jobs be looked at anew. As above."""
        self._db.run_many(_DOUBT, [(*self._bound, key, b"") for key in sorted(set(keys))])

    def doubt_all(self) -> None:
        """Let all edges be looked at anew. As above."""
        self._db.run(_DOUBT_ALL, *self._bound, b"")

    def write(self, put: Sequence[EdgeState], gone: Sequence[EdgeState]) -> None:
        """Remember edges, and forget those that are gone. Within a transaction of the caller."""
        self._db.run_many(_FORGET, [(*self._bound, state.into_key, state.from_key) for state in gone])
        self._db.insert(_PUT, [(*self._bound, *_row(state)) for state in put])


def _state(row: tuple[Any, ...]) -> EdgeState:
    into_key, from_key, into_type, into_id, from_type, from_id, job, fingerprint, ours, said = row
    ends = Remote(into_type, into_id, ""), Remote(from_type, from_id, "")
    return EdgeState(into_key, from_key, *ends, job, fingerprint, bool(ours), *msgspec.json.decode(said))


def _row(state: EdgeState) -> tuple[Any, ...]:
    said = msgspec.json.encode([state.said, state.tried, state.seen, state.before]).decode()
    ends = (state.into.type, state.into.id, state.source.type, state.source.id)
    return (state.into_key, state.from_key, *ends, state.job, state.fingerprint, state.ours, said)
