"""Sends declared jobs and governed datasets."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bridge.sync.marquez.canonical import MarquezDataset, MarquezJob, newest_sent_run, read_datasets, read_jobs
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
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError
from mappers.marquez.events import dataset_event, job_event
from mappers.marquez.governance import MarquezTags, governance_facets, governance_tags
from mappers.marquez.names import find_unsafe_name

_NOBODY_SAYS = "only its runs tell of it: `dead list` names those that were refused"
_WITH_RUN = "it is told with the end of its newest run"


class JobDeclaration(NamedTuple):
    """A job that is to be told by an event of a job."""

    item: SyncItem
    name: str
    event: JsonObject
    mark: bytes


class JobDeclarationSender:
    """Pushes what is declared of jobs. Not for several threads at once."""

    def __init__(self, at: MarquezContext) -> None:
        self._at = at

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        """Let the server know jobs."""
        found, doubtful = self.found(items)
        done = self._at.workers.map(
            self._put, [one for one in found if isinstance(one, JobDeclaration)], _failed_declaration
        )
        return BatchResult(
            [*(one for one in found if not isinstance(one, JobDeclaration)), *done], to_verify=doubtful
        )

    def found(self, items: Sequence[SyncItem]) -> tuple[list[JobDeclaration | Completed | Failure], set[ItemKey]]:
        """Say what is to be told of jobs, and which runs are to be told again because of it."""
        stored = read_jobs(self._at.db, self._at.org, [item.key for item in items])
        doubtful: set[ItemKey] = set()
        return [self._one(item, stored, doubtful) for item in items], doubtful

    def _one(
        self, item: SyncItem, stored: Mapping[bytes, MarquezJob], doubtful: set[ItemKey]
    ) -> JobDeclaration | Completed | Failure:
        """Say what is to be told of a job; where its newest run tells it, that is to be told again."""
        job = stored.get(item.key)
        if job is None or not (job.beside_runs or job.inputs or job.outputs):
            return item.complete(Outcome.UNWANTED, _NOBODY_SAYS)
        mark = fingerprint([job.namespace, job.name, job.beside_runs, job.inputs, job.outputs])
        if is_unchanged(item, mark):
            return complete_unchanged(item)
        name = f"{job.namespace} {job.name}"
        if newest := newest_sent_run(self._at.db, self._at.org, NAME, item.key):
            doubtful.add(("run", newest[1]))
            return Completed(item, Outcome.PUSHED, _WITH_RUN, mark, RemoteReference("job", name, name), created_by_us=True)
        if job.has_runs:
            return item.complete(Outcome.UNWANTED, "the ends of its runs tell it, and none was told yet")
        described = {"namespace": job.namespace, "name": job.name, "facets": job.facets}
        event = job_event(described, job.inputs, job.outputs, job.said_at)
        if wrong := find_unsafe_name(event):
            return Failure(item, TargetRejected(wrong, 0), event, mark)
        return JobDeclaration(item, name, event, mark)

    def _put(self, job: JobDeclaration) -> Completed | Failure:
        self._at.client.send(job.event)
        return Completed(
            job.item, Outcome.PUSHED, None, job.mark, RemoteReference("job", job.name, job.name), created_by_us=True
        )


def _failed_declaration(job: JobDeclaration, error: LineageBridgeError) -> Completed | Failure:
    return Failure(job.item, error, job.event, job.mark)


_OWN, _OF_COLUMNS = "tags", "column_tags"
#: Marquez fails when a column of a dataset with several names is to be tagged.
_UNTAGGED = "not tagged, for they are not there, or Marquez cannot, for the dataset has several names"


class GovernedDataset(NamedTuple):
    """A dataset of which a steward says something, or did."""

    item: SyncItem
    name: str
    stored: MarquezDataset
    event: JsonObject
    #: The tags that it shall have, and of those of ours the ones that it shall have no more.
    tags: MarquezTags
    gone: MarquezTags
    mark: bytes


class GovernedDatasetSender:
    """Pushes what governs datasets. Not for several threads at once."""

    def __init__(self, at: MarquezContext) -> None:
        self._at = at

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        """Let the server know what governs datasets."""
        found = self.found(items)
        wanted = [one for one in found if isinstance(one, GovernedDataset)]
        self._at.items.record_intent((one.item, _kept(one.tags, one.gone)) for one in wanted)
        done = self._at.workers.map(self._put, wanted, _failed_dataset)
        return BatchResult([*(one for one in found if not isinstance(one, GovernedDataset)), *done])

    def found(self, items: Sequence[SyncItem]) -> list[GovernedDataset | Completed | Failure]:
        """Say what is to be told of datasets."""
        stored = read_datasets(self._at.db, self._at.org, [item.key for item in items])
        return [self._one(item, stored.get(item.key)) for item in items]

    def _one(self, item: SyncItem, stored: MarquezDataset | None) -> GovernedDataset | Completed | Failure:
        if stored is None or (not stored.said and item.remote is None and not item.record):
            return item.complete(Outcome.UNWANTED, "no steward says anything of it")
        facets = governance_facets(stored.said)
        mark = fingerprint([facets, stored.namespace, stored.name])
        if is_unchanged(item, mark):
            return complete_unchanged(item)
        fields = [{"name": one.name, "type": one.type} for one in stored.columns if one.depth == 0]
        if fields:
            facets["schema"] = {"fields": fields}
        body = {"namespace": stored.namespace, "name": stored.name, "facets": facets}
        event = dataset_event(body, stored.said_at)
        if wrong := find_unsafe_name(event):
            return Failure(item, TargetRejected(wrong, 0), event, mark)
        tags = possible_tags(stored)
        return GovernedDataset(
            item, f"{stored.namespace} {stored.name}", stored, event, tags, _given(item).without(tags), mark
        )

    def _put(self, dataset: GovernedDataset) -> Completed | Failure:
        """Tell of a dataset, and then change its tags: it must be there for that."""
        name, client = (dataset.stored.namespace, dataset.stored.name), self._at.client
        client.send(dataset.event)
        for tag in sorted(dataset.tags.own):
            client.add_tag(*name, tag)
        for tag in sorted(dataset.gone.own):
            client.remove_tag(*name, tag)
        for column, tag in sorted(dataset.tags.of_columns):
            client.add_field_tag(*name, column, tag)
        for column, tag in sorted(dataset.gone.of_columns):
            client.remove_field_tag(*name, column, tag)
        left_out = governance_tags(dataset.stored.said).without(dataset.tags).of_columns
        said = f"{_UNTAGGED}: {', '.join(sorted({column for column, _ in left_out}))}" if left_out else None
        remote, kept = RemoteReference("dataset", " ".join(name), " ".join(name)), _kept(dataset.tags)
        return Completed(dataset.item, Outcome.PUSHED, said, dataset.mark, remote, created_by_us=True, record=kept)


def possible_tags(stored: MarquezDataset) -> MarquezTags:
    """Give the tags that a steward wants and Marquez can give."""
    wanted = governance_tags(stored.said)
    columns = set() if stored.has_other_names else {one.name for one in stored.columns}
    return wanted._replace(of_columns=frozenset(pair for pair in wanted.of_columns if pair[0] in columns))


def _given(item: SyncItem) -> MarquezTags:
    """Give the tags that were given, or may have been."""
    return MarquezTags(
        frozenset(item.record.get(_OWN, ())),
        frozenset((column, tag) for column, tag in item.record.get(_OF_COLUMNS, ())),
    )


def _kept(*tags: MarquezTags) -> dict[str, Any]:
    """Remember tags as given."""
    own = {tag for one in tags for tag in one.own}
    return {_OWN: sorted(own), _OF_COLUMNS: sorted(list(pair) for one in tags for pair in one.of_columns)}


def _failed_dataset(dataset: GovernedDataset, error: LineageBridgeError) -> Completed | Failure:
    return Failure(dataset.item, error, dataset.event, dataset.mark)
