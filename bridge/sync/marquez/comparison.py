"""Compares what Marquez has with what it was told: the newest run of each job, and the graph that this run left."""

from collections.abc import Iterator, Sequence

from bridge.sync.item import Item
from bridge.sync.marquez.bench import NAME, Bench
from bridge.sync.marquez.stored import read_runs
from bridge.sync.marquez.telling import chosen_of
from bridge.sync.target import Compared, Difference
from connectors.marquez.client import Entity
from mappers.marquez.events import RUNNING, state_of
from mappers.marquez.model import is_other_name

_AT_ONCE = 100
#: The state of a run that was told of, and not begun.
_NEW = "NEW"
_GONE = "is not there"
_TOLD = """
SELECT i.key, r.job_id, row_number() OVER (
  PARTITION BY r.job_id ORDER BY coalesce(r.started_at, r.created_at) DESC, r.run_id DESC) AS place
FROM sync_item i JOIN ol_run r ON r.org_id = i.org_id AND r.run_id = i.key
WHERE i.org_id = ?1 AND i.target = ?2 AND i.kind = 'run' AND i.remote_id IS NOT NULL AND i.settled >= i.marked
"""
_NEWEST = f"SELECT job_id, key FROM ({_TOLD}) n WHERE n.place = 1 ORDER BY job_id"
_OLDER = f"SELECT key FROM ({_TOLD} AND r.job_id = ?3) n WHERE n.place > ?4 ORDER BY n.place LIMIT ?5"


class Comparison:
    """Says what is not as it was left; calls run in threads. Not for several threads at once."""

    def __init__(self, at: Bench) -> None:
        self._at = at

    def slices(self) -> Iterator[Compared]:
        """Compare the newest run of each job; where it is gone, the others too: a backup may be back."""
        newest = self._at.db.rows(_NEWEST, self._at.org, NAME)
        for i in range(0, len(newest), _AT_ONCE):
            jobs = {bytes(run): bytes(job) for job, run in newest[i : i + _AT_ONCE]}
            found = self._compared(list(jobs), newest=True)
            yield Compared("run", len(jobs), found)
            for one in found:
                if one.what == _GONE:
                    yield from self._older(jobs[one.key])

    def _older(self, job: bytes) -> Iterator[Compared]:
        """Look for older runs of a job until some are there."""
        place = 1
        while rows := self._at.db.rows(_OLDER, self._at.org, NAME, job, place, _AT_ONCE):
            found = self._compared([bytes(run) for (run,) in rows], newest=False)
            yield Compared("run", len(rows), found)
            if len(found) < len(rows):
                return
            place += len(rows)

    def _compared(self, runs: Sequence[bytes], *, newest: bool) -> list[Difference]:
        stored = read_runs(self._at.db, self._at.org, runs)
        events = {key: list(chosen_of(stored[key]).values()) for key in runs if stored[key].events}
        items = self._at.items.of("run", runs)
        asked = [(items[key], found) for key, found in events.items() if key in items]
        wrong = self._at.pool.map(lambda one: self._what(*one, newest=newest), asked)
        return [
            Difference("run", item.key, item.remote.name if item.remote else "", what)
            for (item, _), what in zip(asked, wrong, strict=True)
            if what
        ]

    def _what(self, item: Item, events: Sequence[Entity], *, newest: bool) -> str | None:
        """Say what of a run, and of the graph that the newest one leaves, is not as it was left."""
        there = self._at.client.run(item.remote.id) if item.remote else None
        if there is None:
            return _GONE
        wanted, state = state_of(events[-1]), there.get("state")
        if state != wanted and not (wanted == RUNNING and state == _NEW):
            return f"is {state}, not {wanted}"
        version = there.get("jobVersion")
        if not newest or wanted == RUNNING or not version:
            return None
        job = self._at.client.job(version["namespace"], version["name"]) or {}
        return self._differing(job, events)

    def _differing(self, job: Entity, events: Sequence[Entity]) -> str | None:
        """Say which datasets the graph of a job lacks, or has too many; other names of them are shown as well."""
        for side, word in (("inputs", "input"), ("outputs", "output")):
            wanted = {(one["namespace"], one["name"]) for event in events for one in event[side]}
            there = {(one["namespace"], one["name"]) for one in job.get(side) or ()}
            if lacking := sorted(wanted - there):
                return f"its job lacks the {word} {' '.join(lacking[0])}"
            for name in sorted(there - wanted):
                if not is_other_name(self._at.client.dataset(*name) or {}):
                    return f"its job has another {word}, {' '.join(name)}"
        return None
