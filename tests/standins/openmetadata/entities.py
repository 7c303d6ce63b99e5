"""Making, replacing, deleting and restoring entities."""

from dataclasses import dataclass

from tests.standins.openmetadata import columns as column_rules
from tests.standins.openmetadata.access import Principal
from tests.standins.openmetadata.changes import Change
from tests.standins.openmetadata.comparison import compare
from tests.standins.openmetadata.derived import defaults
from tests.standins.openmetadata.errors import ApiError
from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.lineage import forget_columns
from tests.standins.openmetadata.names import joined
from tests.standins.openmetadata.parts import complete
from tests.standins.openmetadata.policies import arrange
from tests.standins.openmetadata.reference_removal import bring_back, withdraw
from tests.standins.openmetadata.references import parent_of, relations
from tests.standins.openmetadata.state import Data, Entity, Store
from tests.standins.openmetadata.text import stored
from tests.standins.openmetadata.versions import Outcome, settle

#: What a bot's PUT does not take away once it is there.
_TEXTS = ("description", "displayName")


@dataclass(frozen=True)
class Wanted:
    """A request, read and resolved."""

    kind: Kind
    name: str
    parent: Entity | None
    data: Data
    #: Labels as they were sent, completed.
    labels: list[Data]


def prepare(store: Store, kind: Kind, request: Data) -> Wanted:
    """Check a request beyond its shape, in the server's order: columns, parents, references."""
    if kind.name == "table":
        column_rules.check(request.setdefault("columns", []))
    parent = parent_of(store, kind, request)
    data: Data = {name: value for name, value in kind.defaults.items() if name != "columns"}
    data |= {name: request[name] for name in (*kind.own, "displayName", "serviceType") if name in request}
    if request.get("description"):
        data["description"] = stored(request["description"])
    if kind.name == "policy":
        arrange(data)
    complete(kind, data, request["name"], joined(parent.fqn if parent else "", request["name"]))
    data |= defaults(store, kind.name)
    labels = relations(store, kind, request, data)
    return Wanted(kind, request["name"], parent, data, labels)


def put(store: Store, wanted: Wanted, who: Principal, bulk: bool = False, override: bool = False) -> Outcome:
    """Make or replace an entity; one that is soft-deleted comes back."""
    entity = existing(store, wanted)
    if entity is None:
        return make(store, wanted, who)
    return _replace(store, entity, wanted, who, bulk, override)


def _replace(store: Store, entity: Entity, wanted: Wanted, who: Principal, bulk: bool, override: bool) -> Outcome:
    old = entity.data
    new = _merged(old, wanted, who.bot and not override)
    shown = _unite_labels(old, new, wanted, who)
    change = Change()
    if old["deleted"]:
        change.update("deleted", True, False)
        new["deleted"] = False
    compare(entity.kind, old, new, change)
    outcome = settle(store, entity, new, change, who, bulk=bulk)
    forget_columns(store, entity, old, new)
    if old["deleted"]:
        bring_back(store, entity)
        _restore_children(store, entity, who)
    if wanted.labels:
        outcome.data = {**outcome.data, "tags": shown}
    if "serviceType" in wanted.data:
        outcome.data = {**outcome.data, "serviceType": wanted.data["serviceType"]}
    return outcome


def existing(store: Store, wanted: Wanted) -> Entity | None:
    """Find the entity that a request is about."""
    return store.by_name[wanted.kind.name].get(joined(wanted.parent.fqn if wanted.parent else "", wanted.name))


def make(store: Store, wanted: Wanted, who: Principal) -> Outcome:
    """Make a new entity."""
    if existing(store, wanted) is not None:
        raise ApiError(409, "Entity already exists")
    entity = Entity(wanted.kind, wanted.parent, wanted.name)
    entity.data |= {**wanted.data, "updatedAt": store.now(), "updatedBy": who.name}
    if wanted.labels:
        entity.data["tags"] = wanted.labels
    store.add(entity)
    return Outcome(entity, "entityCreated", entity.data)


def _merged(old: Data, wanted: Wanted, protect: bool) -> Data:
    """Put the request over what is stored; what is left out goes, but for what the server protects."""
    new = {**old, **dict.fromkeys((*wanted.kind.own, *_TEXTS)), **wanted.data}
    new["serviceType"] = old.get("serviceType")
    for name in ("lifeCycle", "connection"):
        if not wanted.data.get(name) and old.get(name):
            new[name] = old[name]
    if "retentionPeriod" not in wanted.kind.shape.fields and old.get("retentionPeriod"):
        new["retentionPeriod"] = old["retentionPeriod"]
    if protect:
        for name in (*_TEXTS, "domains", "dataProducts"):
            if old.get(name):
                new[name] = old[name]
        new["extension"] = old.get("extension")
    else:
        for name in ("dataProducts", "extension", "certification"):
            new[name] = wanted.data.get(name)
    if "columns" in wanted.data:
        column_rules.merge(old["columns"], new["columns"], protect)
    return {name: value for name, value in new.items() if value is not None}


def _unite_labels(old: Data, new: Data, wanted: Wanted, who: Principal) -> list[Data]:
    """Unite labels: PUT never removes one. Gives the labels as the answer shows them."""
    kept = {label["tagFQN"]: label for label in old.get("tags", [])}
    sent = {label["tagFQN"]: label for label in wanted.labels}
    fresh = {fqn: {**label, "appliedBy": who.name} for fqn, label in sent.items() if fqn not in kept}
    united = kept | fresh
    if united:
        new["tags"] = [united[fqn] for fqn in sorted(united)]
    shown = kept | sent | fresh
    return [shown[fqn] for fqn in sorted(shown)]


def delete(store: Store, entity: Entity, who: Principal, hard: bool, recursive: bool) -> Outcome:
    """Delete an entity, softly unless told otherwise."""
    inside = [child for child in entity.children.values() if hard or not child.deleted]
    if (inside or entity.id in store.checks.suites) and not recursive:
        raise ApiError(400, f"{entity.kind.name} is not empty")
    hard = hard or not entity.kind.soft
    withdraw(store, entity, hard)
    if hard:
        for child in list(entity.children.values()):
            delete(store, child, who, hard=True, recursive=True)
        shown = entity.data
        store.remove(entity)
        return Outcome(entity, "entityDeleted", shown)
    change = Change()
    if not entity.deleted:
        change.update("deleted", False, True)
    outcome = settle(store, entity, {**entity.data, "deleted": True}, change, who, summary=False)
    for child in inside:
        delete(store, child, who, hard=False, recursive=True)
        child.data.pop("incrementalChangeDescription", None)
    outcome.change = "entitySoftDeleted"
    return outcome


def restore(store: Store, entity: Entity, who: Principal, nested: bool = False) -> Outcome:
    """Bring back a soft-deleted entity and what was in it."""
    change = Change()
    if entity.deleted:
        change.update("deleted", True, False)
    outcome = settle(store, entity, {**entity.data, "deleted": False}, change, who, bulk=nested)
    bring_back(store, entity)
    _restore_children(store, entity, who)
    outcome.change = "entityRestored"
    return outcome


def _restore_children(store: Store, entity: Entity, who: Principal) -> None:
    for child in entity.children.values():
        if child.deleted:
            restore(store, child, who, nested=True)
