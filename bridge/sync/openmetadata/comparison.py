"""Compares entities, edges and test cases with what was last pushed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from itertools import groupby

from bridge.sync.canonical.quality import read_checks
from bridge.sync.edge_store import EdgeRecord, EdgeStore
from bridge.sync.openmetadata.context import NOT_FOUND, OpenMetadataContext
from bridge.sync.openmetadata.desired_entities import DesiredEntity, desired_datasets, desired_pipelines
from bridge.sync.openmetadata.edge_writer import is_as_seen
from bridge.sync.openmetadata.entity_lookup import COLLECTIONS, LIST_PARENT, EntityLookup, column_paths, parent_of
from bridge.sync.openmetadata.entity_update import known_body
from bridge.sync.openmetadata.observation_comparison import ObservationComparison, ObservationKind
from bridge.sync.openmetadata.restored_entities import RestoredEntityComparison
from bridge.sync.sync_item import Outcome, RemoteReference, SyncItem
from bridge.sync.target import ComparedBatch, Difference
from connectors.errors import TargetRejected
from mappers.canonical_json import JsonObject
from mappers.openmetadata.preserved_fields import READ_FIELDS, differing_fields

_AT_ONCE = 500


class TestCaseComparison:
    """Says which test cases are gone; calls run in the threads of a pool. Not for several threads at once."""

    def __init__(self, at: OpenMetadataContext, pool: Executor) -> None:
        self._at = at
        self._pool = pool

    def compare(self) -> Iterator[ComparedBatch]:
        """Compare all test cases; whatever people wrote into them is no difference."""
        linked = self._at.items.list_pushed("check")
        for i in range(0, len(linked), _AT_ONCE):
            items = self._at.items.get("check", [key for _, key in linked[i : i + _AT_ONCE]])
            left = {key: item for key, item in items.items() if item.outcome in (Outcome.PUSHED, Outcome.UNCHANGED)}
            of = self._tables(left)
            asked = dict(zip(of, self._pool.map(self._cases, of), strict=True))
            found = [
                Difference("check", key, remote.name, what)
                for table, keys in of.items()
                for key, remote in keys.items()
                if (what := _what(remote, asked[table]))
            ]
            yield ComparedBatch("check", sum(map(len, of.values())), found)

    def _tables(self, items: Mapping[bytes, SyncItem]) -> dict[str, dict[bytes, RemoteReference]]:
        """Give the test cases by the tables that they are of."""
        checks = read_checks(self._at.db, self._at.org, items)
        datasets = self._at.items.get("dataset", {one.dataset for one in checks.values() if one.dataset})
        of: dict[str, dict[bytes, RemoteReference]] = {}
        for key, check in checks.items():
            dataset, remote = datasets.get(check.dataset or b""), items[key].remote
            if dataset and dataset.remote and remote:
                of.setdefault(dataset.remote.name, {})[key] = remote
        return of

    def _cases(self, table: str) -> dict[str, str] | None:
        """Give the ids of the test cases of a table by their names; None when the table is not there."""
        try:
            return {str(one["fullyQualifiedName"]): str(one["id"]) for one in self._at.client.check_cases(table)}
        except TargetRejected as error:
            if error.status == NOT_FOUND:
                return None
            raise


def _what(remote: RemoteReference, there: Mapping[str, str] | None) -> str | None:
    if there is None:
        return None  # its table is told of by itself
    if remote.name not in there:
        return "is not there"
    return None if there[remote.name] == remote.id else "is another one of the same name"


#: How many edges are compared at a time.
_EDGES = 200


class OpenMetadataComparison:
    """Says what is not as it was left; calls run in the threads of a pool. Not for several threads at once."""

    def __init__(
        self,
        at: OpenMetadataContext,
        target: str,
        directory: EntityLookup,
        states: EdgeStore,
        said: Mapping[str, Callable[[Sequence[SyncItem]], dict[bytes, JsonObject]]],
        pool: Executor,
    ) -> None:
        self._at = at
        self._directory = directory
        self._states = states
        self._said = said
        self._pool = pool
        self._checks = TestCaseComparison(at, pool)
        self._moments = ObservationComparison(at, target, pool)
        self._revenants = RestoredEntityComparison(at, target, directory, states, pool)

    def compare(self) -> Iterator[ComparedBatch]:
        """Compare everything, bit by bit, those things first that others need: they may be put right meanwhile."""
        yield from self._linked()
        client, rules = self._at.client, self._at.rules
        runs = ObservationKind("run", client.statuses, self._said["run"])
        yield from self._moments.compare(runs)
        yield from self._moments.taken_back(runs)
        if rules.publish_quality_results:
            yield from self._checks.compare()
            results = ObservationKind("result", client.results, self._said["result"])
            yield from self._moments.compare(results)
            yield from self._moments.taken_back(results)
        if rules.publish_profiling_metrics:
            yield from self._moments.compare(ObservationKind("profile", client.profiles, self._said["profile"]))
        yield from self._revenants.compare()

    def _linked(self) -> Iterator[ComparedBatch]:
        """Compare entities, and the edges between them."""
        for kind in ("dataset", "job"):
            linked = self._at.items.list_pushed(kind)
            for (type_, place), within in groupby(
                linked, lambda one: (one[0].type, _place(one[0].type, one[0].name))
            ):
                keys = {remote.name: key for remote, key in within}
                yield from self._entities(kind, COLLECTIONS[type_], place, keys)
        if self._at.rules.track_lineage:
            yield from self._edges()

    def _entities(self, kind: str, collection: str, place: str, keys: dict[str, bytes]) -> Iterator[ComparedBatch]:
        """Compare what lies in one place: a list of it where that costs less than asking for each."""
        unseen = dict(keys)
        for page in self._pages(collection, place, list(keys)):
            there = {str(entity["fullyQualifiedName"]): entity for entity in page}
            of = {name: unseen.pop(name) for name in there if name in unseen}
            items = self._at.items.get(kind, list(of.values()))
            wanted = self._wanted(kind, list(items.values()))
            found = [
                Difference(kind, key, name, what)
                for name, key in of.items()
                if (what := self._what(items[key], wanted.get(key), there[name]))
            ]
            yield ComparedBatch(kind, len(of), found)
        missing = [Difference(kind, key, name, "is not there") for name, key in unseen.items()]
        yield ComparedBatch(kind, len(unseen), missing)

    def _pages(self, collection: str, place: str, names: Sequence[str]) -> Iterator[list[JsonObject]]:
        if self._directory.is_listed(collection, place, len(names)):
            yield from self._at.client.pages(
                collection, *READ_FIELDS[collection], **{LIST_PARENT[collection][0]: place}
            )
        else:
            asked = self._pool.map(
                lambda name: self._at.client.get(collection, name, *READ_FIELDS[collection]), names
            )
            yield [entity for entity in asked if entity]

    def _wanted(self, kind: str, items: Sequence[SyncItem]) -> dict[bytes, DesiredEntity]:
        want = desired_datasets if kind == "dataset" else desired_pipelines
        found = want(self._at.db, self._at.org, self._at.rules, items)
        return {one.item.key: one for one in found if isinstance(one, DesiredEntity)}

    def _what(self, item: SyncItem, wanted: DesiredEntity | None, entity: JsonObject) -> str | None:
        """Say what of an entity is not as it was left; of one that others made, the columns that edges go by."""
        if item.remote is None or item.remote.id != entity["id"]:
            return "is another one of the same name"
        if not item.created_by_us:
            known = {tuple(path) for path in item.record.get("columns", ())}
            return None if known == set(column_paths(entity)) else "has other columns"
        own = next((one.own for one in wanted.choices if one.own.fqn == item.remote.name), None) if wanted else None
        if own is None:
            return None  # it lies elsewhere by now: its item is marked
        said = known_body(own, with_columns=self._at.rules.update_on_schema_change)
        lacking = differing_fields(own.collection, said, entity)
        return f"says otherwise: {', '.join(lacking)}" if lacking else None

    def _edges(self) -> Iterator[ComparedBatch]:
        for states in self._states.batches(_EDGES):
            right = self._pool.map(lambda state: is_as_seen(self._at.client, state), states)
            wrong = [state for state, is_right in zip(states, right, strict=True) if not is_right]
            keys = {key for state in wrong for key in (state.target_key, state.source_key)}
            items = self._at.items.get("dataset", keys) | self._at.items.get("job", keys)
            names = {key: item.remote.name for key, item in items.items() if item.remote}
            yield ComparedBatch("lineage", len(states), [_edge(state, names) for state in wrong])


def _place(type_: str, name: str) -> str:
    return parent_of(COLLECTIONS[type_], name)


def _edge(state: EdgeRecord, names: dict[bytes, str]) -> Difference:
    ends = (
        names.get(key, end.id) for key, end in ((state.source_key, state.source), (state.target_key, state.target))
    )
    return Difference("lineage", state.target_key, " -> ".join(ends), "is not as it was left")
