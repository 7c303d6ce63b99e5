"""Brings to Marquez what definitions say of jobs: of those that ran, with the end of their newest run."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bridge.sync.item import Failed, Item, Outcome, Remote, Settled, as_it_was, fingerprint, is_known
from bridge.sync.marquez.bench import NAME, Bench
from bridge.sync.marquez.stored import StoredJob, newest_told, read_jobs
from bridge.sync.target import Pushed, Wanted
from connectors.marquez.client import Entity
from mappers.errors import LineageBridgeError, TargetRefused
from mappers.marquez.events import job_event
from mappers.marquez.names import unbearable

_NOBODY_SAYS = "only its runs tell of it: `dead list` names those that were refused"
_WITH_RUN = "it is told with the end of its newest run"


class Declared(NamedTuple):
    """A job that is to be told by an event of a job."""

    item: Item
    name: str
    event: Entity
    mark: bytes


class Jobs:
    """Pushes what is declared of jobs. Not for several threads at once."""

    def __init__(self, at: Bench) -> None:
        self._at = at

    def push(self, items: Sequence[Item]) -> Pushed:
        """Let the server know jobs."""
        found, doubtful = self.found(items)
        done = self._at.workers.map(self._put, [one for one in found if isinstance(one, Declared)], _failed)
        return Pushed([*(one for one in found if not isinstance(one, Declared)), *done], doubtful=doubtful)

    def found(self, items: Sequence[Item]) -> tuple[list[Declared | Settled | Failed], set[Wanted]]:
        """Say what is to be told of jobs, and which runs are to be told again because of it."""
        stored = read_jobs(self._at.db, self._at.org, [item.key for item in items])
        doubtful: set[Wanted] = set()
        return [self._one(item, stored, doubtful) for item in items], doubtful

    def _one(
        self, item: Item, stored: Mapping[bytes, StoredJob], doubtful: set[Wanted]
    ) -> Declared | Settled | Failed:
        """Say what is to be told of a job; where its newest run tells it, that is to be told again."""
        job = stored.get(item.key)
        if job is None or not (job.beside_runs or job.inputs or job.outputs):
            return item.linked(Outcome.UNWANTED, _NOBODY_SAYS)
        mark = fingerprint([job.namespace, job.name, job.beside_runs, job.inputs, job.outputs])
        if is_known(item, mark):
            return as_it_was(item)
        name = f"{job.namespace} {job.name}"
        if newest := newest_told(self._at.db, self._at.org, NAME, item.key):
            doubtful.add(("run", newest[1]))
            return Settled(item, Outcome.PUSHED, _WITH_RUN, mark, Remote("job", name, name), ours=True)
        if job.has_runs:
            return item.linked(Outcome.UNWANTED, "the ends of its runs tell it, and none was told yet")
        described = {"namespace": job.namespace, "name": job.name, "facets": job.facets}
        event = job_event(described, job.inputs, job.outputs, job.said_at)
        if wrong := unbearable(event):
            return Failed(item, TargetRefused(wrong, 0), event, mark)
        return Declared(item, name, event, mark)

    def _put(self, job: Declared) -> Settled | Failed:
        self._at.client.send(job.event)
        return Settled(job.item, Outcome.PUSHED, None, job.mark, Remote("job", job.name, job.name), ours=True)


def _failed(job: Declared, error: LineageBridgeError) -> Settled | Failed:
    return Failed(job.item, error, job.event, job.mark)
