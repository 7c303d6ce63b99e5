"""Brings runs to Marquez: those of a family in the order in which they began, and the end of each as the last."""

from collections.abc import Iterable, Sequence

from bridge.sync.item import Failed, Item, Outcome, Remote, Settled
from bridge.sync.marquez.bench import NAME, Bench
from bridge.sync.marquez.stored import StoredRun, newest_told
from bridge.sync.marquez.telling import Telling, tellings
from bridge.sync.target import Pushed, Wanted
from connectors.marquez.arrival import arrived
from mappers.errors import LineageBridgeError
from mappers.marquez.events import state_of

RUN = "run"
#: What is remembered of a run: which events were sent, and that some were about to be.
_SENT, _BEGUN = "sent", "begun"


class Runs:
    """Pushes runs. Not for several threads at once."""

    def __init__(self, at: Bench) -> None:
        self._at = at

    def push(self, items: Sequence[Item]) -> Pushed:
        """Let the server know runs."""
        found = tellings(self._at, items)
        told = [one for one in found if isinstance(one, Telling)]
        self._at.items.begin((one.item, {_SENT: _sent(one.item), _BEGUN: True}) for one in told)
        families: dict[bytes, list[Telling]] = {}
        for one in sorted(told, key=lambda one: _moment(one.run)):
            families.setdefault(one.run.family, []).append(one)
        done = [one for results in self._at.workers.map(self._family, families.values(), _failed) for one in results]
        taken = {one.item.key for one in done if isinstance(one, Settled)}
        overtaken = self._overtaken([one.run for one in told if one.item.key in taken])
        return Pushed([*(one for one in found if not isinstance(one, Telling)), *done], doubtful=overtaken)

    def _family(self, family: Sequence[Telling]) -> list[Settled | Failed]:
        """Tell runs one after the other; one that fails does not hold up the others."""
        results: list[Settled | Failed] = []
        for telling in family:
            if self._at.workers.away is not None:
                results += _failed([telling], self._at.workers.away)
                continue
            try:
                results.append(self._told(telling))
            except LineageBridgeError as error:
                results += _failed([telling], self._at.workers.failed(error))
        return results

    def _told(self, telling: Telling) -> Settled:
        """Send what the server has not, and the event that ends the run as the last: what comes last counts there."""
        item = telling.item
        there = self._there(telling)
        missing = [hash_ for hash_ in telling.events if hash_ not in there]
        arrived_whole = not missing and _BEGUN in item.detail
        if not arrived_whole and telling.closing not in missing:
            missing.append(telling.closing)
        for hash_ in missing:
            self._at.client.send(telling.events[hash_])
        remote = Remote(RUN, telling.run.uuid, telling.name)
        return Settled(item, Outcome.PUSHED, None, telling.mark, remote, True, {_SENT: [*telling.events]})

    def _there(self, telling: Telling) -> set[str]:
        """Say which events the server has, as far as that is known; where it is not, the server is asked."""
        item, sent = telling.item, set(_sent(telling.item)) | telling.theirs
        if _BEGUN not in item.detail and (item.remote is None or item.fingerprint is not None):
            return sent
        run = self._at.client.run(telling.run.uuid)
        if run is None:
            return set()
        unsure = {hash_: event for hash_, event in telling.events.items() if hash_ not in sent}
        there = sent | arrived(self._at.client, unsure)
        # What the log has may have been refused by what makes runs of it: the state tells.
        return there if run.get("state") == state_of(telling.events[telling.closing]) else there - {telling.closing}

    def _overtaken(self, told: Iterable[StoredRun]) -> set[Wanted]:
        """Find the newest runs of jobs, where an older one was told after them: their ends are to be told again."""
        newest: dict[bytes, StoredRun] = {}
        for run in told:
            newest[run.job] = max(run, newest.get(run.job, run), key=_moment)
        found = {job: newest_told(self._at.db, self._at.org, NAME, job) for job in newest}
        return {(RUN, one[1]) for job, one in found.items() if one is not None and one > _moment(newest[job])}


def _sent(item: Item) -> list[str]:
    return list(item.detail.get(_SENT, ()))


def _moment(run: StoredRun) -> tuple[int, bytes]:
    return run.began, run.key


def _failed(family: Sequence[Telling], error: LineageBridgeError) -> list[Settled | Failed]:
    return [Failed(one.item, error, one.events[one.closing], one.mark) for one in family]
