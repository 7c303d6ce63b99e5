"""Brings what stewards wrote of datasets to OpenMetadata, and tells what was changed over there.

What both sides last agreed on is kept twice: as it was sent, and as the server then said it, for it escapes texts and
leaves out what it does not take. OpenMetadata has changed something where it says otherwise than it did then, never
where it only says otherwise than the file. Such a change stays, and is told: whoever keeps the files takes it over.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from bridge.sync.canonical.governance import CanonicalGovernance, read_governance
from bridge.sync.openmetadata.access_policies import OFF
from bridge.sync.openmetadata.context import NOT_FOUND, OpenMetadataContext, items_to_verify
from bridge.sync.openmetadata.entity_lookup import COLLECTIONS
from bridge.sync.openmetadata.governance_plan import (
    ChangeResolver,
    DesiredGovernance,
    GovernanceChange,
    GovernanceDiff,
    describe_conflict,
    describe_remote_changes,
    of_its_columns,
    rejected_fields,
    with_theirs,
)
from bridge.sync.openmetadata.governance_references import GovernanceReferences, known
from bridge.sync.openmetadata.remote_entities import RemoteEntities
from bridge.sync.sync_item import ABANDONED, Completed, Failure, Outcome, RemoteReference, SyncItem, fingerprint
from bridge.sync.target import BatchResult
from connectors.errors import TargetRejected, TargetUnavailable
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError
from mappers.governance.merge import FieldPath, FieldValue, FieldValues, MergePolicy, as_set, equal_values, merge
from mappers.governance.merge_base import MergeBase, RemoteChanges, next_base, remote_changes, to_record
from mappers.openmetadata import governance as of
from mappers.openmetadata.governance_patch import NO_REFERENCES, build_patch

_CHANGED_MEANWHILE, _FORBIDDEN = 412, 403
_TRIES = 3
_MAX_NOTES = 20
#: Whether the server was told a quality score.
_SCORED = "scored"
#: How the owners that the file names are called on the server.
OWNERS = "owners"
NOT_SAID: Mapping[bytes, Mapping[str, Any]] = MappingProxyType({})


class GovernancePusher:
    """Pushes what governs datasets. Not for several threads at once."""

    def __init__(self, at: OpenMetadataContext) -> None:
        self._at = at
        self._labels = GovernanceReferences(at.client, may_create=at.rules.create == "all")
        self._imagined = GovernanceReferences(at.client, may_create=at.rules.create == "all", dry=True)
        self._policy: dict[FieldPath, MergePolicy] = {
            tuple(name.split(".")): policy for name, policy in at.rules.conflicts_of
        }
        #: Who wins of one field of one dataset, where a person was asked.
        self.overrides: dict[tuple[bytes, FieldPath], MergePolicy] = {}
        #: Whether the server lets us name things for people, as far as it was tried.
        self._may_name = True

    def clear_cache(self) -> None:
        """Believe nothing of the server any more."""
        self._labels.clear_cache()

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        """Make the server say what governs datasets."""
        if not self._at.rules.sync_governance_metadata:
            return BatchResult([item.complete(Outcome.OFF, OFF) for item in items])
        found = self._works(items)
        works = [one for one in found if isinstance(one, DesiredGovernance)]
        done = self._at.workers.map(self._push_entity, works, _failed)
        gone = items_to_verify("dataset", done, {work.item.key: work.item.key for work in works})
        return BatchResult([*(one for one in found if isinstance(one, Completed)), *done], to_verify=gone)

    def diff(
        self, items: Sequence[SyncItem], said: Mapping[bytes, Mapping[str, Any]] = NOT_SAID
    ) -> list[GovernanceDiff]:
        """Say what a push would change and what was changed over there, field by field; changes nothing.

        What is said of datasets may be given in the place of what the store says.
        """
        found = self._works([item._replace(fingerprint=None) for item in items], said)
        works = [one for one in found if isinstance(one, DesiredGovernance)]
        self._imagined.clear_cache()
        looked = self._at.workers.map(self._look, works, _not_seen)
        return [*(_not_looked(one) for one in found if isinstance(one, Completed)), *looked]

    def _works(
        self, items: Sequence[SyncItem], said: Mapping[bytes, Mapping[str, Any]] = NOT_SAID
    ) -> list[DesiredGovernance | Completed]:
        keys = [item.key for item in items]
        stored = read_governance(self._at.db, self._at.org, keys)
        for key in said.keys() & stored.keys():
            stored[key] = stored[key]._replace(said=dict(said[key]))
        ends = RemoteEntities(self._at.db, self._at.org, self._at.items, keys, ())
        return [self._work(item, stored[item.key], ends.remote(item.key)) for item in items]

    def _work(
        self, item: SyncItem, stored: CanonicalGovernance, remote: RemoteReference | None
    ) -> DesiredGovernance | Completed:
        agreed = MergeBase.from_record(item.record)
        if stored.said is None and stored.score is None and not agreed.sent:
            return item.complete(Outcome.UNWANTED, "nobody governs it")
        if stored.said and stored.said.get("syncEnabled") is False:
            return item.complete(Outcome.OFF, "openmetadata.sync_enabled of its asset is off")
        if remote is None:
            return item.complete(Outcome.WAITING, "its dataset is not there")
        local = of.desired_fields(stored.said or {}, self._at.rules.words)
        if remote.type != "table":
            local = {path: value for path, value in local.items() if path[0] != of.COLUMNS and path != of.RETENTION}
        told_of = sorted(
            (path, sorted(value) if isinstance(value, frozenset) else value) for path, value in local.items()
        )
        mark = fingerprint([remote.id, told_of, stored.score, self._at.rules.conflicts, self._at.rules.conflicts_of])
        if item.fingerprint == mark and item.outcome in (*ABANDONED, Outcome.PUSHED, Outcome.UNCHANGED):
            return item.complete(
                Outcome(item.outcome) if item.outcome in ABANDONED else Outcome.UNCHANGED, item.reason
            )
        return DesiredGovernance(item, remote, local, stored.score, agreed.for_entity(remote.id), mark)

    def _push_entity(self, work: DesiredGovernance) -> Completed | Failure:
        """Change an entity by what is new on our side, as long as nobody else is changing it."""
        for _ in range(_TRIES):
            entity = self._read(work)
            change = self._change(work, entity, self._labels)
            try:
                return self._settled(work, *self._changed(work, change, entity))
            except TargetRejected as error:
                if error.status != _CHANGED_MEANWHILE:
                    self._labels.clear_cache()  # perhaps something it refers to is gone
                    raise self._at.failed(error) from error
        said = f"{work.remote.name} was changed by others each time that it was to be changed"
        return Failure(work.item, TargetRejected(said, _CHANGED_MEANWHILE))

    def _changed(
        self, work: DesiredGovernance, change: GovernanceChange, entity: JsonObject
    ) -> tuple[GovernanceChange, JsonObject]:
        """Change an entity; its name for people by itself, for it may be refused."""
        named = {path: value for path, value in change.changes.items() if path == of.DISPLAY_NAME}
        others = {path: value for path, value in change.changes.items() if path not in named}
        try:
            operations = build_patch(entity, others, change.references)
            entity = self._patched(work, entity, operations) if operations else entity
        except TargetRejected as error:
            if error.status == _CHANGED_MEANWHILE or len(others) == 1:
                raise
            change, entity = self._one_by_one(work, change, others, entity)
        for name in named.values():
            entity = self._set_display_name(work, entity, name)
        return change, entity

    def _one_by_one(
        self,
        work: DesiredGovernance,
        change: GovernanceChange,
        changes: Mapping[FieldPath, FieldValue],
        entity: JsonObject,
    ) -> tuple[GovernanceChange, JsonObject]:
        """Change what can be changed of what is refused as a whole: one field keeps none of the others back."""
        refused: dict[FieldPath, TargetRejected] = {}
        for path, value in changes.items():
            try:
                if operations := build_patch(entity, {path: value}, change.references):
                    entity = self._patched(work, entity, operations)
            except TargetRejected as error:
                if error.status == _CHANGED_MEANWHILE:
                    raise
                refused[path] = error
        if len(refused) == len(changes):
            raise next(iter(refused.values()))
        self._labels.clear_cache()  # perhaps something it refers to is gone
        problems = [f"{'.'.join(path)}: {error}" for path, error in sorted(refused.items())]
        undone = change.undone._replace(fields=change.undone.fields | refused.keys())
        return change._replace(problems=[*change.problems, *problems], undone=undone), entity

    def _read(self, work: DesiredGovernance) -> JsonObject:
        asked = of.GOVERNANCE_FIELDS if work.remote.type == "table" else of.GOVERNANCE_FIELDS_WITHOUT_COLUMNS
        entity = self._at.client.get(COLLECTIONS[work.remote.type], work.remote.name, *asked)
        if entity is None:
            raise TargetUnavailable(f"{work.remote.name} is not there", NOT_FOUND)
        return entity

    def _patched(self, work: DesiredGovernance, entity: JsonObject, operations: list[JsonObject]) -> JsonObject:
        collection = COLLECTIONS[work.remote.type]
        return self._at.client.patch(collection, str(entity["id"]), operations, entity["version"])

    def _change(self, work: DesiredGovernance, entity: JsonObject, labels: GovernanceReferences) -> GovernanceChange:
        """Say what to change: what a steward changed, and nothing of what was changed over there."""
        there = of.entity_fields(entity)
        work, problems = of_its_columns(work, entity)
        owners, unknown = known(sorted(as_set(work.local.get(of.OWNERS))), labels.owner)
        problems += unknown
        named = {name: one.named for name, one in owners.items()} | _as_before(work, there, owners)
        local = dict(work.local)
        if of.OWNERS in local:
            local[of.OWNERS] = frozenset(named.values())
        remote = work.agreed.remote_fields(there, of.to_local_value) | _as_they_are_there(local, there)
        merged = merge(work.agreed.sent, local, remote, self._policies(work.item.key, {*work.agreed.sent, *local}))
        changes = {
            path: with_theirs(value, remote.get(path), there.get(path))
            for path, value in merged.fields.items()
            if not equal_values(value, remote.get(path))
        }
        if work.score != there.get(of.SCORE) and (work.score is not None or work.item.record.get(_SCORED)):
            changes[of.SCORE] = work.score
        possible = ChangeResolver(labels, work.remote.type, entity, merged.fields.get(of.DOMAIN))
        changes = possible.of(changes, {one.named: (one.id, one.type) for one in owners.values()})
        problems += [*possible.problems, *(describe_conflict(one) for one in merged.conflicts)]
        theirs = remote_changes(local, merged)
        return GovernanceChange(
            work.agreed, changes, possible.references, local, theirs, problems, possible.undone, named
        )

    def _policies(self, key: bytes, fields: Iterable[FieldPath]) -> dict[FieldPath, MergePolicy]:
        of_all = self._at.rules.conflicts
        return {
            path: self.overrides.get((key, path)) or self._policy.get(path) or self._policy.get(path[:1], of_all)
            for path in fields
        }

    def _set_display_name(self, work: DesiredGovernance, entity: JsonObject, name: FieldValue) -> JsonObject:
        """Set the name for people, which a bot is not allowed to by the rules that a server has at first."""
        if self._may_name:
            try:
                change = build_patch(entity, {of.DISPLAY_NAME: name}, NO_REFERENCES)
                return self._patched(work, entity, change) if change else entity
            except TargetRejected as error:
                if error.status != _FORBIDDEN:
                    raise
                self._may_name = False
        return entity

    def _settled(self, work: DesiredGovernance, change: GovernanceChange, entity: JsonObject) -> Completed:
        there = of.entity_fields(entity)
        now = next_base(change.agreed, change.local, change.told, there, change.undone)
        detail = to_record(now, change.told) | {_SCORED: work.score is not None, OWNERS: change.owners}
        said = [
            *change.problems,
            *describe_remote_changes(change.told.fields),
            *rejected_fields(change.local, change.told, there),
        ]
        outcome = Outcome.UNRESOLVED if change.problems else Outcome.PUSHED
        remote = RemoteReference(work.remote.type, f"{work.remote.id}/governance", work.remote.name)
        reason = "; ".join(said[:_MAX_NOTES]) or None
        return Completed(work.item, outcome, reason, work.mark, remote, created_by_us=False, record=detail)

    def _look(self, work: DesiredGovernance) -> GovernanceDiff:
        change = self._change(work, self._read(work), self._imagined)
        return GovernanceDiff(
            work.item.key, work.remote.name, change.changes, change.told, change.problems, change.owners
        )


def _as_they_are_there(local: FieldValues, there: FieldValues) -> dict[FieldPath, FieldValue]:
    """Give the values that the server says as it would store them: whoever sent them, they are the same."""
    single = {path: value for path, value in local.items() if not isinstance(value, frozenset)}
    return {
        path: value
        for path, value in single.items()
        if equal_values(of.to_remote_value(path, value), there.get(path))
    }


def _as_before(
    work: DesiredGovernance, there: Mapping[FieldPath, FieldValue], found: Container[str]
) -> dict[str, str]:
    """Name the owners that were found once and are not any more, and still are there: nobody took them away."""
    owners: Mapping[str, str] = work.item.record.get(OWNERS, {})
    still = as_set(there.get(of.OWNERS))
    wanted = as_set(work.local.get(of.OWNERS))
    return {name: was for name, was in owners.items() if name in wanted and name not in found and was in still}


def _failed(work: DesiredGovernance, error: LineageBridgeError) -> Completed | Failure:
    return Failure(work.item, error, None, work.mark)


def _not_seen(work: DesiredGovernance, error: LineageBridgeError) -> GovernanceDiff:
    return GovernanceDiff(work.item.key, work.remote.name, {}, RemoteChanges({}, []), [str(error)], {})


def _not_looked(settled: Completed) -> GovernanceDiff:
    """Say why nothing can be compared; what nobody governs is as it should be."""
    silent = settled.outcome in (Outcome.UNWANTED, Outcome.OFF)
    return GovernanceDiff(
        settled.item.key, None, {}, RemoteChanges({}, []), [] if silent else [settled.reason or ""], {}
    )
