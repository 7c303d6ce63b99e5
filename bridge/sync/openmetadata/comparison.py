"""Compares all that a server has of us with what it was left with: a page of entities or some edges at a time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from itertools import groupby

from bridge.sync.edge_states import EdgeState, EdgeStates
from bridge.sync.item import Item
from bridge.sync.openmetadata.datasets import want_datasets
from bridge.sync.openmetadata.directory import COLLECTIONS, WITHIN, Directory, column_paths, place_of
from bridge.sync.openmetadata.edges import is_as_seen
from bridge.sync.openmetadata.jobs import want_jobs
from bridge.sync.openmetadata.revenants import Revenants
from bridge.sync.openmetadata.told_checks import ToldChecks
from bridge.sync.openmetadata.told_moments import Moments, ToldMoments
from bridge.sync.openmetadata.update import known_body
from bridge.sync.openmetadata.wanted import Wanted
from bridge.sync.openmetadata.workbench import Workbench
from bridge.sync.target import Compared, Difference
from connectors.openmetadata.calls import Entity
from mappers.openmetadata.carried import ASKED
from mappers.openmetadata.difference import difference

#: How many edges are compared at a time.
_EDGES = 200


class Comparison:
    """Says what is not as it was left; calls run in the threads of a pool. Not for several threads at once."""

    def __init__(
        self,
        at: Workbench,
        target: str,
        directory: Directory,
        states: EdgeStates,
        said: Mapping[str, Callable[[Sequence[Item]], dict[bytes, Entity]]],
        pool: Executor,
    ) -> None:
        self._at = at
        self._directory = directory
        self._states = states
        self._said = said
        self._pool = pool
        self._checks = ToldChecks(at, pool)
        self._moments = ToldMoments(at, target, pool)
        self._revenants = Revenants(at, target, directory, states, pool)

    def slices(self) -> Iterator[Compared]:
        """Compare everything, bit by bit, those things first that others need: they may be put right meanwhile."""
        yield from self._linked()
        client, rules = self._at.client, self._at.rules
        runs = Moments("run", client.statuses, self._said["run"])
        yield from self._moments.slices(runs)
        yield from self._moments.taken_back(runs)
        if rules.publish_quality_results:
            yield from self._checks.slices()
            results = Moments("result", client.results, self._said["result"])
            yield from self._moments.slices(results)
            yield from self._moments.taken_back(results)
        if rules.publish_profiling_metrics:
            yield from self._moments.slices(Moments("profile", client.profiles, self._said["profile"]))
        yield from self._revenants.slices()

    def _linked(self) -> Iterator[Compared]:
        """Compare entities, and the edges between them."""
        for kind in ("dataset", "job"):
            linked = self._at.items.linked(kind)
            for (type_, place), within in groupby(
                linked, lambda one: (one[0].type, _place(one[0].type, one[0].name))
            ):
                keys = {remote.name: key for remote, key in within}
                yield from self._entities(kind, COLLECTIONS[type_], place, keys)
        if self._at.rules.track_lineage:
            yield from self._edges()

    def _entities(self, kind: str, collection: str, place: str, keys: dict[str, bytes]) -> Iterator[Compared]:
        """Compare what lies in one place: a list of it where that costs less than asking for each."""
        unseen = dict(keys)
        for page in self._pages(collection, place, list(keys)):
            there = {str(entity["fullyQualifiedName"]): entity for entity in page}
            of = {name: unseen.pop(name) for name in there if name in unseen}
            items = self._at.items.of(kind, list(of.values()))
            wanted = self._wanted(kind, list(items.values()))
            found = [
                Difference(kind, key, name, what)
                for name, key in of.items()
                if (what := self._what(items[key], wanted.get(key), there[name]))
            ]
            yield Compared(kind, len(of), found)
        missing = [Difference(kind, key, name, "is not there") for name, key in unseen.items()]
        yield Compared(kind, len(unseen), missing)

    def _pages(self, collection: str, place: str, names: Sequence[str]) -> Iterator[list[Entity]]:
        if self._directory.is_listed(collection, place, len(names)):
            yield from self._at.client.pages(collection, *ASKED[collection], **{WITHIN[collection][0]: place})
        else:
            asked = self._pool.map(lambda name: self._at.client.get(collection, name, *ASKED[collection]), names)
            yield [entity for entity in asked if entity]

    def _wanted(self, kind: str, items: Sequence[Item]) -> dict[bytes, Wanted]:
        want = want_datasets if kind == "dataset" else want_jobs
        found = want(self._at.db, self._at.org, self._at.rules, items)
        return {one.item.key: one for one in found if isinstance(one, Wanted)}

    def _what(self, item: Item, wanted: Wanted | None, entity: Entity) -> str | None:
        """Say what of an entity is not as it was left; of one that others made, the columns that edges go by."""
        if item.remote is None or item.remote.id != entity["id"]:
            return "is another one of the same name"
        if not item.ours:
            known = {tuple(path) for path in item.detail.get("columns", ())}
            return None if known == set(column_paths(entity)) else "has other columns"
        own = next((one.own for one in wanted.choices if one.own.fqn == item.remote.name), None) if wanted else None
        if own is None:
            return None  # it lies elsewhere by now: its item is marked
        said = known_body(own, with_columns=self._at.rules.update_on_schema_change)
        lacking = difference(own.collection, said, entity)
        return f"says otherwise: {', '.join(lacking)}" if lacking else None

    def _edges(self) -> Iterator[Compared]:
        for states in self._states.everything(_EDGES):
            right = self._pool.map(lambda state: is_as_seen(self._at.client, state), states)
            wrong = [state for state, is_right in zip(states, right, strict=True) if not is_right]
            keys = {key for state in wrong for key in (state.into_key, state.from_key)}
            items = self._at.items.of("dataset", keys) | self._at.items.of("job", keys)
            names = {key: item.remote.name for key, item in items.items() if item.remote}
            yield Compared("lineage", len(states), [_edge(state, names) for state in wrong])


def _place(type_: str, name: str) -> str:
    return place_of(COLLECTIONS[type_], name)


def _edge(state: EdgeState, names: dict[bytes, str]) -> Difference:
    ends = (names.get(key, end.id) for key, end in ((state.from_key, state.source), (state.into_key, state.into)))
    return Difference("lineage", state.into_key, " -> ".join(ends), "is not as it was left")
