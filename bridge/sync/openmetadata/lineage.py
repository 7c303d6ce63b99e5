"""Brings lineage to OpenMetadata: one target after the other in one thread each, its edges one by one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bridge.store.database import Database
from bridge.store.lineage.graph import LineageGraph
from bridge.sync.canonical.lineage import CanonicalEdge, read_consumption, read_lineage
from bridge.sync.edge_store import EdgeRecord, EdgeStore
from bridge.sync.openmetadata.context import OpenMetadataContext
from bridge.sync.openmetadata.edge_writer import DeletedEdge, DesiredEdge, details, remove_edge, write_edge
from bridge.sync.openmetadata.remote_entities import RemoteEntities
from bridge.sync.openmetadata.restored_entities import edges_kept
from bridge.sync.sync_item import EXCLUDED, Completed, Failure, Outcome, SyncItem, fingerprint
from bridge.sync.target import BatchResult, ExpectedCount, PlanStep
from connectors.errors import TargetRejected, TargetUnavailable
from mappers.errors import LineageBridgeError
from mappers.openmetadata import lineage_details as mapped

#: The fingerprint of all that was looked at: where it is missing the server may have what was removed.
_LOOKED_AT = fingerprint("looked at")
_MAX_NOTES = 20
#: How many targets of edges are counted at a time.
_AT_ONCE = 200
_NOT_FOUND = 404


class EdgePlan(NamedTuple):
    """What is to be done about the edges into one target."""

    item: SyncItem
    put: list[tuple[DesiredEdge, EdgeRecord | None]]
    gone: list[EdgeRecord]
    notes: list[str]
    #: What it leads from that is not in the target, or what it leads into is not: by keys, with names.
    missing: dict[bytes, str]
    #: What was removed long ago and may be there again.
    again: list[DeletedEdge]

    @property
    def into(self) -> bytes:
        """Name the target by its entity: two datasets that are one entity are worked on one after the other."""
        ends = [wanted.into for wanted, _ in self.put]
        ends += [state.target for state in self.gone] + [one.into for one in self.again]
        return ends[0].id.encode() if ends else self.item.key


class _EdgePlanResult(NamedTuple):
    """What was done about one target, as far as it went."""

    result: Completed | Failure
    written: list[EdgeRecord]
    removed: list[EdgeRecord]
    #: What has gone from the target.
    doubtful: list[tuple[str, bytes]]


class LineagePusher:
    """Pushes edges. Not for several threads at once."""

    def __init__(self, at: OpenMetadataContext, states: EdgeStore) -> None:
        self._at = at
        self._states = states

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        """Make the edges into datasets and jobs what the store says."""
        if not self._at.rules.track_lineage:
            return BatchResult(
                [item.complete(Outcome.OFF, "openmetadata.sync.track_lineage is off") for item in items]
            )
        groups: dict[bytes, list[EdgePlan]] = {}
        works = list(self._works(items))
        for work in works:
            groups.setdefault(work.into, []).append(work)
        self._begin(works)
        done = [one for group in self._at.workers.map(self._write_all, groups.values(), _not_asked) for one in group]
        return BatchResult(
            [one.result for one in done],
            edges_written=[state for one in done for state in one.written],
            edges_deleted=[state for one in done for state in one.removed],
            to_verify={ended for one in done for ended in one.doubtful},
        )

    def _begin(self, works: Sequence[EdgePlan]) -> None:
        """Write down what is about to be said, before anything is; where an edge lay before stays known."""
        begun = [
            wanted.with_intent(known)
            for work in works
            for wanted, known in work.put
            if known is None or known.connects(wanted.source, wanted.into)
        ]
        if begun:
            with self._at.db.transaction():
                self._states.write(begun, [])

    def plan(self, items: Sequence[SyncItem], made: Mapping[bytes, str]) -> Iterator[PlanStep]:
        """Say what a push would do once there is what is to be made: names by keys."""
        if not self._at.rules.track_lineage:
            return
        for work in self._works(items):
            for wanted, known in work.put:
                action = "change" if known else "create"
                yield PlanStep(action, "edge", f"{wanted.source.name} -> {wanted.into.name}")
            keys = [work.item.key, *work.missing, *(state.source_key for state in work.gone)]
            ends = self._at.items.get("dataset", keys) | self._at.items.get("job", keys)
            names = {key: item.remote.name for key, item in ends.items() if item.remote}
            for state in work.gone:
                pair = names.get(state.source_key, state.source.id), names.get(state.target_key, state.target.id)
                yield PlanStep("delete", "edge", " -> ".join(pair))
            there = names | dict(made)
            for source, name in work.missing.items():
                if source in there and work.item.key in there:
                    yield PlanStep("create", "edge", f"{there[source]} -> {there[work.item.key]}")
                else:
                    yield PlanStep("wait", "edge", f"{name} -> {there.get(work.item.key, 'what is not there')}")

    def count_expected(self) -> Iterator[ExpectedCount]:
        """Count the edges that shall be there, and those that were not told as they are now; nothing is asked."""
        if self._at.rules.track_lineage:
            for items in self._at.items.batches("lineage", _AT_ONCE):
                yield self._owed(list(self._works(items)))

    def _owed(self, works: Sequence[EdgePlan]) -> ExpectedCount:
        """Count edges; those to or from what shall not be there are none."""
        known = self._states.into([work.item.key for work in works])
        ends = {key for work in works for key in (work.item.key, *work.missing)}
        items = self._at.items.get("dataset", ends) | self._at.items.get("job", ends)
        left_out = {key for key, item in items.items() if item.outcome in EXCLUDED}
        told, untold = 0, 0
        for work in works:
            put, gone = {one.from_key for one, _ in work.put}, {state.source_key for state in work.gone}
            told += len(known[work.item.key].keys() - put - gone)
            untold += len(put) + (0 if work.item.key in left_out else len(work.missing.keys() - left_out))
        return ExpectedCount("lineage", told + untold, untold)

    def _works(self, items: Sequence[SyncItem]) -> Iterator[EdgePlan]:
        keys = [item.key for item in items]
        jobs = set(self._at.items.get("job", keys))
        of = (self._at.db, self._at.org, self._at.rules.folding)
        stored = read_lineage(*of, [key for key in keys if key not in jobs])
        stored |= read_consumption(*of, jobs)
        everything = [edge for edges in stored.values() for edge in edges]
        sources = {edge.source for edge in everything if edge.source}
        datasets = {*sources, *(key for key in keys if stored[key] and key not in jobs)}
        pipelines = {*jobs, *(edge.job for edge in everything if edge.job)}
        ends = RemoteEntities(self._at.db, self._at.org, self._at.items, datasets, pipelines)
        names = _EdgeNames(self._at.db, self._at.org, everything)
        known = self._states.into(keys)
        for item in items:
            yield self._work(item, stored.get(item.key, []), ends, known[item.key], names)

    def _work(
        self,
        item: SyncItem,
        stored: list[CanonicalEdge],
        ends: RemoteEntities,
        known: dict[bytes, EdgeRecord],
        names: "_EdgeNames",
    ) -> EdgePlan:
        work = EdgePlan(item, [], [], [], {}, [])
        wanted: dict[bytes, DesiredEdge] = {}
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
            if state and not state.connects(one.source, one.into):
                work.gone.append(state)
            work.notes.extend(one.notes)
        work.gone.extend(state for source, state in sorted(known.items()) if source not in wanted)
        if item.fingerprint is None:
            work.again.extend(_removed_before(item, wanted.values()))
        return work

    def _wanted(
        self, into_key: bytes, from_key: bytes, edge: CanonicalEdge, ends: RemoteEntities, names: "_EdgeNames"
    ) -> DesiredEdge:
        source, into = ends.endpoint(from_key), ends.endpoint(into_key)
        lines = edge.columns if self._at.rules.track_column_lineage else ()
        told = mapped.lineage_details(source, into, lines)
        pipeline = ends.remote(edge.job) if edge.job and edge.source else None
        also = f"Also made by {', '.join(names.jobs(edge.other_jobs))}" if edge.other_jobs else None
        description = "\n".join(filter(None, (told.description, also))) or None
        said = details(told.columns, edge.sql, description, pipeline)
        from_remote, into_remote = ends.remote(from_key), ends.remote(into_key)
        assert from_remote is not None and into_remote is not None  # noqa: S101, PT018 - looked at by the caller
        shapes = (ends.columns_version(from_key), ends.columns_version(into_key))
        mark = fingerprint([said, from_remote, into_remote, shapes if told.columns else None])
        notes = tuple(f"there is no column {name}, so it has no lineage" for name in told.unknown)
        return DesiredEdge(into_key, from_key, into_remote, from_remote, edge.job, said, mark, notes)

    def _write_all(self, group: Sequence[EdgePlan]) -> list[_EdgePlanResult]:
        return [self._write(work) for work in group]

    def _write(self, work: EdgePlan) -> _EdgePlanResult:
        """Write the edges into one target, as far as it goes."""
        if self._at.workers.unavailable is not None and (work.put or work.gone or work.again):
            return _stopped(work, self._at.workers.unavailable, [], [])
        written: list[EdgeRecord] = []
        removed: list[EdgeRecord] = []
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
            return _stopped(work, self._at.workers.record_failure(error), written, removed)
        return _EdgePlanResult(_settled(work, notes, deleted), written, removed, [])


def _not_asked(group: Sequence[EdgePlan], error: LineageBridgeError) -> list[_EdgePlanResult]:
    return [_stopped(work, error, [], []) for work in group]


def _stopped(
    work: EdgePlan, error: LineageBridgeError, written: list[EdgeRecord], removed: list[EdgeRecord]
) -> _EdgePlanResult:
    """Tell how far it went; where an end is gone, what stands for it is to be looked at first."""
    if len(written) == len(work.put):
        return _EdgePlanResult(Failure(work.item, error), written, removed, [])
    wanted = work.put[len(written)][0]
    request = {"from": wanted.source.name, "to": wanted.into.name, "details": wanted.said}
    if not isinstance(error, TargetRejected) or error.status != _NOT_FOUND:
        return _EdgePlanResult(Failure(work.item, error, request), written, removed, [])
    keys = [key for key in (wanted.into_key, wanted.from_key, wanted.job) if key]
    doubtful = [(kind, key) for key in keys for kind in ("dataset", "job")]
    return _EdgePlanResult(
        Failure(work.item, TargetUnavailable(str(error), _NOT_FOUND), request), written, removed, doubtful
    )


def _removed_before(item: SyncItem, wanted: Iterable[DesiredEdge]) -> list[DeletedEdge]:
    """Give the edges that were removed, but for those that are wanted by now."""
    pairs = {(one.source.id, one.into.id) for one in wanted}
    return [one for one in DeletedEdge.of(item) if one.pair not in pairs]


def _settled(work: EdgePlan, notes: list[str], deleted: Sequence[DeletedEdge]) -> Completed:
    waiting = [f"waits for the other end: {name}" for name in work.missing.values()]
    told = "; ".join([*waiting, *notes][:_MAX_NOTES]) or None
    if work.put or work.gone or work.again:
        outcome = Outcome.PUSHED
    elif work.missing:
        outcome = Outcome.WAITING
    else:
        outcome = Outcome.UNCHANGED
        told = told or (work.item.reason if work.item.outcome in (Outcome.PUSHED, Outcome.UNCHANGED) else None)
    return Completed(work.item, outcome, told, _LOOKED_AT, record=edges_kept(deleted))


class _EdgeNames:
    """Names of what edges mention, looked up at once."""

    def __init__(self, db: Database, org: str, edges: Sequence[CanonicalEdge]) -> None:
        self._graph = LineageGraph(db, org)
        self._datasets = self._graph.dataset_names({edge.source for edge in edges if edge.source})
        self._jobs = self._graph.job_names({job for edge in edges for job in (edge.job, *edge.other_jobs) if job})

    def edge(self, edge: CanonicalEdge, into: bytes) -> str:
        """Name an edge by its source."""
        named = self._datasets[edge.source] if edge.source else self._jobs[edge.job or into]
        return f"{named.namespace} {named.name}"

    def jobs(self, jobs: Sequence[bytes]) -> list[str]:
        """Name jobs."""
        return sorted(self._jobs[job].name for job in jobs)
