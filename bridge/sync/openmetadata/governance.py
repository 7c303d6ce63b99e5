"""Pushes governance assertions by three-way merge; keeps remote changes.

The merge base is stored twice: as sent, and as the server returned it, because the server escapes text and drops what
it does not accept. A field counts as changed in OpenMetadata only if it differs from the returned value; a difference
from the file alone does not count. Remote changes are reported; the owner of the files imports them.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from bridge.sync.canonical.governance import CanonicalGovernance, read_governance
from bridge.sync.context import split_plan
from bridge.sync.openmetadata.context import NOT_FOUND, OpenMetadataContext, parents_to_verify
from bridge.sync.openmetadata.entity_lookup import COLLECTIONS
from bridge.sync.openmetadata.governance_plan import (
    ChangeResolver,
    DesiredGovernance,
    GovernanceChange,
    GovernanceDiff,
    GovernanceRecord,
    describe_conflict,
    describe_rejected_fields,
    describe_remote_changes,
    with_remote_elements,
    without_missing_columns,
)
from bridge.sync.openmetadata.governance_references import GovernanceReferences, find_all
from bridge.sync.openmetadata.remote_entities import RemoteEntities
from bridge.sync.sync_item import Completed, Failure, Outcome, RemoteReference, SyncItem, fingerprint
from bridge.sync.target import BatchResult
from connectors.errors import TargetRejected, TargetUnavailable
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError
from mappers.governance.merge import FieldPath, FieldValue, FieldValues, MergePolicy, as_set, equal_values, merge
from mappers.governance.merge_base import RemoteChanges, encode_fields, next_base, remote_changes
from mappers.openmetadata import governance as mapped
from mappers.openmetadata.governance_patch import build_patch
from mappers.openmetadata.preserved_fields import READ_FIELDS, full_body, overridden_members

_PRECONDITION_FAILED = 412
_MAX_ATTEMPTS = 3
_MAX_NOTES = 20
NO_OVERRIDES: Mapping[bytes, Mapping[str, Any]] = MappingProxyType({})


class GovernancePusher:
    """Pushes governance fields of datasets. Not thread-safe."""

    def __init__(self, ctx: OpenMetadataContext) -> None:
        self._ctx = ctx
        access, may_create = ctx.options.vocabulary.access, ctx.options.create == "all"
        self._references = GovernanceReferences(ctx.client, access, may_create=may_create)
        self._dry_run_references = GovernanceReferences(ctx.client, access, may_create=may_create, dry_run=True)
        self._policy_by_field: dict[FieldPath, MergePolicy] = {
            tuple(name.split(".")): policy for name, policy in ctx.options.conflicts_by_field
        }
        #: Conflict policies that an operator chose for single fields of a dataset.
        self.overrides: dict[tuple[bytes, FieldPath], MergePolicy] = {}

    def clear_cache(self) -> None:
        """Forget the references that were looked up."""
        self._references.clear_cache()

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        results = self._ctx.push_each(self._plan(items), self._push_entity)
        to_verify = parents_to_verify("dataset", results, {item.key: item.key for item in items})
        # without the texts of the asset file, the generated texts apply again
        to_verify |= {("dataset", result.item.key) for result in results if _withdrew_text(result)}
        return BatchResult(results, to_verify=to_verify)

    def diff(
        self, items: Sequence[SyncItem], facets: Mapping[bytes, Mapping[str, Any]] = NO_OVERRIDES
    ) -> list[GovernanceDiff]:
        """List the changes of a push and the changes made in OpenMetadata, by field, without applying them.

        `facets` replace the governance facets of the store.
        """
        results, desired = split_plan(self._plan([item._replace(fingerprint=None) for item in items], facets))
        self._dry_run_references.clear_cache()
        diffs = self._ctx.requests.map(self._diff_entity, desired, _diff_failed)
        return [*(_diff_without_entity(result) for result in results if isinstance(result, Completed)), *diffs]

    def _plan(
        self, items: Sequence[SyncItem], facets: Mapping[bytes, Mapping[str, Any]] = NO_OVERRIDES
    ) -> list[DesiredGovernance | Completed]:
        keys = [item.key for item in items]
        governance = read_governance(self._ctx.db, self._ctx.org, keys)
        for key in facets.keys() & governance.keys():
            governance[key] = governance[key]._replace(facet=dict(facets[key]))
        entities = RemoteEntities(self._ctx.db, self._ctx.org, self._ctx.items, keys, ())
        return [self._plan_item(item, governance[item.key], entities) for item in items]

    def _plan_item(
        self, item: SyncItem, governance: CanonicalGovernance, entities: RemoteEntities
    ) -> DesiredGovernance | Completed:
        remote = entities.remote(item.key)
        base = item.read_record(GovernanceRecord).base
        if governance.facet is None and governance.score is None and not base.sent:
            return item.complete(Outcome.UNWANTED, "it has no governance")
        if governance.facet and governance.facet.get("syncEnabled") is False:
            return item.complete(Outcome.OFF, "openmetadata.sync_enabled is off for its asset")
        if remote is None:
            return item.complete(Outcome.WAITING, "its dataset is not in OpenMetadata yet")
        local = mapped.desired_fields(governance.facet or {}, self._ctx.options.vocabulary)
        if remote.type != "table":
            local = {
                path: value for path, value in local.items() if path[0] != mapped.COLUMNS and path != mapped.RETENTION
            }
        content = sorted(
            (path, sorted(value) if isinstance(value, frozenset) else value) for path, value in local.items()
        )
        content_fingerprint = fingerprint(
            [remote.id, content, governance.score, self._ctx.options.conflicts, self._ctx.options.conflicts_by_field]
        )
        return item.complete_if_unchanged(content_fingerprint) or DesiredGovernance(
            item,
            remote,
            local,
            governance.score,
            base.for_entity(remote.id),
            content_fingerprint,
            entities.own_values(item.key),
        )

    def _push_entity(self, desired: DesiredGovernance) -> Completed | Failure:
        """Apply local changes; retries if the entity changes concurrently."""
        for _ in range(_MAX_ATTEMPTS):
            entity = self._read(desired)
            change = self._determine_change(desired, entity, self._references)
            try:
                return self._completed(desired, *self._apply(desired, change, entity))
            except TargetRejected as error:
                if error.status != _PRECONDITION_FAILED:
                    self._references.clear_cache()  # a referenced entity may be gone
                    raise
        reason = f"{desired.remote.name} was changed concurrently in every attempt to update it"
        return Failure(desired.item, TargetRejected(reason, _PRECONDITION_FAILED))

    def _apply(
        self, desired: DesiredGovernance, change: GovernanceChange, entity: JsonObject
    ) -> tuple[GovernanceChange, JsonObject]:
        """Apply a change; the display name needs a separate request."""
        display_names = {path: value for path, value in change.changes.items() if path == mapped.DISPLAY_NAME}
        other_changes = {path: value for path, value in change.changes.items() if path not in display_names}
        try:
            operations = build_patch(entity, other_changes, change.references)
            if operations:
                entity = self._patch(desired, entity, operations)
        except TargetRejected as error:
            if error.status == _PRECONDITION_FAILED or len(other_changes) == 1:
                raise
            change, entity = self._apply_single_fields(desired, change, other_changes, entity)
        for name in display_names.values():
            entity = self._set_display_name(desired, entity, name)
        return change, entity

    def _apply_single_fields(
        self,
        desired: DesiredGovernance,
        change: GovernanceChange,
        changes: Mapping[FieldPath, FieldValue],
        entity: JsonObject,
    ) -> tuple[GovernanceChange, JsonObject]:
        """Apply each field separately after the whole patch was rejected, so that valid fields are applied."""
        rejected: dict[FieldPath, TargetRejected] = {}
        for path, value in changes.items():
            try:
                if operations := build_patch(entity, {path: value}, change.references):
                    entity = self._patch(desired, entity, operations)
            except TargetRejected as error:
                if error.status == _PRECONDITION_FAILED:
                    raise
                rejected[path] = error
        if len(rejected) == len(changes):
            raise next(iter(rejected.values()))
        self._references.clear_cache()  # a referenced entity may be gone
        problems = [f"{'.'.join(path)}: {error}" for path, error in sorted(rejected.items())]
        unapplied = change.unapplied._replace(fields=change.unapplied.fields | rejected.keys())
        return change._replace(problems=[*change.problems, *problems], unapplied=unapplied), entity

    def _read(self, desired: DesiredGovernance) -> JsonObject:
        fields = (
            mapped.GOVERNANCE_FIELDS if desired.remote.type == "table" else mapped.GOVERNANCE_FIELDS_WITHOUT_COLUMNS
        )
        entity = self._ctx.client.get(COLLECTIONS[desired.remote.type], desired.remote.name, *fields)
        if entity is None:
            raise TargetUnavailable(f"{desired.remote.name} does not exist", NOT_FOUND)
        return entity

    def _patch(self, desired: DesiredGovernance, entity: JsonObject, operations: list[JsonObject]) -> JsonObject:
        collection = COLLECTIONS[desired.remote.type]
        return self._ctx.client.patch(collection, str(entity["id"]), operations, entity["version"])

    def _determine_change(
        self, desired: DesiredGovernance, entity: JsonObject, references: GovernanceReferences
    ) -> GovernanceChange:
        """Determine the local changes since the merge base; leaves remote changes alone."""
        remote_fields = mapped.entity_fields(entity)
        for path, own_values in desired.own_values.items():
            remote_value = remote_fields.get(path)
            if remote_value in own_values and remote_value != desired.base.read.get(path):
                del remote_fields[path]
        desired, problems = without_missing_columns(desired, entity)
        owners, owner_problems = find_all(sorted(as_set(desired.local.get(mapped.OWNERS))), references.owner)
        problems += owner_problems
        owner_names = {name: owner.qualified_name for name, owner in owners.items()} | _unresolved_owners(
            desired, remote_fields, owners
        )
        local = dict(desired.local)
        if mapped.OWNERS in local:
            local[mapped.OWNERS] = frozenset(owner_names.values())
        remote = desired.base.remote_fields(remote_fields, mapped.to_local_value) | _equal_when_stored(
            local, remote_fields
        )
        merged = merge(
            desired.base.sent, local, remote, self._policies(desired.item.key, {*desired.base.sent, *local})
        )
        changes = {
            path: with_remote_elements(value, remote.get(path), remote_fields.get(path))
            for path, value in merged.fields.items()
            if not equal_values(value, remote.get(path))
        }
        if desired.score != remote_fields.get(mapped.SCORE) and (
            desired.score is not None or desired.item.read_record(GovernanceRecord).score_pushed
        ):
            changes[mapped.SCORE] = desired.score
        resolver = ChangeResolver(references, desired.remote.type, entity, merged.fields.get(mapped.DOMAIN))
        changes = resolver.resolve(
            changes, {owner.qualified_name: (owner.id, owner.type) for owner in owners.values()}
        )
        problems += [*resolver.problems, *(describe_conflict(conflict) for conflict in merged.conflicts)]
        changed_remotely = remote_changes(local, merged)
        return GovernanceChange(
            desired.base,
            changes,
            resolver.references,
            local,
            changed_remotely,
            problems,
            resolver.unapplied,
            owner_names,
        )

    def _policies(self, key: bytes, fields: Iterable[FieldPath]) -> dict[FieldPath, MergePolicy]:
        default = self._ctx.options.conflicts
        return {
            path: self.overrides.get((key, path))
            or self._policy_by_field.get(path)
            or self._policy_by_field.get(path[:1], default)
            for path in fields
        }

    def _set_display_name(self, desired: DesiredGovernance, entity: JsonObject, name: FieldValue) -> JsonObject:
        """Set the display name with a PUT, because bots may not PATCH it by default.

        A PUT keeps an existing display name; only a bulk request, which needs OpenMetadata 2.0, replaces it.
        """
        is_replaced = bool(entity.get("displayName"))
        if not (name or is_replaced) or (is_replaced and not self._ctx.client.features().override_metadata):
            return entity
        collection = COLLECTIONS[desired.remote.type]
        current = self._ctx.client.get(collection, desired.remote.name, *READ_FIELDS[collection], "owners")
        if current is None:
            raise TargetUnavailable(f"{desired.remote.name} does not exist", NOT_FOUND)
        body = full_body(collection, current) | ({"displayName": name} if name else {})
        if is_replaced:
            body |= overridden_members(current)
            [row] = self._ctx.client.put_bulk(collection, [body], lambda _: desired.remote.name, override=True)
            if row.error:
                raise TargetRejected(row.error, 0)
        else:
            self._ctx.client.put(collection, body)
        return self._read(desired)

    def _completed(self, desired: DesiredGovernance, change: GovernanceChange, entity: JsonObject) -> Completed:
        remote_fields = mapped.entity_fields(entity)
        base = next_base(change.base, change.local, change.remote, remote_fields, change.unapplied)
        record = GovernanceRecord(
            encode_fields(base.sent),
            encode_fields(base.read),
            encode_fields(change.remote.fields),
            base.remote_id,
            desired.score is not None,
            change.owners,
        )
        messages = [
            *change.problems,
            *describe_remote_changes(change.remote.fields),
            *describe_rejected_fields(change.local, change.remote, remote_fields),
        ]
        outcome = Outcome.UNRESOLVED if change.problems else Outcome.PUSHED
        remote = RemoteReference(desired.remote.type, f"{desired.remote.id}/governance", desired.remote.name)
        reason = "; ".join(messages[:_MAX_NOTES]) or None
        return Completed(
            desired.item, outcome, reason, desired.fingerprint, remote, created_by_us=False, record=record
        )

    def _diff_entity(self, desired: DesiredGovernance) -> GovernanceDiff:
        change = self._determine_change(desired, self._read(desired), self._dry_run_references)
        return GovernanceDiff(
            desired.item.key, desired.remote.name, change.changes, change.remote, change.problems, change.owners
        )


def _withdrew_text(result: Completed | Failure) -> bool:
    if not isinstance(result, Completed) or not isinstance(result.record, GovernanceRecord):
        return False
    previous_base = result.item.read_record(GovernanceRecord).base
    withdrawn = previous_base.sent.keys() - result.record.base.sent.keys()
    return not withdrawn.isdisjoint((mapped.DESCRIPTION, mapped.DISPLAY_NAME))


def _equal_when_stored(local: FieldValues, remote_fields: FieldValues) -> dict[FieldPath, FieldValue]:
    """Return local values that count as equal to the server's values, because the server would store them as such."""
    single_values = {path: value for path, value in local.items() if not isinstance(value, frozenset)}
    return {
        path: value
        for path, value in single_values.items()
        if equal_values(mapped.to_remote_value(path, value), remote_fields.get(path))
    }


def _unresolved_owners(
    desired: DesiredGovernance, remote_fields: Mapping[FieldPath, FieldValue], resolved: Container[str]
) -> dict[str, str]:
    """Return owners that cannot be resolved any more but are still assigned on the server, by name in the file."""
    recorded_owners = desired.item.read_record(GovernanceRecord).owners
    assigned_owners = as_set(remote_fields.get(mapped.OWNERS))
    desired_owners = as_set(desired.local.get(mapped.OWNERS))
    return {
        name: remote_name
        for name, remote_name in recorded_owners.items()
        if name in desired_owners and name not in resolved and remote_name in assigned_owners
    }


def _diff_failed(desired: DesiredGovernance, error: LineageBridgeError) -> GovernanceDiff:
    return GovernanceDiff(desired.item.key, desired.remote.name, {}, RemoteChanges({}, []), [str(error)], {})


def _diff_without_entity(completed: Completed) -> GovernanceDiff:
    """Return the diff of a dataset without an entity. It has a problem unless the dataset is not synced."""
    is_excluded = completed.outcome in (Outcome.UNWANTED, Outcome.OFF)
    problems = [] if is_excluded else [completed.reason or ""]
    return GovernanceDiff(completed.item.key, None, {}, RemoteChanges({}, []), problems, {})
