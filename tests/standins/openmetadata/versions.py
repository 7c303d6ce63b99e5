"""Storing a change: the version it makes, and what the answer says of it."""

from dataclasses import dataclass

from tests.standins.openmetadata.access import Principal
from tests.standins.openmetadata.changes import Change, next_version
from tests.standins.openmetadata.comparison import compare
from tests.standins.openmetadata.state import Data, Entity, Store

#: PATCHes of one user within this time make one version.
SESSION_MS = 10 * 60 * 1000


@dataclass
class Outcome:
    """What a write did: the entity, the header's word for it, and the data to show."""

    entity: Entity
    change: str
    data: Data


def change_of(data: Data) -> Data | None:
    """Give what the last write alone has changed of an entity."""
    told: Data | None = data.get("incrementalChangeDescription") or data.get("changeDescription")
    return told


def settle(
    store: Store,
    entity: Entity,
    new: Data,
    change: Change,
    who: Principal,
    bulk: bool = False,
    summary: bool = True,
) -> Outcome:
    """Store a change that makes a version of its own."""
    old = entity.data
    if not change:
        if change.silent:
            entity.data = new
        nothing = Change().described(old["version"], None)
        return Outcome(entity, "entityNoChange", {**new, "incrementalChangeDescription": nothing})
    now = store.now()
    described = change.described(old["version"], _summary(old, change, who, now) if summary else None)
    entity.history.append(old)
    entity.data = {
        **new,
        "version": next_version(old["version"], change),
        "updatedAt": now,
        "updatedBy": who.name,
        "changeDescription": described,
        "incrementalChangeDescription": described,
    }
    if new["deleted"] != old["deleted"]:
        store.checks.follow(entity.id, new["deleted"], who.name, now)
    if bulk:
        del entity.data["incrementalChangeDescription"]
    return Outcome(entity, "entityUpdated", entity.data)


def settle_patch(store: Store, entity: Entity, new: Data, change: Change, who: Principal, locked: bool) -> Outcome:
    """Store a change of a PATCH; without If-Match it joins the last version, if that is the same user's and recent."""
    old = entity.data
    if not change:
        outcome = settle(store, entity, new, change, who)
        nothing = outcome.data["incrementalChangeDescription"]
        outcome.data = {**outcome.data, "changeDescription": nothing}
        return outcome
    if locked or not entity.history or not _joins(old, who, store.now()):
        return settle(store, entity, new, change, who)
    return _consolidate(store, entity, new, change, who)


def _joins(old: Data, who: Principal, now: int) -> bool:
    recent = now - int(old["updatedAt"]) <= SESSION_MS
    return recent and bool(old["version"] > 0.1) and bool(old["updatedBy"] == who.name)


def _consolidate(store: Store, entity: Entity, new: Data, change: Change, who: Principal) -> Outcome:
    """Make the last version once more, with this change in it; the answer tells of this change alone."""
    old, before = entity.data, entity.history[-1]
    now = store.now()
    whole = Change()
    compare(entity.kind, before, new, whole)
    if whole:
        stamp = {"version": next_version(before["version"], whole), "updatedAt": now, "updatedBy": who.name}
        stamp["changeDescription"] = whole.described(before["version"], _summary(before, whole, who, now))
    else:
        # The changes cancel out: the version before is the present one again.
        entity.history.pop()
        stamp = {name: before[name] for name in ("version", "updatedAt", "updatedBy")}
        stamp["changeDescription"] = before.get("changeDescription")
    stamp["incrementalChangeDescription"] = change.described(old["version"], _summary(old, change, who, now))
    entity.data = {name: value for name, value in {**new, **stamp}.items() if value is not None}
    answered = change.described(old["version"], _summary(old, change, who, now, source=False))
    both = dict.fromkeys(("changeDescription", "incrementalChangeDescription"), answered)
    return Outcome(entity, "entityUpdated", {**entity.data, **both})


def _summary(old: Data, change: Change, who: Principal, now: int, source: bool = True) -> Data:
    before = (old.get("changeDescription") or {}).get("changeSummary") or {}
    return change.summary(before, who.name, now, source)
