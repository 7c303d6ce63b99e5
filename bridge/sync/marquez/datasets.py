"""Brings to Marquez what stewards say of datasets: descriptions and owners as an event, tags as tags."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from bridge.sync.item import Failed, Item, Outcome, Remote, Settled, as_it_was, fingerprint, is_known
from bridge.sync.marquez.bench import Bench
from bridge.sync.marquez.stored import StoredDataset, read_datasets
from bridge.sync.target import Pushed
from connectors.marquez.client import Entity
from mappers.errors import LineageBridgeError, TargetRefused
from mappers.marquez.events import dataset_event
from mappers.marquez.governance import Tags, facets_of, tags_of
from mappers.marquez.names import unbearable

_OWN, _OF_COLUMNS = "tags", "column_tags"
#: Marquez fails when a column of a dataset with several names is to be tagged.
_UNTAGGED = "not tagged, for they are not there, or Marquez cannot, for the dataset has several names"


class Governed(NamedTuple):
    """A dataset of which a steward says something, or did."""

    item: Item
    name: str
    stored: StoredDataset
    event: Entity
    #: The tags that it shall have, and of those of ours the ones that it shall have no more.
    tags: Tags
    gone: Tags
    mark: bytes


class Datasets:
    """Pushes what governs datasets. Not for several threads at once."""

    def __init__(self, at: Bench) -> None:
        self._at = at

    def push(self, items: Sequence[Item]) -> Pushed:
        """Let the server know what governs datasets."""
        found = self.found(items)
        wanted = [one for one in found if isinstance(one, Governed)]
        self._at.items.begin((one.item, _kept(one.tags, one.gone)) for one in wanted)
        done = self._at.workers.map(self._put, wanted, _failed)
        return Pushed([*(one for one in found if not isinstance(one, Governed)), *done])

    def found(self, items: Sequence[Item]) -> list[Governed | Settled | Failed]:
        """Say what is to be told of datasets."""
        stored = read_datasets(self._at.db, self._at.org, [item.key for item in items])
        return [self._one(item, stored.get(item.key)) for item in items]

    def _one(self, item: Item, stored: StoredDataset | None) -> Governed | Settled | Failed:
        if stored is None or (not stored.said and item.remote is None and not item.detail):
            return item.linked(Outcome.UNWANTED, "no steward says anything of it")
        facets = facets_of(stored.said)
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
        tags = possible_tags(stored)
        return Governed(
            item, f"{stored.namespace} {stored.name}", stored, event, tags, _given(item).without(tags), mark
        )

    def _put(self, dataset: Governed) -> Settled | Failed:
        """Tell of a dataset, and then change its tags: it must be there for that."""
        name, client = (dataset.stored.namespace, dataset.stored.name), self._at.client
        client.send(dataset.event)
        for tag in sorted(dataset.tags.own):
            client.tag(*name, tag)
        for tag in sorted(dataset.gone.own):
            client.untag(*name, tag)
        for column, tag in sorted(dataset.tags.of_columns):
            client.tag_field(*name, column, tag)
        for column, tag in sorted(dataset.gone.of_columns):
            client.untag_field(*name, column, tag)
        left_out = tags_of(dataset.stored.said).without(dataset.tags).of_columns
        said = f"{_UNTAGGED}: {', '.join(sorted({column for column, _ in left_out}))}" if left_out else None
        remote, kept = Remote("dataset", " ".join(name), " ".join(name)), _kept(dataset.tags)
        return Settled(dataset.item, Outcome.PUSHED, said, dataset.mark, remote, ours=True, detail=kept)


def possible_tags(stored: StoredDataset) -> Tags:
    """Give the tags that a steward wants and Marquez can give."""
    wanted = tags_of(stored.said)
    columns = set() if stored.has_other_names else {one.name for one in stored.columns}
    return wanted._replace(of_columns=frozenset(pair for pair in wanted.of_columns if pair[0] in columns))


def _given(item: Item) -> Tags:
    """Give the tags that were given, or may have been."""
    return Tags(
        frozenset(item.detail.get(_OWN, ())),
        frozenset((column, tag) for column, tag in item.detail.get(_OF_COLUMNS, ())),
    )


def _kept(*tags: Tags) -> dict[str, Any]:
    """Remember tags as given."""
    own = {tag for one in tags for tag in one.own}
    return {_OWN: sorted(own), _OF_COLUMNS: sorted(list(pair) for one in tags for pair in one.of_columns)}


def _failed(dataset: Governed, error: LineageBridgeError) -> Settled | Failed:
    return Failed(dataset.item, error, dataset.event, dataset.mark)
