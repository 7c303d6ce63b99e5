"""Brings to Marquez what events of jobs and stewards say: of jobs without runs, and of governed datasets."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from bridge.sync.item import Failed, Item, Outcome, Remote, Settled, as_it_was, fingerprint, is_known
from bridge.sync.marquez.bench import NAME, Bench
from bridge.sync.marquez.stored import StoredDataset, StoredJob, newest_told, read_datasets, read_jobs
from bridge.sync.target import Pushed
from connectors.marquez.client import Entity
from mappers.errors import LineageBridgeError, TargetRefused
from mappers.marquez.events import dataset_event, job_event
from mappers.marquez.governance import Tags, facets_of, tags_of
from mappers.marquez.names import unbearable

_TAGS, _COLUMN_TAGS = "tags", "column_tags"
#: Marquez fails when a column of a dataset with several names is to be tagged.
_UNTAGGED = "not tagged, for they are not there, or Marquez cannot, for the dataset has several names"
_NOBODY_SAYS = "no event of a job says anything of it: its runs tell it"


class _Job(NamedTuple):
    item: Item
    event: Entity
    mark: bytes
    name: str


class _Dataset(NamedTuple):
    item: Item
    stored: StoredDataset
    event: Entity
    tags: Tags
    mark: bytes


class Jobs:
    """Pushes what is declared of jobs: those that ran are told anew by the end of their newest run."""

    def __init__(self, at: Bench) -> None:
        self._at = at

    def push(self, items: Sequence[Item]) -> Pushed:
        """Let the server know jobs."""
        stored = read_jobs(self._at.db, self._at.org, [item.key for item in items])
        results: list[Settled | Failed] = []
        wanted: list[_Job] = []
        doubtful = set()
        for item in items:
            job = stored.get(item.key)
            if job is None or not (job.beside_runs or job.inputs or job.outputs):
                results.append(item.linked(Outcome.UNWANTED, _NOBODY_SAYS))
                continue
            mark = _mark(job)
            name = f"{job.namespace} {job.name}"
            if is_known(item, mark):
                results.append(as_it_was(item))
            elif newest := newest_told(self._at.db, self._at.org, NAME, item.key):
                doubtful.add(("run", newest[1]))
                told = "it is told with the end of its newest run"
                results.append(Settled(item, Outcome.PUSHED, told, mark, Remote("job", name, name), ours=True))
            else:
                event = job_event(_described(job), job.inputs, job.outputs, job.said_at)
                wrong = unbearable(event)
                if wrong:
                    results.append(Failed(item, TargetRefused(wrong, 0), event, mark))
                else:
                    wanted.append(_Job(item, event, mark, name))
        done = self._at.workers.map(self._put, wanted, _failed)
        return Pushed([*results, *done], doubtful=doubtful)

    def _put(self, job: _Job) -> Settled | Failed:
        self._at.client.send(job.event)
        return Settled(job.item, Outcome.PUSHED, None, job.mark, Remote("job", job.name, job.name), ours=True)


class Datasets:
    """Pushes what stewards say of datasets: descriptions and owners as an event, tags as tags."""

    def __init__(self, at: Bench) -> None:
        self._at = at

    def push(self, items: Sequence[Item]) -> Pushed:
        """Let the server know what governs datasets."""
        stored = read_datasets(self._at.db, self._at.org, [item.key for item in items])
        results: list[Settled | Failed] = []
        wanted: list[_Dataset] = []
        for item in items:
            one = self._one(item, stored.get(item.key))
            (wanted if isinstance(one, _Dataset) else results).append(one)  # type: ignore[arg-type] # told apart above
        return Pushed([*results, *self._at.workers.map(self._put, wanted, _failed)])

    def _one(self, item: Item, stored: StoredDataset | None) -> _Dataset | Settled | Failed:
        if stored is None or (not stored.said and item.remote is None):
            return item.linked(Outcome.UNWANTED, "no steward says anything of it")
        facets, tags = facets_of(stored.said), tags_of(stored.said)
        mark = fingerprint([facets, stored.namespace, stored.name])
        if is_known(item, mark):
            return as_it_was(item)
        fields = [{"name": one.name, "type": one.type} for one in stored.columns if one.depth == 0]
        if fields:
            facets["schema"] = {"fields": fields}
        body = {"namespace": stored.namespace, "name": stored.name, "facets": facets}
        event = dataset_event(body, stored.said_at)
        if wrong := unbearable(event):
            return Failed(item, TargetRefused(wrong, 0), event, mark)
        return _Dataset(item, stored, event, tags, mark)

    def _put(self, dataset: _Dataset) -> Settled | Failed:
        """Tell of a dataset, and then give it its tags: it must be there for that; those of ours that are over go."""
        name = (dataset.stored.namespace, dataset.stored.name)
        client, detail = self._at.client, dataset.item.detail
        client.send(dataset.event)
        for tag in sorted(dataset.tags.own):
            client.tag(*name, tag)
        for tag in sorted(set(detail.get(_TAGS, ())) - dataset.tags.own):
            client.untag(*name, tag)
        columns = set() if dataset.stored.has_other_names else {one.name for one in dataset.stored.columns}
        of_columns = {pair for pair in dataset.tags.of_columns if pair[0] in columns}
        untagged = sorted({column for column, _ in dataset.tags.of_columns - of_columns})
        for column, tag in sorted(of_columns):
            client.tag_field(*name, column, tag)
        for column, tag in sorted({(column, tag) for column, tag in detail.get(_COLUMN_TAGS, ())} - of_columns):
            client.untag_field(*name, column, tag)
        remote = Remote("dataset", " ".join(name), " ".join(name))
        kept = {_TAGS: sorted(dataset.tags.own), _COLUMN_TAGS: sorted(map(list, of_columns))}
        said = f"{_UNTAGGED}: {', '.join(untagged)}" if untagged else None
        return Settled(dataset.item, Outcome.PUSHED, said, dataset.mark, remote, ours=True, detail=kept)


def _described(job: StoredJob) -> dict[str, Any]:
    return {"namespace": job.namespace, "name": job.name, "facets": job.facets}


def _mark(job: StoredJob) -> bytes:
    return fingerprint([job.namespace, job.name, job.beside_runs, job.inputs, job.outputs])


def _failed(wanted: _Job | _Dataset, error: LineageBridgeError) -> Settled | Failed:
    return Failed(wanted.item, error, wanted.event, wanted.mark)
