"""Creates and updates entities in bulk."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from bridge.sync.openmetadata.context import OpenMetadataContext
from bridge.sync.openmetadata.desired_entities import DesiredEntity, EntityRecord
from bridge.sync.openmetadata.entity_lookup import EntityLookup, column_paths
from bridge.sync.openmetadata.entity_resolver import EntityResolver, ResolvedEntity, completed_unless_changed
from bridge.sync.openmetadata.entity_update import (
    EntityUpdate,
    move_manual_edges,
    prepare_update,
    read_entity,
    with_edits_of_moved_entity,
)
from bridge.sync.openmetadata.governance_references import GovernanceReferences, find_all
from bridge.sync.openmetadata.parents import ParentEntities, key_of
from bridge.sync.sync_item import Completed, Failure, Outcome, RemoteReference, fingerprint, pushed
from bridge.sync.target import PlanStep
from connectors.errors import TargetRejected, TargetUnavailable
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError
from mappers.openmetadata.fqn import fqn, quote_part

_BAD_REQUEST, _NOT_FOUND = 400, 404
#: Bulk requests in flight; more of them slow the server down.
_PARALLEL_BULKS = 2


class EntityPusher:
    """Pushes entities of any type; requests run in a thread pool. Not thread-safe."""

    def __init__(self, ctx: OpenMetadataContext, lookup: EntityLookup, clock: Callable[[], int]) -> None:
        self._ctx = ctx
        self._client, self._requests, self._options = ctx.client, ctx.requests, ctx.options
        self._lookup = lookup
        self._parents = ParentEntities(ctx.client, ctx.options.create, fqn(ctx.options.layout.service))
        self._references = GovernanceReferences(ctx.client, "", may_create=False)
        self._resolver = EntityResolver(lookup, self._parents, ctx.items, ctx.requests)
        self._clock = clock

    def push(self, desired_entities: Sequence[DesiredEntity]) -> list[Completed | Failure]:
        """Bring entities to their desired state; unchanged entities cost no requests."""
        results, resolved = self._resolve(desired_entities)
        results += self._requests.map(
            self._use_existing, [entity for entity in resolved if not entity.may_change], ResolvedEntity.failure
        )
        changing = [_with_intent(entity) for entity in resolved if entity.may_change]
        self._ctx.items.record_intent(
            (entity.desired.item, entity.desired.item.read_record(EntityRecord)) for entity in changing
        )
        updates = self._prepare_updates(changing)
        results += [update for update in updates if isinstance(update, Failure)]
        return results + self._put([update for update in updates if isinstance(update, EntityUpdate)])

    def plan(
        self, desired_entities: Sequence[DesiredEntity]
    ) -> tuple[list[PlanStep], list[Completed | Failure], dict[bytes, str]]:
        """Return steps of a push, results for items that need no step, and the planned entity names by item key."""
        results, resolved = self._resolve(desired_entities)
        new_parents = self._parents.find_missing(
            [entity.candidate.parents for entity in resolved if entity.existing is None]
        )
        steps = [_plan_step(entity) for entity in resolved]
        names = {entity.desired.item.key: step.name for entity, step in zip(resolved, steps, strict=True)}
        return (
            [*(PlanStep("create", request.collection, request.fqn) for request in new_parents), *steps],
            results,
            names,
        )

    def find_abandoned_creations(
        self, completed: Sequence[Completed]
    ) -> tuple[list[Completed | Failure], list[RemoteReference]]:
        """Find entities that are no longer desired but whose creation may have succeeded.

        Returns the results of the given items, and the entities that were found.
        """
        results: list[Completed | Failure] = []
        orphaned: list[RemoteReference] = []
        for result in completed:
            record = result.item.read_record(EntityRecord)
            if result.outcome is not Outcome.UNWANTED or not record.creating or not record.creating_in:
                results.append(result)
                continue
            try:
                orphaned += self._lookup.find(record.creating_in, [record.creating]).values()
            except LineageBridgeError as error:
                results.append(Failure(result.item, error))
            else:
                results.append(result._replace(record=replace(record, creating=None, creating_in=None)))
        return results, orphaned

    def _resolve(
        self, desired_entities: Sequence[DesiredEntity]
    ) -> tuple[list[Completed | Failure], list[ResolvedEntity]]:
        """Complete items that need no request, and resolve the locations of all other items."""
        now = self._clock()
        results: list[Completed | Failure] = []
        changed = []
        for desired in desired_entities:
            completed = completed_unless_changed(desired, now)
            if completed is None:
                changed.append(desired)
            else:
                results.append(completed)
        resolver_results = self._resolver.resolve(changed)
        resolved = [result for result in resolver_results if isinstance(result, ResolvedEntity)]
        return results + [result for result in resolver_results if not isinstance(result, ResolvedEntity)], resolved

    def _use_existing(self, resolved: ResolvedEntity) -> Completed | Failure:
        """Use a foreign entity unchanged."""
        entity = read_entity(self._client, resolved)
        if entity is None or resolved.existing is None:
            return resolved.failure(TargetUnavailable("it was just deleted", _NOT_FOUND))
        record = EntityRecord(columns=tuple(sorted(column_paths(entity))), tasks=_task_names(entity))
        note = "created by others; used unchanged"
        return pushed(resolved.desired, resolved.existing, note, record, created_by_us=False)

    def _prepare_updates(self, entities: Sequence[ResolvedEntity]) -> list[EntityUpdate | Failure]:
        """Create the parents, then prepare the requests; existing entities are read first."""
        parent_errors = self._parents.create_missing(
            [entity.candidate.parents for entity in entities], self._requests
        )
        failures: list[EntityUpdate | Failure] = []
        ready: list[ResolvedEntity] = []
        for entity in entities:
            keys = [key_of(parent) for parent in entity.candidate.parents]
            errors = [parent_errors[key] for key in keys if key in parent_errors]
            if errors:
                failures.append(entity.failure(errors[0]))
            else:
                ready.append(entity)
        return failures + self._requests.map(self._prepare_update, ready, ResolvedEntity.failure)

    def _prepare_update(self, resolved: ResolvedEntity) -> EntityUpdate | Failure:
        references, problems = find_all(resolved.desired.owners, self._references.owner)
        owners = [{"id": owner.id, "type": owner.type} for owner in references.values()]
        if resolved.existing is None:
            body = resolved.candidate.own.body | ({"owners": owners} if owners else {})
            update = EntityUpdate(resolved, with_edits_of_moved_entity(self._client, resolved, body))
        else:
            if resolved.is_deleted:
                self._client.restore(resolved.candidate.collection, resolved.existing.id)
            with_columns = self._options.update_on_schema_change
            update = prepare_update(self._client, resolved, owners, with_columns=with_columns)
        missing = [f"its owner is unknown: {problem}" for problem in problems]
        return update._replace(note="; ".join(filter(None, [update.note, *missing])) or None)

    def _put(self, updates: Sequence[EntityUpdate]) -> list[Completed | Failure]:
        """Send batches, then read back the ids of new entities."""
        results: list[Completed | Failure] = []
        by_collection: dict[str, list[EntityUpdate]] = {}
        for update in updates:
            by_collection.setdefault(update.resolved.candidate.collection, []).append(update)
        size = self._options.batch_size
        for collection, collection_updates in by_collection.items():
            batches = [collection_updates[i : i + size] for i in range(0, len(collection_updates), size)]
            accepted: list[EntityUpdate] = []
            for i in range(0, len(batches), _PARALLEL_BULKS):
                for sent in self._requests.map(self._send_batch, batches[i : i + _PARALLEL_BULKS], _failed):
                    results += [result for result in sent if isinstance(result, Failure)]
                    accepted += [result for result in sent if isinstance(result, EntityUpdate)]
            results += self._complete(collection, accepted)
        return results

    def _send_batch(self, batch: Sequence[EntityUpdate]) -> list[EntityUpdate | Failure]:
        return self._requests.send_in_halves(batch, self._put_bulk, _failed)

    def _put_bulk(self, batch: Sequence[EntityUpdate]) -> list[EntityUpdate | Failure]:
        collection = batch[0].resolved.candidate.collection
        rows = self._client.put_bulk(collection, [update.body for update in batch], _row_fqn)
        if any(row.error for row in rows):
            self._parents.clear_cache()  # a parent may be gone
        return [
            update.resolved.failure(_row_error(row.error), update.body) if row.error else update
            for update, row in zip(batch, rows, strict=True)
        ]

    def _complete(self, collection: str, accepted: Sequence[EntityUpdate]) -> list[Completed | Failure]:
        """Complete accepted updates with the ids of their entities."""
        remotes = {
            update.resolved.existing.name: update.resolved.existing for update in accepted if update.resolved.existing
        }
        new = [update.resolved.candidate.own.fqn for update in accepted if update.resolved.existing is None]
        try:
            remotes |= self._lookup.find(collection, new, refresh=True)
        except LineageBridgeError as error:
            return [update.resolved.failure(error, update.body) for update in accepted]
        results: list[Completed | Failure] = []
        for update in accepted:
            resolved = update.resolved
            name = resolved.existing.name if resolved.existing else resolved.candidate.own.fqn
            if name not in remotes:
                missing = TargetUnavailable(f"the server accepted {name} but does not return it", _NOT_FOUND)
                results.append(resolved.failure(missing, update.body))
                continue
            record = EntityRecord(
                description=resolved.candidate.own.body.get("description"),
                display_name=resolved.candidate.own.body.get("displayName"),
                shape=_columns_version(update),
                tasks=_task_names(update.body),
                owners=tuple(str(owner["id"]) for owner in update.body.get("owners", ())),
            )
            moved_note = None if resolved.existing else move_manual_edges(self._client, resolved, remotes[name])
            notes = "; ".join(filter(None, (update.note, moved_note, *resolved.desired.notes))) or None
            results.append(pushed(resolved.desired, remotes[name], notes, record))
        return results

    def clear_cache(self) -> None:
        self._lookup.clear_cache()
        self._parents.clear_cache()
        self._references.clear_cache()


def _plan_step(resolved: ResolvedEntity) -> PlanStep:
    collection, existing = resolved.candidate.collection, resolved.existing
    if existing is None:
        return PlanStep("create", collection, resolved.candidate.own.fqn)
    if resolved.is_deleted:
        return PlanStep("restore", collection, existing.name)
    action = "change" if resolved.may_change else "use"
    return PlanStep(action, collection, existing.name)


def _row_fqn(body: JsonObject) -> str:
    """Return the fully qualified name that identifies a request in a bulk response."""
    parent = next(str(body[key]) for key in ("databaseSchema", "service", "apiCollection") if key in body)
    return f"{parent}.{quote_part(body['name'])}"


def _task_names(entity: JsonObject) -> tuple[str, ...]:
    return tuple(str(task["name"]) for task in entity.get("tasks") or ())


def _failed(batch: Sequence[EntityUpdate], error: LineageBridgeError) -> list[EntityUpdate | Failure]:
    return [update.resolved.failure(error, update.body) for update in batch]


def _with_intent(resolved: ResolvedEntity) -> ResolvedEntity:
    """Record what is about to be created or written, so that it is recognized after a crash."""
    item, own = resolved.desired.item, resolved.candidate.own
    record = item.read_record(EntityRecord)
    if description := own.body.get("description"):
        attempted = dict.fromkeys([*record.attempted_descriptions, description])
        record = replace(record, attempted_descriptions=tuple(attempted))
    if resolved.existing is None:
        record = replace(record, creating=own.fqn, creating_in=own.collection)
    return resolved._replace(desired=resolved.desired._replace(item=item._replace(record=record)))


def _row_error(message: str) -> LineageBridgeError:
    """Return the error of a bulk row. A missing parent is a retryable error, because the parent is created again."""
    return TargetUnavailable(message, _NOT_FOUND) if "not found" in message else TargetRejected(message, _BAD_REQUEST)


def _columns_version(update: EntityUpdate) -> str:
    """Return a value that changes with the columns on the server. After a change, edges must be written again."""
    previous = update.resolved.desired.item.read_record(EntityRecord).shape
    if previous and not update.columns_changed:
        return previous
    return fingerprint([sorted(column_paths(update.body)), previous]).hex()
