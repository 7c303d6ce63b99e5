"""What is to be told of runs: the events that are enough, and what others say of the job and the datasets."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bridge.sync.item import Failed, Item, Outcome, Settled, as_it_was, fingerprint, is_known
from bridge.sync.marquez.bench import Bench
from bridge.sync.marquez.stored import StoredRun, read_jobs, read_runs, said_of_names
from connectors.marquez.client import Entity
from mappers.errors import TargetRefused
from mappers.marquez.condensing import enough
from mappers.marquez.events import run_event
from mappers.marquez.governance import with_words
from mappers.marquez.names import unbearable
from mappers.openlineage.statements import name_dataset


class Telling(NamedTuple):
    """What is to be told of a run: events by their hashes, the one that ends it as the last."""

    item: Item
    run: StoredRun
    events: dict[str, Entity]
    #: Those that the server has, because they are from there.
    theirs: frozenset[str]
    mark: bytes

    @property
    def closing(self) -> str:
        """Give the hash of the event that ends the run."""
        return next(reversed(self.events))

    @property
    def name(self) -> str:
        """Name the job."""
        job = self.events[self.closing]["job"]
        return f"{job['namespace']} {job['name']}"


def tellings(at: Bench, items: Sequence[Item]) -> list[Telling | Settled | Failed]:
    """Say what is to be told of runs, or why nothing is."""
    found = list(_found(at, items))
    return _with_words(at, found)


def chosen_of(run: StoredRun) -> dict[str, Entity]:
    """Choose the events that tell of a run, by their hashes."""
    read = [run_event(event.payload, event.micros, run.uuid) for event in run.events]
    return {run.events[place].hash.hex(): read[place] for place in enough(read)}


def _found(at: Bench, items: Sequence[Item]) -> Iterator[Telling | Settled | Failed]:
    runs = read_runs(at.db, at.org, [item.key for item in items])
    for item in items:
        run = runs.get(item.key)
        if run is None or not run.events:
            yield item.linked(Outcome.UNWANTED, "no event tells of it but those of the runs beneath it")
        elif all(event.source == at.client.source for event in run.events):
            yield item.linked(Outcome.UNWANTED, "it came from this Marquez")
        else:
            yield _telling(at, item, run)


def _telling(at: Bench, item: Item, run: StoredRun) -> Telling | Settled | Failed:
    chosen = chosen_of(run)
    mark = fingerprint([*chosen])
    if is_known(item, mark):
        return as_it_was(item)
    for event in chosen.values():
        if wrong := unbearable(event):
            return Failed(item, TargetRefused(wrong, 0), event, mark)
    theirs = {event.hash.hex() for event in run.events if event.source == at.client.source}
    return Telling(item, run, chosen, frozenset(theirs & chosen.keys()), mark)


def _with_words(at: Bench, found: list[Telling | Settled | Failed]) -> list[Telling | Settled | Failed]:
    """Add to the events that end runs what others than runs say: what comes last wipes what it does not repeat."""
    told = [one for one in found if isinstance(one, Telling)]
    jobs = read_jobs(at.db, at.org, {one.run.job for one in told})
    used = [
        (one["namespace"], one["name"])
        for telling in told
        for side in ("inputs", "outputs")
        for one in telling.events[telling.closing][side]
    ]
    said = said_of_names(at.db, at.org, {name_dataset(at.org, *name).id for name in used})
    return [
        one._replace(
            events=one.events
            | {one.closing: with_words(one.events[one.closing], jobs[one.run.job].beside_runs, said)}
        )
        if isinstance(one, Telling)
        else one
        for one in found
    ]
