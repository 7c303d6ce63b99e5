"""Sends runs of a family in start order; the terminal event last."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bridge.sync.marquez.canonical import MarquezRun, governance_by_name, newest_sent_run, read_jobs, read_runs
from bridge.sync.marquez.context import NAME, MarquezContext
from bridge.sync.sync_item import (
    Completed,
    Failure,
    Outcome,
    RemoteReference,
    SyncItem,
    complete_unchanged,
    fingerprint,
    is_unchanged,
)
from bridge.sync.target import BatchResult, ItemKey
from connectors.errors import TargetRejected
from connectors.marquez.event_log import find_logged_events
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError
from mappers.marquez.event_selection import select_events
from mappers.marquez.events import run_event, run_state
from mappers.marquez.governance import add_steward_facets
from mappers.marquez.names import find_unsafe_name
from mappers.openlineage.names import canonical_dataset_name


class RunPlan(NamedTuple):
    """What is to be told of a run: events by their hashes, the one that ends it as the last."""

    item: SyncItem
    run: MarquezRun
    events: dict[str, JsonObject]
    #: Those that the server has, because they are from there.
    already_present: frozenset[str]
    mark: bytes

    @property
    def terminal_event(self) -> str:
        """Give the hash of the event that ends the run."""
        return next(reversed(self.events))

    @property
    def name(self) -> str:
        """Name the job."""
        job = self.events[self.terminal_event]["job"]
        return f"{job['namespace']} {job['name']}"


def plan_runs(at: MarquezContext, items: Sequence[SyncItem]) -> list[RunPlan | Completed | Failure]:
    """Say what is to be told of runs, or why nothing is."""
    found = list(_found(at, items))
    return _with_declared_facets(at, found)


def required_events(run: MarquezRun) -> dict[str, JsonObject]:
    """Choose the events that tell of a run, by their hashes."""
    read = [run_event(event.payload, event.micros, run.uuid) for event in run.events]
    return {run.events[place].hash.hex(): read[place] for place in select_events(read)}


def _found(at: MarquezContext, items: Sequence[SyncItem]) -> Iterator[RunPlan | Completed | Failure]:
    runs = read_runs(at.db, at.org, [item.key for item in items])
    for item in items:
        run = runs.get(item.key)
        if run is None or not run.events:
            yield item.complete(Outcome.UNWANTED, "no event tells of it but those of the runs beneath it")
        elif all(event.source == at.client.source_name for event in run.events):
            yield item.complete(Outcome.UNWANTED, "it came from this Marquez")
        else:
            yield _telling(at, item, run)


def _telling(at: MarquezContext, item: SyncItem, run: MarquezRun) -> RunPlan | Completed | Failure:
    chosen = required_events(run)
    mark = fingerprint([*chosen])
    if is_unchanged(item, mark):
        return complete_unchanged(item)
    for event in chosen.values():
        if wrong := find_unsafe_name(event):
            return Failure(item, TargetRejected(wrong, 0), event, mark)
    theirs = {event.hash.hex() for event in run.events if event.source == at.client.source_name}
    return RunPlan(item, run, chosen, frozenset(theirs & chosen.keys()), mark)


def _with_declared_facets(
    at: MarquezContext, found: list[RunPlan | Completed | Failure]
) -> list[RunPlan | Completed | Failure]:
    """Add to the events that end runs what others than runs say: what comes last wipes what it does not repeat."""
    told = [one for one in found if isinstance(one, RunPlan)]
    jobs = read_jobs(at.db, at.org, {one.run.job for one in told})
    used = [
        (one["namespace"], one["name"])
        for telling in told
        for side in ("inputs", "outputs")
        for one in telling.events[telling.terminal_event][side]
    ]
    said = governance_by_name(at.db, at.org, {canonical_dataset_name(at.org, *name).id for name in used})
    return [
        one._replace(
            events=one.events
            | {
                one.terminal_event: add_steward_facets(
                    one.events[one.terminal_event], jobs[one.run.job].beside_runs, said
                )
            }
        )
        if isinstance(one, RunPlan)
        else one
        for one in found
    ]


RUN = "run"
#: What is remembered of a run: which events were sent, and that some were about to be.
_SENT, _BEGUN = "sent", "begun"


class RunSender:
    """Pushes runs. Not for several threads at once."""

    def __init__(self, at: MarquezContext) -> None:
        self._at = at

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        """Let the server know runs."""
        found = plan_runs(self._at, items)
        told = [one for one in found if isinstance(one, RunPlan)]
        self._at.items.record_intent((one.item, {_SENT: _sent(one.item), _BEGUN: True}) for one in told)
        families: dict[bytes, list[RunPlan]] = {}
        for one in sorted(told, key=lambda one: _moment(one.run)):
            families.setdefault(one.run.family, []).append(one)
        done = [one for results in self._at.workers.map(self._family, families.values(), _failed) for one in results]
        taken = {one.item.key for one in done if isinstance(one, Completed)}
        overtaken = self._reopened_runs([one.run for one in told if one.item.key in taken])
        return BatchResult([*(one for one in found if not isinstance(one, RunPlan)), *done], to_verify=overtaken)

    def _family(self, family: Sequence[RunPlan]) -> list[Completed | Failure]:
        """Tell runs one after the other; one that fails does not hold up the others."""
        results: list[Completed | Failure] = []
        for telling in family:
            if self._at.workers.unavailable is not None:
                results += _failed([telling], self._at.workers.unavailable)
                continue
            try:
                results.append(self._told(telling))
            except LineageBridgeError as error:
                results += _failed([telling], self._at.workers.record_failure(error))
        return results

    def _told(self, telling: RunPlan) -> Completed:
        """Send what the server has not, and the event that ends the run as the last: what comes last counts there."""
        item = telling.item
        there = self._there(telling)
        missing = [hash_ for hash_ in telling.events if hash_ not in there]
        arrived_whole = not missing and _BEGUN in item.record
        if not arrived_whole and telling.terminal_event not in missing:
            missing.append(telling.terminal_event)
        for hash_ in missing:
            self._at.client.send(telling.events[hash_])
        remote = RemoteReference(RUN, telling.run.uuid, telling.name)
        return Completed(item, Outcome.PUSHED, None, telling.mark, remote, True, {_SENT: [*telling.events]})

    def _there(self, telling: RunPlan) -> set[str]:
        """Say which events the server has, as far as that is known; where it is not, the server is asked."""
        item, sent = telling.item, set(_sent(telling.item)) | telling.already_present
        if _BEGUN not in item.record and (item.remote is None or item.fingerprint is not None):
            return sent
        run = self._at.client.get_run(telling.run.uuid)
        if run is None:
            return set()
        unsure = {hash_: event for hash_, event in telling.events.items() if hash_ not in sent}
        there = sent | find_logged_events(self._at.client, unsure)
        # What the log has may have been refused by what makes runs of it: the state tells.
        return (
            there
            if run.get("state") == run_state(telling.events[telling.terminal_event])
            else there - {telling.terminal_event}
        )

    def _reopened_runs(self, told: Iterable[MarquezRun]) -> set[ItemKey]:
        """Find the newest runs of jobs, where an older one was told after them: their ends are to be told again."""
        newest: dict[bytes, MarquezRun] = {}
        for run in told:
            newest[run.job] = max(run, newest.get(run.job, run), key=_moment)
        found = {job: newest_sent_run(self._at.db, self._at.org, NAME, job) for job in newest}
        return {(RUN, one[1]) for job, one in found.items() if one is not None and one > _moment(newest[job])}


def _sent(item: SyncItem) -> list[str]:
    return list(item.record.get(_SENT, ()))


def _moment(run: MarquezRun) -> tuple[int, bytes]:
    return run.started_at, run.key


def _failed(family: Sequence[RunPlan], error: LineageBridgeError) -> list[Completed | Failure]:
    return [Failure(one.item, error, one.events[one.terminal_event], one.mark) for one in family]
