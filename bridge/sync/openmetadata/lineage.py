"""Brings lineage to OpenMetadata: one target after the other in one thread each, its edges one by one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bridge.store.database import Database
from bridge.store.graph import Graph
from bridge.sync.edge_states import EdgeState, EdgeStates
from bridge.sync.item import NOT_WANTED, Failed, Item, Outcome, Settled, fingerprint
from bridge.sync.lineage import StoredEdge, read_consumption, read_lineage
from bridge.sync.openmetadata.edges import WantedEdge, details, remove_edge, write_edge
from bridge.sync.openmetadata.ends import Ends
from bridge.sync.openmetadata.revenants import RemovedEdge, edges_kept
from bridge.sync.openmetadata.workbench import Workbench
from bridge.sync.target import Owed, Pushed, Step
from mappers.errors import LineageBridgeError, TargetBusy, TargetRefused
from mappers.openmetadata import edges as mapped

#: The fingerprint of all that was looked at: where it is missing the server may have what was removed.
_LOOKED_AT = fingerprint("looked at")
_MOST_NOTES = 20
#: How many targets of edges are counted at a time.
_AT_ONCE = 200
_NOT_FOUND = 404


class _Work(NamedTuple):
    """What is to be done about the edges into one target."""

    item: Item
    put: list[tuple[WantedEdge, EdgeState | None]]
    gone: list[EdgeState]
    notes: list[str]
    #: What it leads from that is not in the target, or what it leads into is not: by keys, with names.
    missing: dict[bytes, str]
    #: What was removed long ago and may be there again.
    again: list[RemovedEdge]

    @property
    def into(self) -> bytes:
        """Name the target by its entity: two datasets that are one entity are worked on one after the other."""
        ends = [wanted.into for wanted, _ in self.put]
        ends += [state.into for state in self.gone] + [one.into for one in self.again]
        return ends[0].id.encode() if ends else self.item.key


class _Done(NamedTuple):
    """What was done about one target, as far as it went."""

    result: Settled | Failed
    written: list[EdgeState]
    removed: list[EdgeState]
    #: What has gone from the target.
    doubtful: list[tuple[str, bytes]]


class Lineages:
    """Pushes edges. Not for several threads at once."""

    def __init__(self, at: Workbench, states: EdgeStates) -> None:
        self._at = at
        self._states = states

    def push(self, items: Sequence[Item]) -> Pushed:
        """Make the edges into datasets and jobs what the store says."""
        if not self._at.rules.track_lineage:
            return Pushed([item.linked(Outcome.OFF, "openmetadata.sync.track_lineage is off") for item in items])
        groups: dict[bytes, list[_Work]] = {}
        works = list(self._works(items))
        for work in works:
            groups.setdefault(work.into, []).append(work)
        self._begin(works)
        done = [one for group in self._at.workers.map(self._write_all, groups.values(), _not_asked) for one in group]
        return Pushed(
            [one.result for one in done],
            edges=[state for one in done for state in one.written],
            edges_gone=[state for one in done for state in one.removed],
            doubtful={ended for one in done for ended in one.doubtful},
        )

    def _begin(self, works: Sequence[_Work]) -> None:
        """Write down what is about to be said, before anything is; where an edge lay before stays known."""
        begun = [
            wanted.begun(known)
            for work in works
            for wanted, known in work.put
            if known is None or known.is_between(wanted.source, wanted.into)
        ]
        if begun:
            with self._at.db.transaction():
                self._states.write(begun, [])

    def plan(self, items: Sequence[Item], made: Mapping[bytes, str]) -> Iterator[Step]:
        """Say what a push would do once there is what is to be made: names by keys."""
        if not self._at.rules.track_lineage:
            return
        for work in self._works(items):
            for wanted, known in work.put:
                action = "change" if known else "create"
                yield Step(action, "edge", f"{wanted.source.name} -> {wanted.into.name}")
            keys = [work.item.key, *work.missing, *(state.from_key for state in work.gone)]
            ends = self._at.items.of("dataset", keys) | self._at.items.of("job", keys)
            names = {key: item.remote.name for key, item in ends.items() if item.remote}
            for state in work.gone:
                pair = names.get(state.from_key, state.source.id), names.get(state.into_key, state.into.id)
                yield Step("delete", "edge", " -> ".join(pair))
            there = names | dict(made)
            for source, name in work.missing.items():
                if source in there and work.item.key in there:
                    yield Step("create", "edge", f"{there[source]} -> {there[work.item.key]}")
                else:
                    yield Step("wait", "edge", f"{name} -> {there.get(work.item.key, 'what is not there')}")

    def owed(self) -> Iterator[Owed]:
        """Count the edges that shall be there, and those that were not told as they are now; nothing is asked."""
        if self._at.rules.track_lineage:
            for items in self._at.items.everything("lineage", _AT_ONCE):
                yield self._owed(list(self._works(items)))

    def _owed(self, works: Sequence[_Work]) -> Owed:
        """Count edges; those to or from what shall not be there are none."""
        known = self._states.into([work.item.key for work in works])
        ends = {key for work in works for key in (work.item.key, *work.missing)}
        items = self._at.items.of("dataset", ends) | self._at.items.of("job", ends)
        left_out = {key for key, item in items.items() if item.outcome in NOT_WANTED}
        told, untold = 0, 0
        for work in works:
            put, gone = {one.from_key for one, _ in work.put}, {state.from_key for state in work.gone}
            told += len(known[work.item.key].keys() - put - gone)
            untold += len(put) + (0 if work.item.key in left_out else len(work.missing.keys() - left_out))
        return Owed("lineage", told + untold, untold)

    def _works(self, items: Sequence[Item]) -> Iterator[_Work]:
        keys = [item.key for item in items]
        jobs = set(self._at.items.of("job", keys))
        of = (self._at.db, self._at.org, self._at.rules.folding)
        stored = read_lineage(*of, [key for key in keys if key not in jobs])
        stored |= read_consumption(*of, jobs)
        everything = [edge for edges in stored.values() for edge in edges]
        sources = {edge.source for edge in everything if edge.source}
        datasets = {*sources, *(key for key in keys if stored[key] and key not in jobs)}
        pipelines = {*jobs, *(edge.job for edge in everything if edge.job)}
        ends = Ends(self._at.db, self._at.org, self._at.items, datasets, pipelines)
        names = _Names(self._at.db, self._at.org, everything)
        known = self._states.into(keys)
        for item in items:
            yield self._work(item, stored.get(item.key, []), ends, known[item.key], names)

    def _work(
        self, item: Item, stored: list[StoredEdge], ends: Ends, known: dict[bytes, EdgeState], names: "_Names"
    ) -> _Work:
        work = _Work(item, [], [], [], {}, [])
        wanted: dict[bytes, WantedEdge] = {}
        for edge in stored:
            source = edge.source or edge.job
            if source is None:
                continue
            if ends.remote(source) is None or ends.remote(item.key) is None:
                work.missing[source] = names.edge(edge, item.key)
            else:
                wanted[source] = self._wanted(item.key, source, edge, ends, names)
        for source, one in sorted(wanted.items()):
            state = known.get(source)
            if not one.is_written(state):
                work.put.append((one, state))
            if state and not state.is_between(one.source, one.into):
                work.gone.append(state)
            work.notes.extend(one.notes)
        work.gone.extend(state for source, state in sorted(known.items()) if source not in wanted)
        if item.fingerprint is None:
            work.again.extend(_removed_before(item, wanted.values()))
        return work

    def _wanted(self, into_key: bytes, from_key: bytes, edge: StoredEdge, ends: Ends, names: "_Names") -> WantedEdge:
        source, into = ends.end(from_key), ends.end(into_key)
        lines = edge.lines if self._at.rules.track_column_lineage else ()
        told = mapped.details(source, into, lines)
        pipeline = ends.remote(edge.job) if edge.job and edge.source else None
        also = f"Also made by {', '.join(names.jobs(edge.also))}" if edge.also else None
        description = "\n".join(filter(None, (told.description, also))) or None
        said = details(told.columns, edge.sql, description, pipeline)
        from_remote, into_remote = ends.remote(from_key), ends.remote(into_key)
        assert from_remote is not None and into_remote is not None  # noqa: S101, PT018 - looked at by the caller
        shapes = (ends.shape(from_key), ends.shape(into_key))
        mark = fingerprint([said, from_remote, into_remote, shapes if told.columns else None])
        notes = tuple(f"there is no column {name}, so it has no lineage" for name in told.unknown)
        return WantedEdge(into_key, from_key, into_remote, from_remote, edge.job, said, mark, notes)

    def _write_all(self, group: Sequence[_Work]) -> list[_Done]:
        return [self._write(work) for work in group]

    def _write(self, work: _Work) -> _Done:
        """Write the edges into one target, as far as it goes."""
        if self._at.workers.away is not None and (work.put or work.gone or work.again):
            return _stopped(work, self._at.workers.away, [], [])
        written: list[EdgeState] = []
        removed: list[EdgeState] = []
        deleted = _removed_before(work.item, [wanted for wanted, _ in work.put])
        notes = list(work.notes)
        try:
            for wanted, known in work.put:
                done = write_edge(self._at.client, wanted, known)
                written.append(done.state)
                notes += [note for note in done.notes if note not in notes]
            for state in work.gone:
                deleted += filter(None, [remove_edge(self._at.client, state)])
                removed.append(state)
            for one in work.again:
                one.remove(self._at.client)
        except LineageBridgeError as error:
            return _stopped(work, self._at.workers.failed(error), written, removed)
        return _Done(_settled(work, notes, deleted), written, removed, [])


def _not_asked(group: Sequence[_Work], error: LineageBridgeError) -> list[_Done]:
    return [_stopped(work, error, [], []) for work in group]


def _stopped(work: _Work, error: LineageBridgeError, written: list[EdgeState], removed: list[EdgeState]) -> _Done:
    """Tell how far it went; where an end is gone, what stands for it is to be looked at first."""
    if len(written) == len(work.put):
        return _Done(Failed(work.item, error), written, removed, [])
    wanted = work.put[len(written)][0]
    request = {"from": wanted.source.name, "to": wanted.into.name, "details": wanted.said}
    if not isinstance(error, TargetRefused) or error.status != _NOT_FOUND:
        return _Done(Failed(work.item, error, request), written, removed, [])
    keys = [key for key in (wanted.into_key, wanted.from_key, wanted.job) if key]
    doubtful = [(kind, key) for key in keys for kind in ("dataset", "job")]
    return _Done(Failed(work.item, TargetBusy(str(error), _NOT_FOUND), request), written, removed, doubtful)


def _removed_before(item: Item, wanted: Iterable[WantedEdge]) -> list[RemovedEdge]:
    """Give the edges that were removed, but for those that are wanted by now."""
    pairs = {(one.source.id, one.into.id) for one in wanted}
    return [one for one in RemovedEdge.of(item) if one.pair not in pairs]


def _settled(work: _Work, notes: list[str], deleted: Sequence[RemovedEdge]) -> Settled:
    waiting = [f"waits for the other end: {name}" for name in work.missing.values()]
    told = "; ".join([*waiting, *notes][:_MOST_NOTES]) or None
    if work.put or work.gone or work.again:
        outcome = Outcome.PUSHED
    elif work.missing:
        outcome = Outcome.WAITING
    else:
        outcome = Outcome.UNCHANGED
        told = told or (work.item.reason if work.item.outcome in (Outcome.PUSHED, Outcome.UNCHANGED) else None)
    return Settled(work.item, outcome, told, _LOOKED_AT, detail=edges_kept(deleted))


class _Names:
    """Names of what edges mention, looked up at once."""

    def __init__(self, db: Database, org: str, edges: Sequence[StoredEdge]) -> None:
        self._graph = Graph(db, org)
        self._datasets = self._graph.datasets({edge.source for edge in edges if edge.source})
        self._jobs = self._graph.jobs({job for edge in edges for job in (edge.job, *edge.also) if job})

    def edge(self, edge: StoredEdge, into: bytes) -> str:
        """Name an edge by its source."""
        named = self._datasets[edge.source] if edge.source else self._jobs[edge.job or into]
        return f"{named.namespace} {named.name}"

    def jobs(self, jobs: Sequence[bytes]) -> list[str]:
        """Name jobs."""
        return sorted(self._jobs[job].name for job in jobs)
