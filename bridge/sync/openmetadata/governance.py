"""Brings what stewards wrote of datasets to OpenMetadata, and tells what was changed over there.

What both sides last agreed on is kept twice: as it was sent, and as the server then said it, for it escapes texts and
leaves out what it does not take. OpenMetadata has changed something where it says otherwise than it did then, never
where it only says otherwise than the file. Such a change stays, and is told: whoever keeps the files takes it over.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from bridge.sync.governance import StoredGovernance, read_governance
from bridge.sync.item import GIVEN_UP, Failed, Item, Outcome, Remote, Settled, fingerprint
from bridge.sync.openmetadata.access import OFF
from bridge.sync.openmetadata.directory import COLLECTIONS
from bridge.sync.openmetadata.ends import Ends
from bridge.sync.openmetadata.governance_change import Change, Work, of_its_columns, with_theirs
from bridge.sync.openmetadata.governance_look import Look, not_taken, say_conflict, say_theirs
from bridge.sync.openmetadata.labels import Labels, known
from bridge.sync.openmetadata.possible import Possible
from bridge.sync.openmetadata.workbench import NOT_FOUND, Workbench, missing
from bridge.sync.target import Pushed
from connectors.openmetadata.calls import Entity
from mappers.errors import LineageBridgeError, TargetBusy, TargetRefused
from mappers.governance.agreement import Agreement, Told, agreed, remembered, told
from mappers.governance.merge import Fields, Path, Policy, Value, elements, merge, same
from mappers.openmetadata import governance as of
from mappers.openmetadata.governance_patch import NOTHING, patch

_CHANGED_MEANWHILE, _FORBIDDEN = 412, 403
_TRIES = 3
_MOST_NOTES = 20
#: Whether the server was told a quality score.
_SCORED = "scored"
#: How the owners that the file names are called on the server.
OWNERS = "owners"
NOT_SAID: Mapping[bytes, Mapping[str, Any]] = MappingProxyType({})


class Governance:
    """Pushes what governs datasets. Not for several threads at once."""

    def __init__(self, at: Workbench) -> None:
        self._at = at
        self._labels = Labels(at.client, may_create=at.rules.create == "all")
        self._imagined = Labels(at.client, may_create=at.rules.create == "all", dry=True)
        self._policy: dict[Path, Policy] = {tuple(name.split(".")): policy for name, policy in at.rules.conflicts_of}
        #: Who wins of one field of one dataset, where a person was asked.
        self.decisions: dict[tuple[bytes, Path], Policy] = {}
        #: Whether the server lets us name things for people, as far as it was tried.
        self._may_name = True

    def forget(self) -> None:
        """Believe nothing of the server any more."""
        self._labels.forget()

    def push(self, items: Sequence[Item]) -> Pushed:
        """Make the server say what governs datasets."""
        if not self._at.rules.sync_governance_metadata:
            return Pushed([item.linked(Outcome.OFF, OFF) for item in items])
        found = self._works(items)
        works = [one for one in found if isinstance(one, Work)]
        done = self._at.workers.map(self._bring, works, _failed)
        gone = missing("dataset", done, {work.item.key: work.item.key for work in works})
        return Pushed([*(one for one in found if isinstance(one, Settled)), *done], doubtful=gone)

    def look(self, items: Sequence[Item], said: Mapping[bytes, Mapping[str, Any]] = NOT_SAID) -> list[Look]:
        """Say what a push would change and what was changed over there, field by field; changes nothing.

        What is said of datasets may be given in the place of what the store says.
        """
        found = self._works([item._replace(fingerprint=None) for item in items], said)
        works = [one for one in found if isinstance(one, Work)]
        self._imagined.forget()
        looked = self._at.workers.map(self._look, works, _not_seen)
        return [*(_not_looked(one) for one in found if isinstance(one, Settled)), *looked]

    def _works(
        self, items: Sequence[Item], said: Mapping[bytes, Mapping[str, Any]] = NOT_SAID
    ) -> list[Work | Settled]:
        keys = [item.key for item in items]
        stored = read_governance(self._at.db, self._at.org, keys)
        for key in said.keys() & stored.keys():
            stored[key] = stored[key]._replace(said=dict(said[key]))
        ends = Ends(self._at.db, self._at.org, self._at.items, keys, ())
        return [self._work(item, stored[item.key], ends.remote(item.key)) for item in items]

    def _work(self, item: Item, stored: StoredGovernance, remote: Remote | None) -> Work | Settled:
        agreed = Agreement.read(item.detail)
        if stored.said is None and stored.score is None and not agreed.sent:
            return item.linked(Outcome.UNWANTED, "nobody governs it")
        if stored.said and stored.said.get("syncEnabled") is False:
            return item.linked(Outcome.OFF, "openmetadata.sync_enabled of its asset is off")
        if remote is None:
            return item.linked(Outcome.WAITING, "its dataset is not there")
        local = of.wanted(stored.said or {}, self._at.rules.words)
        if remote.type != "table":
            local = {path: value for path, value in local.items() if path[0] != of.COLUMNS and path != of.RETENTION}
        told_of = sorted(
            (path, sorted(value) if isinstance(value, frozenset) else value) for path, value in local.items()
        )
        mark = fingerprint([remote.id, told_of, stored.score, self._at.rules.conflicts, self._at.rules.conflicts_of])
        if item.fingerprint == mark and item.outcome in (*GIVEN_UP, Outcome.PUSHED, Outcome.UNCHANGED):
            return item.linked(Outcome(item.outcome) if item.outcome in GIVEN_UP else Outcome.UNCHANGED, item.reason)
        return Work(item, remote, local, stored.score, agreed.about(remote.id), mark)

    def _bring(self, work: Work) -> Settled | Failed:
        """Change an entity by what is new on our side, as long as nobody else is changing it."""
        for _ in range(_TRIES):
            entity = self._read(work)
            change = self._change(work, entity, self._labels)
            try:
                return self._settled(work, *self._changed(work, change, entity))
            except TargetRefused as error:
                if error.status != _CHANGED_MEANWHILE:
                    self._labels.forget()  # perhaps something it refers to is gone
                    raise self._at.failed(error) from error
        said = f"{work.remote.name} was changed by others each time that it was to be changed"
        return Failed(work.item, TargetRefused(said, _CHANGED_MEANWHILE))

    def _changed(self, work: Work, change: Change, entity: Entity) -> tuple[Change, Entity]:
        """Change an entity; its name for people by itself, for it may be refused."""
        named = {path: value for path, value in change.changes.items() if path == of.DISPLAY_NAME}
        others = {path: value for path, value in change.changes.items() if path not in named}
        try:
            operations = patch(entity, others, change.references)
            entity = self._patched(work, entity, operations) if operations else entity
        except TargetRefused as error:
            if error.status == _CHANGED_MEANWHILE or len(others) == 1:
                raise
            change, entity = self._one_by_one(work, change, others, entity)
        for name in named.values():
            entity = self._named(work, entity, name)
        return change, entity

    def _one_by_one(
        self, work: Work, change: Change, changes: Mapping[Path, Value], entity: Entity
    ) -> tuple[Change, Entity]:
        """Change what can be changed of what is refused as a whole: one field keeps none of the others back."""
        refused: dict[Path, TargetRefused] = {}
        for path, value in changes.items():
            try:
                if operations := patch(entity, {path: value}, change.references):
                    entity = self._patched(work, entity, operations)
            except TargetRefused as error:
                if error.status == _CHANGED_MEANWHILE:
                    raise
                refused[path] = error
        if len(refused) == len(changes):
            raise next(iter(refused.values()))
        self._labels.forget()  # perhaps something it refers to is gone
        problems = [f"{'.'.join(path)}: {error}" for path, error in sorted(refused.items())]
        undone = change.undone._replace(fields=change.undone.fields | refused.keys())
        return change._replace(problems=[*change.problems, *problems], undone=undone), entity

    def _read(self, work: Work) -> Entity:
        asked = of.GOVERNED if work.remote.type == "table" else of.GOVERNED_WITHOUT_COLUMNS
        entity = self._at.client.get(COLLECTIONS[work.remote.type], work.remote.name, *asked)
        if entity is None:
            raise TargetBusy(f"{work.remote.name} is not there", NOT_FOUND)
        return entity

    def _patched(self, work: Work, entity: Entity, operations: list[Entity]) -> Entity:
        collection = COLLECTIONS[work.remote.type]
        return self._at.client.patch(collection, str(entity["id"]), operations, entity["version"])

    def _change(self, work: Work, entity: Entity, labels: Labels) -> Change:
        """Say what to change: what a steward changed, and nothing of what was changed over there."""
        there = of.found(entity)
        work, problems = of_its_columns(work, entity)
        owners, unknown = known(sorted(elements(work.local.get(of.OWNERS))), labels.owner)
        problems += unknown
        named = {name: one.named for name, one in owners.items()} | _as_before(work, there, owners)
        local = dict(work.local)
        if of.OWNERS in local:
            local[of.OWNERS] = frozenset(named.values())
        remote = work.agreed.remote(there, of.as_said) | _as_they_are_there(local, there)
        merged = merge(work.agreed.sent, local, remote, self._policies(work.item.key, {*work.agreed.sent, *local}))
        changes = {
            path: with_theirs(value, remote.get(path), there.get(path))
            for path, value in merged.fields.items()
            if not same(value, remote.get(path))
        }
        if work.score != there.get(of.SCORE) and (work.score is not None or work.item.detail.get(_SCORED)):
            changes[of.SCORE] = work.score
        possible = Possible(labels, work.remote.type, entity, merged.fields.get(of.DOMAIN))
        changes = possible.of(changes, {one.named: (one.id, one.type) for one in owners.values()})
        problems += [*possible.problems, *(say_conflict(one) for one in merged.conflicts)]
        theirs = told(local, merged)
        return Change(work.agreed, changes, possible.references, local, theirs, problems, possible.undone, named)

    def _policies(self, key: bytes, fields: Iterable[Path]) -> dict[Path, Policy]:
        of_all = self._at.rules.conflicts
        return {
            path: self.decisions.get((key, path)) or self._policy.get(path) or self._policy.get(path[:1], of_all)
            for path in fields
        }

    def _named(self, work: Work, entity: Entity, name: Value) -> Entity:
        """Set the name for people, which a bot is not allowed to by the rules that a server has at first."""
        if self._may_name:
            try:
                change = patch(entity, {of.DISPLAY_NAME: name}, NOTHING)
                return self._patched(work, entity, change) if change else entity
            except TargetRefused as error:
                if error.status != _FORBIDDEN:
                    raise
                self._may_name = False
        return entity

    def _settled(self, work: Work, change: Change, entity: Entity) -> Settled:
        there = of.found(entity)
        now = agreed(change.agreed, change.local, change.told, there, change.undone)
        detail = remembered(now, change.told) | {_SCORED: work.score is not None, OWNERS: change.owners}
        said = [
            *change.problems,
            *say_theirs(change.told.theirs),
            *not_taken(change.local, change.told, there),
        ]
        outcome = Outcome.UNRESOLVED if change.problems else Outcome.PUSHED
        remote = Remote(work.remote.type, f"{work.remote.id}/governance", work.remote.name)
        reason = "; ".join(said[:_MOST_NOTES]) or None
        return Settled(work.item, outcome, reason, work.mark, remote, ours=False, detail=detail)

    def _look(self, work: Work) -> Look:
        change = self._change(work, self._read(work), self._imagined)
        return Look(work.item.key, work.remote.name, change.changes, change.told, change.problems, change.owners)


def _as_they_are_there(local: Fields, there: Fields) -> dict[Path, Value]:
    """Give the values that the server says as it would store them: whoever sent them, they are the same."""
    single = {path: value for path, value in local.items() if not isinstance(value, frozenset)}
    return {path: value for path, value in single.items() if same(of.as_found(path, value), there.get(path))}


def _as_before(work: Work, there: Mapping[Path, Value], found: Container[str]) -> dict[str, str]:
    """Name the owners that were found once and are not any more, and still are there: nobody took them away."""
    owners: Mapping[str, str] = work.item.detail.get(OWNERS, {})
    still = elements(there.get(of.OWNERS))
    wanted = elements(work.local.get(of.OWNERS))
    return {name: was for name, was in owners.items() if name in wanted and name not in found and was in still}


def _failed(work: Work, error: LineageBridgeError) -> Settled | Failed:
    return Failed(work.item, error, None, work.mark)


def _not_seen(work: Work, error: LineageBridgeError) -> Look:
    return Look(work.item.key, work.remote.name, {}, Told({}, []), [str(error)], {})


def _not_looked(settled: Settled) -> Look:
    """Say why nothing can be compared; what nobody governs is as it should be."""
    silent = settled.outcome in (Outcome.UNWANTED, Outcome.OFF)
    return Look(settled.item.key, None, {}, Told({}, []), [] if silent else [settled.reason or ""], {})
