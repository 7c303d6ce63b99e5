"""Stores changes and creates versions."""

from dataclasses import dataclass

from tests.standins.openmetadata.access import Principal
from tests.standins.openmetadata.changes import Change, next_version
from tests.standins.openmetadata.comparison import compare
from tests.standins.openmetadata.state import Data, Entity, Store

#: PATCHes of one user within this time are merged into one version.
SESSION_MS = 10 * 60 * 1000


@dataclass
class Outcome:
    """Result of a write: entity, type of change, and data for the response."""

    entity: Entity
    change: str
    data: Data


def last_change(data: Data) -> Data | None:
    """Change description of the last write alone."""
    description: Data | None = data.get("incrementalChangeDescription") or data.get("changeDescription")
    return description


def store_change(
    store: Store,
    entity: Entity,
    new: Data,
    change: Change,
    principal: Principal,
    bulk: bool = False,
    summary: bool = True,
) -> Outcome:
    """Store a change as a new version."""
    old = entity.data
    if not change:
        if change.silent:
            entity.data = new
        no_change = Change().describe(old["version"], None)
        return Outcome(entity, "entityNoChange", {**new, "incrementalChangeDescription": no_change})
    now = store.now()
    description = change.describe(old["version"], _summary(old, change, principal, now) if summary else None)
    entity.history.append(old)
    entity.data = {
        **new,
        "version": next_version(old["version"], change),
        "updatedAt": now,
        "updatedBy": principal.name,
        "changeDescription": description,
        "incrementalChangeDescription": description,
    }
    if new["deleted"] != old["deleted"]:
        store.checks.set_deleted(entity.id, new["deleted"], principal.name, now)
    if bulk:
        del entity.data["incrementalChangeDescription"]
    return Outcome(entity, "entityUpdated", entity.data)


def store_patch(
    store: Store, entity: Entity, new: Data, change: Change, principal: Principal, locked: bool
) -> Outcome:
    """Store a PATCH. Without If-Match, it is merged into the last version if that is recent and by the same user."""
    old = entity.data
    if not change:
        outcome = store_change(store, entity, new, change, principal)
        no_change = outcome.data["incrementalChangeDescription"]
        outcome.data = {**outcome.data, "changeDescription": no_change}
        return outcome
    if locked or not entity.history or not _can_merge(old, principal, store.now()):
        return store_change(store, entity, new, change, principal)
    return _merge_into_last_version(store, entity, new, change, principal)


def _can_merge(old: Data, principal: Principal, now: int) -> bool:
    recent = now - int(old["updatedAt"]) <= SESSION_MS
    return recent and bool(old["version"] > 0.1) and bool(old["updatedBy"] == principal.name)


def _merge_into_last_version(
    store: Store, entity: Entity, new: Data, change: Change, principal: Principal
) -> Outcome:
    """Replace the last version by one that includes this change; the response describes this change alone."""
    old, before = entity.data, entity.history[-1]
    now = store.now()
    total_change = Change()
    compare(entity.kind, before, new, total_change)
    if total_change:
        stamp = {
            "version": next_version(before["version"], total_change),
            "updatedAt": now,
            "updatedBy": principal.name,
        }
        stamp["changeDescription"] = total_change.describe(
            before["version"], _summary(before, total_change, principal, now)
        )
    else:
        # The changes cancel out, so the previous version is restored.
        entity.history.pop()
        stamp = {name: before[name] for name in ("version", "updatedAt", "updatedBy")}
        stamp["changeDescription"] = before.get("changeDescription")
    stamp["incrementalChangeDescription"] = change.describe(old["version"], _summary(old, change, principal, now))
    entity.data = {name: value for name, value in {**new, **stamp}.items() if value is not None}
    description = change.describe(old["version"], _summary(old, change, principal, now, source=False))
    descriptions = dict.fromkeys(("changeDescription", "incrementalChangeDescription"), description)
    return Outcome(entity, "entityUpdated", {**entity.data, **descriptions})


def _summary(old: Data, change: Change, principal: Principal, now: int, source: bool = True) -> Data:
    before = (old.get("changeDescription") or {}).get("changeSummary") or {}
    return change.summary(before, principal.name, now, source)
