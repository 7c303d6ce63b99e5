"""Pushes lineage edges.

Edges into one entity are written sequentially (the server rejects concurrent writes), entities in parallel.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bridge.store.database import Database
from bridge.store.lineage.graph import LineageGraph
from bridge.sync.canonical.lineage import CanonicalEdge, read_consumption, read_lineage
from bridge.sync.edge_store import EdgeRecord, EdgeStore
from bridge.sync.openmetadata.context import NOT_FOUND, OpenMetadataContext
from bridge.sync.openmetadata.edge_writer import (
    DeletedEdge,
    DesiredEdge,
    LineageRecord,
    edge_content,
    remove_edge,
    write_edges,
)
from bridge.sync.openmetadata.remote_entities import RemoteEntities
from bridge.sync.sync_item import EXCLUDED, Completed, Failure, Outcome, SyncItem, fingerprint
from bridge.sync.target import BatchResult, ExpectedCount, PlanStep
from connectors.errors import TargetUnavailable
from mappers.errors import LineageBridgeError
from mappers.openmetadata import lineage_details as mapped

#: Fingerprint of checked items. Without it, deleted edges may exist on the server again.
_CHECKED = fingerprint("looked at")
_MAX_NOTES = 20
#: Edges into one entity that are read in one request before they are written one by one. The number is small, so that
#: other producers are unlikely to change an edge between the read and the write.
_EDGES_PER_READ = 10
#: Maximum number of deleted edges in a record.
_MAX_DELETED = 20
#: Edge targets per batch of a count.
_COUNT_BATCH = 200


class EdgePlan(NamedTuple):
    """Pending changes to the edges into one entity."""

    item: SyncItem
    upserts: list[tuple[DesiredEdge, EdgeRecord | None]]
    deletes: list[EdgeRecord]
    notes: list[str]
    #: Sources of edges whose source or target is not in OpenMetadata yet: item key -> display name.
    unresolved_endpoints: dict[bytes, str]
    #: Names of the datasets and jobs that are not in OpenMetadata yet.
    missing: list[str]
    #: Edges deleted by this bridge that a restored backup may contain.
    possibly_restored: list[DeletedEdge]

    @property
    def group_key(self) -> bytes:
        """Plans with the same key are executed sequentially, because two datasets may share one entity."""
        targets = [desired.target for desired, _ in self.upserts]
        targets += [edge.target for edge in self.deletes] + [edge.target for edge in self.possibly_restored]
        return targets[0].id.encode() if targets else self.item.key


class _EdgePlanResult(NamedTuple):
    """Result of a plan, with the edges that were written and deleted."""

    item_result: Completed | Failure
    written: list[EdgeRecord]
    deleted: list[EdgeRecord]
    #: Items whose entity may no longer exist.
    to_verify: list[tuple[str, bytes]]


class LineagePusher:
    """Pushes edges. Not thread-safe."""

    def __init__(self, ctx: OpenMetadataContext, edge_store: EdgeStore) -> None:
        self._ctx = ctx
        self._edge_store = edge_store

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        """Bring the edges into datasets and jobs to the desired state."""
        groups: dict[bytes, list[EdgePlan]] = {}
        plans = list(self._plan_edges(items))
        for plan in plans:
            groups.setdefault(plan.group_key, []).append(plan)
        self._record_intent(plans)
        plan_results = [
            plan_result
            for group_results in self._ctx.requests.map(self._write_all, groups.values(), _not_attempted)
            for plan_result in group_results
        ]
        return BatchResult(
            [plan_result.item_result for plan_result in plan_results],
            edges_written=[edge for plan_result in plan_results for edge in plan_result.written],
            edges_deleted=[edge for plan_result in plan_results for edge in plan_result.deleted],
            to_verify={key for plan_result in plan_results for key in plan_result.to_verify},
        )

    def _record_intent(self, plans: Sequence[EdgePlan]) -> None:
        """Record the contents about to be written; records of edges between other entities stay unchanged."""
        records = [
            desired.with_intent(record)
            for plan in plans
            for desired, record in plan.upserts
            if record is None or record.connects(desired.source, desired.target)
        ]
        if records:
            with self._ctx.db.transaction():
                self._edge_store.write(records, [])

    def plan(self, items: Sequence[SyncItem], planned_names: Mapping[bytes, str]) -> Iterator[PlanStep]:
        """List the steps of a push; `planned_names` are the names of entities that the push would create first."""
        if not self._ctx.options.track_lineage:
            return
        for plan in self._plan_edges(items):
            for desired, record in plan.upserts:
                action = "change" if record else "create"
                yield PlanStep(action, "edge", f"{desired.source.name} -> {desired.target.name}")
            keys = [plan.item.key, *plan.unresolved_endpoints, *(edge.source_key for edge in plan.deletes)]
            items_by_key = self._ctx.items.get("dataset", keys) | self._ctx.items.get("job", keys)
            names = {key: item.remote.name for key, item in items_by_key.items() if item.remote}
            for edge in plan.deletes:
                source_name = names.get(edge.source_key, edge.source.id)
                target_name = names.get(edge.target_key, edge.target.id)
                yield PlanStep("delete", "edge", f"{source_name} -> {target_name}")
            available = names | dict(planned_names)
            for source, name in plan.unresolved_endpoints.items():
                if source in available and plan.item.key in available:
                    yield PlanStep("create", "edge", f"{available[source]} -> {available[plan.item.key]}")
                else:
                    yield PlanStep("wait", "edge", f"{name} -> {available.get(plan.item.key, 'missing entity')}")

    def count_expected(self) -> Iterator[ExpectedCount]:
        """Count the expected edges and the edges that have not been pushed yet; sends no requests."""
        if self._ctx.options.track_lineage:
            for items in self._ctx.items.batches("lineage", _COUNT_BATCH):
                yield self._count(list(self._plan_edges(items)))

    def _count(self, plans: Sequence[EdgePlan]) -> ExpectedCount:
        """Count the edges of these plans, except postponed edges to or from excluded items."""
        records = self._edge_store.into([plan.item.key for plan in plans])
        keys = {key for plan in plans for key in (plan.item.key, *plan.unresolved_endpoints)}
        items = self._ctx.items.get("dataset", keys) | self._ctx.items.get("job", keys)
        excluded = {key for key, item in items.items() if item.outcome in EXCLUDED}
        pushed, outdated = 0, 0
        for plan in plans:
            upserted = {desired.source_key for desired, _ in plan.upserts}
            deleted = {edge.source_key for edge in plan.deletes}
            pushed += len(records[plan.item.key].keys() - upserted - deleted)
            outdated += len(upserted)
            if plan.item.key not in excluded:
                outdated += len(plan.unresolved_endpoints.keys() - excluded)
        return ExpectedCount("lineage", pushed + outdated, outdated)

    def _plan_edges(self, items: Sequence[SyncItem]) -> Iterator[EdgePlan]:
        keys = [item.key for item in items]
        jobs = set(self._ctx.items.get("job", keys))
        read_arguments = (self._ctx.db, self._ctx.org, self._ctx.options.folding)
        edges_by_target = read_lineage(*read_arguments, [key for key in keys if key not in jobs])
        edges_by_target |= read_consumption(*read_arguments, jobs)
        all_edges = [edge for edges in edges_by_target.values() for edge in edges]
        sources = {edge.source for edge in all_edges if edge.source}
        datasets = {*sources, *(key for key in keys if edges_by_target[key] and key not in jobs)}
        pipelines = {*jobs, *(edge.job for edge in all_edges if edge.job)}
        endpoints = RemoteEntities(self._ctx.db, self._ctx.org, self._ctx.items, datasets, pipelines)
        names = _EdgeNames(self._ctx.db, self._ctx.org, keys, all_edges)
        records = self._edge_store.into(keys)
        for item in items:
            yield self._plan_item(item, edges_by_target.get(item.key, []), endpoints, records[item.key], names)

    def _plan_item(
        self,
        item: SyncItem,
        edges: list[CanonicalEdge],
        endpoints: RemoteEntities,
        records: dict[bytes, EdgeRecord],
        names: "_EdgeNames",
    ) -> EdgePlan:
        plan = EdgePlan(item, [], [], [], {}, [], [])
        desired_edges: dict[bytes, DesiredEdge] = {}
        for edge in edges:
            source = edge.source or edge.job
            if source is None:
                continue
            if endpoints.remote(source) is None or endpoints.remote(item.key) is None:
                plan.unresolved_endpoints[source] = names.name(source)
                plan.missing.extend(names.name(key) for key in (source, item.key) if endpoints.remote(key) is None)
            else:
                desired_edges[source] = self._desired_edge(item.key, source, edge, endpoints, names)
        for source, desired in sorted(desired_edges.items()):
            previous = records.get(source)
            if not desired.is_written(previous):
                plan.upserts.append((desired, previous))
            if previous and not previous.connects(desired.source, desired.target):
                plan.deletes.append(previous)
            plan.notes.extend(desired.notes)
        for source, record in sorted(records.items()):
            # an edge is kept while an operator has to choose the entity of its source or target
            is_kept = source in plan.unresolved_endpoints and (
                endpoints.is_unresolved(source) or endpoints.is_unresolved(item.key)
            )
            if source not in desired_edges and not is_kept:
                plan.deletes.append(record)
        if item.fingerprint is None:
            plan.possibly_restored.extend(_previously_deleted(item, desired_edges.values()))
        return plan

    def _desired_edge(
        self,
        target_key: bytes,
        source_key: bytes,
        edge: CanonicalEdge,
        endpoints: RemoteEntities,
        names: "_EdgeNames",
    ) -> DesiredEdge:
        source, target = endpoints.endpoint(source_key), endpoints.endpoint(target_key)
        column_edges = edge.columns if self._ctx.options.track_column_lineage else ()
        mapped_details = mapped.lineage_details(source, target, column_edges)
        pipeline = endpoints.remote(edge.job) if edge.job and edge.source else None
        other_jobs = f"Also made by {', '.join(names.job_names(edge.other_jobs))}" if edge.other_jobs else None
        description = "\n".join(filter(None, (mapped_details.description, other_jobs))) or None
        content = edge_content(mapped_details.columns, edge.sql, description, pipeline)
        source_remote, target_remote = endpoints.remote(source_key), endpoints.remote(target_key)
        assert source_remote is not None and target_remote is not None  # noqa: S101, PT018 - checked by the caller
        columns_versions = (endpoints.columns_version(source_key), endpoints.columns_version(target_key))
        content_fingerprint = fingerprint(
            [content, source_remote, target_remote, columns_versions if mapped_details.columns else None]
        )
        notes = tuple(f"column {name} does not exist, so it has no lineage" for name in mapped_details.unknown)
        return DesiredEdge(
            target_key, source_key, target_remote, source_remote, edge.job, content, content_fingerprint, notes
        )

    def _write_all(self, group: Sequence[EdgePlan]) -> list[_EdgePlanResult]:
        return [self._write(plan) for plan in group]

    def _write(self, plan: EdgePlan) -> _EdgePlanResult:
        """Execute the plan of one entity; stops at the first error."""
        if self._ctx.requests.unavailable is not None and (plan.upserts or plan.deletes or plan.possibly_restored):
            return _interrupted(plan, self._ctx.requests.unavailable, [], [])
        written: list[EdgeRecord] = []
        deleted_records: list[EdgeRecord] = []
        deleted_edges = _previously_deleted(plan.item, [desired for desired, _ in plan.upserts])
        notes = list(plan.notes)
        try:
            for i in range(0, len(plan.upserts), _EDGES_PER_READ):
                edges, failure = write_edges(self._ctx.client, plan.upserts[i : i + _EDGES_PER_READ])
                written += [edge.record for edge in edges]
                notes += [note for edge in edges for note in edge.notes if note not in notes]
                if failure is not None:
                    raise failure
            for record in plan.deletes:
                deleted_edge = remove_edge(self._ctx.client, record)
                if deleted_edge is not None:
                    deleted_edges.append(deleted_edge)
                deleted_records.append(record)
            for edge in plan.possibly_restored:
                edge.delete_if_restored(self._ctx.client)
        except LineageBridgeError as error:
            return _interrupted(plan, self._ctx.requests.record_failure(error), written, deleted_records)
        return _EdgePlanResult(_completed(plan, notes, deleted_edges), written, deleted_records, [])


def _not_attempted(group: Sequence[EdgePlan], error: LineageBridgeError) -> list[_EdgePlanResult]:
    return [_interrupted(plan, error, [], []) for plan in group]


def _interrupted(
    plan: EdgePlan, error: LineageBridgeError, written: list[EdgeRecord], deleted: list[EdgeRecord]
) -> _EdgePlanResult:
    """Return the result of a plan that stopped at an error. If an endpoint is gone, its items must be verified."""
    if len(written) == len(plan.upserts):
        return _EdgePlanResult(Failure(plan.item, error), written, deleted, [])
    desired = plan.upserts[len(written)][0]
    request = {"from": desired.source.name, "to": desired.target.name, "details": desired.content}
    is_missing = isinstance(error, TargetUnavailable) and error.status == NOT_FOUND
    keys = [desired.target_key, desired.source_key, desired.job] if is_missing else []
    to_verify = [(kind, key) for key in keys if key for kind in ("dataset", "job")]
    return _EdgePlanResult(Failure(plan.item, error, request), written, deleted, to_verify)


def _previously_deleted(item: SyncItem, desired_edges: Iterable[DesiredEdge]) -> list[DeletedEdge]:
    """Return edges that are recorded as deleted, except edges that are desired again."""
    pairs = {(desired.source.id, desired.target.id) for desired in desired_edges}
    deleted = item.read_record(LineageRecord).deleted
    return [edge for edge in deleted if edge.endpoint_ids not in pairs]


def _completed(plan: EdgePlan, notes: list[str], deleted_edges: Sequence[DeletedEdge]) -> Completed:
    postponed = [f"waits until {name} is in OpenMetadata" for name in sorted(set(plan.missing))]
    reason = "; ".join([*postponed, *notes][:_MAX_NOTES]) or None
    if plan.upserts or plan.deletes or plan.possibly_restored:
        outcome = Outcome.PUSHED
    elif plan.unresolved_endpoints:
        outcome = Outcome.WAITING
    else:
        outcome = Outcome.UNCHANGED
        reason = reason or (plan.item.reason if plan.item.outcome in (Outcome.PUSHED, Outcome.UNCHANGED) else None)
    return Completed(plan.item, outcome, reason, _CHECKED, record=LineageRecord(tuple(deleted_edges[-_MAX_DELETED:])))


class _EdgeNames:
    """Names of the datasets and jobs of edges, read in advance."""

    def __init__(self, db: Database, org: str, targets: Iterable[bytes], edges: Sequence[CanonicalEdge]) -> None:
        graph = LineageGraph(db, org)
        sources = {edge.source for edge in edges if edge.source}
        jobs = {job for edge in edges for job in (edge.job, *edge.other_jobs) if job}
        self._names = {**graph.dataset_names({*targets, *sources}), **graph.job_names({*targets, *jobs})}

    def name(self, key: bytes) -> str:
        """Return the display name of a dataset or job."""
        return " ".join(self._names[key])

    def job_names(self, jobs: Sequence[bytes]) -> list[str]:
        return sorted(self._names[job].name for job in jobs)
