"""Brings entities to OpenMetadata: made, brought up to date, or used as others made them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bridge.sync.item_store import SyncItemStore
from bridge.sync.openmetadata.desired_entities import DesiredEntity
from bridge.sync.openmetadata.entity_lookup import EntityLookup, column_paths
from bridge.sync.openmetadata.entity_resolver import EntityResolver, ResolvedEntity, completed_unless_changed
from bridge.sync.openmetadata.entity_update import EntityUpdate, read, update
from bridge.sync.openmetadata.options import OpenMetadataOptions
from bridge.sync.openmetadata.parents import ParentEntities, key_of
from bridge.sync.request_pool import RequestPool
from bridge.sync.sync_item import Completed, Failure, Outcome, RemoteReference, fingerprint
from bridge.sync.target import PlanStep
from connectors.errors import TargetRejected, TargetUnavailable
from connectors.openmetadata.client import OpenMetadataClient
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError
from mappers.openmetadata.fqn import quote_part

_REFUSED, _NOT_FOUND, _SERVER_FAILED = 400, 404, 500
#: How many bulks are sent at once: more make a server slower.
_BULKS = 2


class EntityPusher:
    """Pushes entities of any kind; calls run in the threads of a pool. Not for several threads at once."""

    def __init__(
        self,
        client: OpenMetadataClient,
        directory: EntityLookup,
        rules: OpenMetadataOptions,
        items: SyncItemStore,
        workers: RequestPool,
        clock: Callable[[], int],
    ) -> None:
        self._client = client
        self._items = items
        self._directory = directory
        self._parents = ParentEntities(client, rules.create)
        self._resolver = EntityResolver(directory, self._parents, items, workers)
        self._rules = rules
        self._workers = workers
        self._clock = clock

    def push(self, wanted: Sequence[DesiredEntity]) -> list[Completed | Failure]:
        """Make entities what they shall be; what did not change since it was pushed is left alone."""
        results, resolved = self._looked_at(wanted)
        results += self._workers.map(
            self._linked, [one for one in resolved if not one.may_change], ResolvedEntity.failed
        )
        updates = self._updates([one for one in resolved if one.may_change])
        results += [one for one in updates if isinstance(one, Failure)]
        ready = [_with_intent(one) for one in updates if isinstance(one, EntityUpdate)]
        self._items.record_intent((one.resolved.wanted.item, one.resolved.wanted.item.record) for one in ready)
        results += self._put(ready)
        return results

    def plan(
        self, wanted: Sequence[DesiredEntity]
    ) -> tuple[list[PlanStep], list[Completed | Failure], dict[bytes, str]]:
        """Say what a push would do, what needs nothing done, and which items would stand for which names then."""
        results, resolved = self._looked_at(wanted)
        new = self._parents.missing([one.choice.parents for one in resolved if one.existing is None])
        steps = [_step(one) for one in resolved]
        named = {one.wanted.item.key: step.name for one, step in zip(resolved, steps, strict=True)}
        return [*(PlanStep("create", one.collection, one.fqn) for one in new), *steps], results, named

    def find_abandoned_creations(
        self, settled: Sequence[Completed]
    ) -> tuple[list[Completed | Failure], list[RemoteReference]]:
        """Find what was about to be made when nobody came back to tell, of things that shall not be there by now."""
        results: list[Completed | Failure] = []
        left: list[RemoteReference] = []
        for one in settled:
            detail = dict(one.item.record)
            begun, collection = detail.pop("making", None), detail.pop("making_in", None)
            if one.outcome is not Outcome.UNWANTED or not begun or not collection:
                results.append(one)
                continue
            try:
                left += self._directory.find(collection, [begun]).values()
            except LineageBridgeError as error:
                results.append(Failure(one.item, error))
            else:
                results.append(one._replace(record=detail))
        return results, left

    def _looked_at(self, wanted: Sequence[DesiredEntity]) -> tuple[list[Completed | Failure], list[ResolvedEntity]]:
        """Settle what needs no call, and find where the others lie."""
        now = self._clock()
        results: list[Completed | Failure] = []
        changed = []
        for one in wanted:
            settled = completed_unless_changed(one, now)
            if settled is None:
                changed.append(one)
            else:
                results.append(settled)
        found = self._resolver.resolve(changed)
        resolved = [one for one in found if isinstance(one, ResolvedEntity)]
        return results + [one for one in found if not isinstance(one, ResolvedEntity)], resolved

    def _linked(self, resolved: ResolvedEntity) -> Completed | Failure:
        """Use what others made as it is: its columns are its own."""
        entity = read(self._client, resolved)
        if entity is None or resolved.existing is None:
            return resolved.failed(TargetUnavailable("it was deleted just now", _NOT_FOUND))
        detail = {"columns": [list(path) for path in sorted(column_paths(entity))]} | _tasks_of(entity)
        return _settled(resolved, resolved.existing, detail, "made by others: used as it is", ours=False)

    def _updates(self, ours: Sequence[ResolvedEntity]) -> list[EntityUpdate | Failure]:
        """Make the parents, then prepare the requests; of what is there already, it is read first."""
        failed = self._parents.create_missing([one.choice.parents for one in ours], self._workers)
        failures: list[EntityUpdate | Failure] = []
        ready: list[ResolvedEntity] = []
        for one in ours:
            error = next(filter(None, map(failed.get, map(key_of, one.choice.parents))), None)
            if error is None:
                ready.append(one)
            else:
                failures.append(one.failed(error))
        return failures + self._workers.map(self._update, ready, ResolvedEntity.failed)

    def _update(self, resolved: ResolvedEntity) -> EntityUpdate | Failure:
        if resolved.existing is None:
            return EntityUpdate(resolved, resolved.choice.own.body)
        return update(self._client, resolved, with_columns=self._rules.update_on_schema_change)

    def _put(self, updates: Sequence[EntityUpdate]) -> Iterator[Completed | Failure]:
        """Send requests in batches, two at once, and find the ids of what is new."""
        by_collection: dict[str, list[EntityUpdate]] = {}
        for one in updates:
            by_collection.setdefault(one.resolved.choice.collection, []).append(one)
        size = self._rules.batch_size
        for collection, all_of in by_collection.items():
            batches = [all_of[i : i + size] for i in range(0, len(all_of), size)]
            taken: list[EntityUpdate] = []
            for i in range(0, len(batches), _BULKS):
                for batch in self._workers.map(self._send, batches[i : i + _BULKS], _failed):
                    yield from (one for one in batch if isinstance(one, Failure))
                    taken += [one for one in batch if isinstance(one, EntityUpdate)]
            yield from self._identified(collection, taken)

    def _send(self, batch: Sequence[EntityUpdate]) -> list[EntityUpdate | Failure]:
        """Send a batch; one that is refused as a whole is halved until the culprit is found."""
        collection = batch[0].resolved.choice.collection
        try:
            rows = self._client.put_bulk(collection, [one.body for one in batch], _fqn)
        except LineageBridgeError as error:
            failed = isinstance(error, TargetUnavailable) and error.status == _SERVER_FAILED
            theirs = isinstance(error, TargetUnavailable) and not (failed and self._workers.server_responds())
            if len(batch) > 1 and isinstance(error, TargetRejected | TargetUnavailable) and not theirs:
                half = len(batch) // 2
                return self._send(batch[:half]) + self._send(batch[half:])
            return _failed(batch, self._workers.record_failure(error))
        if any(row.error for row in rows):
            self._parents.clear_cache()  # perhaps one of them is gone
        return [
            one.resolved.failed(_row_error(row.error), one.body) if row.error else one
            for one, row in zip(batch, rows, strict=True)
        ]

    def _identified(self, collection: str, taken: Sequence[EntityUpdate]) -> Iterator[Completed | Failure]:
        """Settle what was taken, under the ids that it has: those of new entities are read back."""
        there = {one.resolved.existing.name: one.resolved.existing for one in taken if one.resolved.existing}
        new = [one.resolved.choice.own.fqn for one in taken if one.resolved.existing is None]
        try:
            there |= self._directory.find(collection, new, anew=True)
        except LineageBridgeError as error:
            yield from (one.resolved.failed(error, one.body) for one in taken)
            return
        for one in taken:
            resolved = one.resolved
            name = resolved.existing.name if resolved.existing else resolved.choice.own.fqn
            if name not in there:
                lost = TargetUnavailable(f"the server took {name}, but does not have it", _NOT_FOUND)
                yield resolved.failed(lost, one.body)
                continue
            detail = {"description": one.body.get("description"), "shape": _shape(one)} | _tasks_of(one.body)
            notes = "; ".join(filter(None, (one.note, *resolved.wanted.notes))) or None
            yield _settled(resolved, there[name], detail, notes, ours=True)

    def clear_cache(self) -> None:
        """Look for everything anew."""
        self._directory.clear_cache()
        self._parents.clear_cache()


def _step(resolved: ResolvedEntity) -> PlanStep:
    collection, there = resolved.choice.collection, resolved.existing
    if there is None:
        return PlanStep("create", collection, resolved.choice.own.fqn)
    return PlanStep("change" if resolved.may_change else "use", collection, there.name)


def _fqn(body: JsonObject) -> str:
    """Name a row of a bulk as the server tells of it."""
    holder = next(str(body[key]) for key in ("databaseSchema", "service", "apiCollection") if key in body)
    return f"{holder}.{quote_part(body['name'])}"


def _tasks_of(entity: JsonObject) -> dict[str, Any]:
    """Name the tasks of a pipeline, of which statuses may speak."""
    tasks = [str(task["name"]) for task in entity.get("tasks") or ()]
    return {"tasks": tasks} if tasks else {}


def _failed(batch: Sequence[EntityUpdate], error: LineageBridgeError) -> list[EntityUpdate | Failure]:
    return [one.resolved.failed(error, one.body) for one in batch]


def _settled(
    resolved: ResolvedEntity, there: RemoteReference, detail: dict[str, Any], note: str | None, *, ours: bool
) -> Completed:
    wanted = resolved.wanted
    return Completed(wanted.item, Outcome.PUSHED, note, wanted.fingerprint, there, ours, detail)


def _with_intent(update: EntityUpdate) -> EntityUpdate:
    """Note what is about to be made, whatever becomes of it: what is found there later is ours."""
    resolved, wanted = update.resolved, update.resolved.wanted
    if resolved.existing is not None:
        return update
    making = {"making": resolved.choice.own.fqn, "making_in": resolved.choice.collection}
    item = wanted.item._replace(record={**wanted.item.record, **making})
    return update._replace(resolved=resolved._replace(wanted=wanted._replace(item=item)))


def _row_error(said: str) -> LineageBridgeError:
    """Tell a row that is wrong from one whose parent is gone: that is made anew."""
    return TargetUnavailable(said, _NOT_FOUND) if "not found" in said else TargetRejected(said, _REFUSED)


def _shape(update: EntityUpdate) -> str:
    """Give what changes whenever the columns on the server do: edges between them must be written again then."""
    before = update.resolved.wanted.item.record.get("shape")
    return (
        before if before and not update.reshaped else fingerprint([sorted(column_paths(update.body)), before]).hex()
    )
