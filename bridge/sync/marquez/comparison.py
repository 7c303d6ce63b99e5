"""Compares what Marquez has with what it was told: the newest run of each job, and the graph that this run left."""

from collections.abc import Iterator, Sequence

from bridge.sync.item import Item
from bridge.sync.marquez.bench import NAME, Bench
from bridge.sync.marquez.stored import read_runs
from bridge.sync.marquez.telling import chosen_of
from bridge.sync.target import Compared, Difference
from connectors.marquez.client import Entity

_AT_ONCE = 100
#: The states that runs are left in by their last events; those that are over make the graph.
_STATES = {"COMPLETE": "COMPLETED", "FAIL": "FAILED", "ABORT": "ABORTED"}
_RUNNING = "RUNNING"
_TOLD = """
SELECT r.job_id, i.key FROM sync_item i JOIN ol_run r ON r.org_id = i.org_id AND r.run_id = i.key
WHERE i.org_id = ?1 AND i.target = ?2 AND i.kind = 'run' AND i.remote_id IS NOT NULL AND i.settled >= i.marked
ORDER BY r.job_id, coalesce(r.started_at, r.created_at) DESC, r.run_id DESC
"""


class Comparison:
    """Says what is not as it was left; calls run in threads. Not for several threads at once."""

    def __init__(self, at: Bench) -> None:
        self._at = at

    def slices(self) -> Iterator[Compared]:
        """Compare the newest run of each job; where it is gone, the others too: a backup may be back."""
        of_jobs: dict[bytes, list[bytes]] = {}
        for job, run in self._at.db.rows(_TOLD, self._at.org, NAME):
            of_jobs.setdefault(bytes(job), []).append(bytes(run))
        left = list(of_jobs.values())
        while left:
            now, left = left[:_AT_ONCE], left[_AT_ONCE:]
            found = self._compared([runs[0] for runs in now], newest=True)
            yield Compared("run", len(now), found)
            gone = {one.key for one in found if one.what == _GONE}
            for runs in now:
                if runs[0] in gone:
                    yield from self._older(runs[1:])

    def _older(self, runs: Sequence[bytes]) -> Iterator[Compared]:
        """Look for older runs of a job until some are there."""
        for i in range(0, len(runs), _AT_ONCE):
            found = self._compared(runs[i : i + _AT_ONCE], newest=False)
            yield Compared("run", len(runs[i : i + _AT_ONCE]), found)
            if len(found) < len(runs[i : i + _AT_ONCE]):
                return

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
        wanted = _STATES.get(str(events[-1].get("eventType", "")).upper(), _RUNNING)
        if there.get("state") != wanted and (wanted != _RUNNING or there.get("state") in _STATES.values()):
            return f"is {there.get('state')}, not {wanted}"
        version = there.get("jobVersion")
        if not newest or wanted == _RUNNING or not version:
            return None
        job = self._at.client.job(version["namespace"], version["name"])
        return _lacking(job or {}, events)


_GONE = "is not there"


def _lacking(job: Entity, events: Sequence[Entity]) -> str | None:
    """Say which datasets the graph of a job lacks, or has too many; other names of them are shown as well."""
    for side, word in (("inputs", "input"), ("outputs", "output")):
        used = [one for event in events for one in event[side]]
        wanted = {(one["namespace"], one["name"]) for one in used}
        there = {(one["namespace"], one["name"]) for one in job.get(side) or ()}
        if lacking := sorted(wanted - there):
            return f"its job lacks the {word} {' '.join(lacking[0])}"
        if others := sorted(there - wanted - _other_names(used)):
            return f"its job has another {word}, {' '.join(others[0])}"
    return None


def _other_names(used: Sequence[Entity]) -> set[tuple[str, str]]:
    return {
        (one["namespace"], one["name"])
        for dataset in used
        for one in ((dataset.get("facets") or {}).get("symlinks") or {}).get("identifiers") or ()
    }
