"""Creates, replaces, deletes and restores entities."""

from dataclasses import dataclass

from tests.standins.openmetadata import columns as column_rules
from tests.standins.openmetadata.access import Principal
from tests.standins.openmetadata.changes import Change
from tests.standins.openmetadata.comparison import compare
from tests.standins.openmetadata.derived import defaults
from tests.standins.openmetadata.errors import ApiError
from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.lineage import remove_columns
from tests.standins.openmetadata.names import join_fqn
from tests.standins.openmetadata.parts import complete
from tests.standins.openmetadata.policies import normalize_rules
from tests.standins.openmetadata.reference_removal import remove_references, restore_labels
from tests.standins.openmetadata.references import find_parent, relations
from tests.standins.openmetadata.state import Data, Entity, Store
from tests.standins.openmetadata.text import sanitize
from tests.standins.openmetadata.versions import Outcome, store_change

#: Properties that a PUT by a bot does not change once they are set.
_TEXTS = ("description", "displayName")


@dataclass(frozen=True)
class PreparedEntity:
    """A validated and resolved create request."""

    kind: Kind
    name: str
    parent: Entity | None
    data: Data
    #: Labels of the request, completed.
    labels: list[Data]


def prepare(store: Store, kind: Kind, request: Data) -> PreparedEntity:
    """Validate and resolve a request in the order of the server: columns, parents, references."""
    if kind.name == "table":
        column_rules.check(request.setdefault("columns", []))
    parent = find_parent(store, kind, request)
    data: Data = {name: value for name, value in kind.defaults.items() if name != "columns"}
    data |= {name: request[name] for name in (*kind.own, "displayName", "serviceType") if name in request}
    if request.get("description"):
        data["description"] = sanitize(request["description"])
    if kind.name == "policy":
        normalize_rules(data)
    complete(kind, data, request["name"], join_fqn(parent.fqn if parent else "", request["name"]))
    data |= defaults(store, kind.name)
    labels = relations(store, kind, request, data)
    return PreparedEntity(kind, request["name"], parent, data, labels)


def put(
    store: Store, prepared: PreparedEntity, principal: Principal, bulk: bool = False, override: bool = False
) -> Outcome:
    """Create or replace an entity; a soft-deleted one is restored."""
    entity = find_existing(store, prepared)
    if entity is None:
        return create(store, prepared, principal)
    return _replace(store, entity, prepared, principal, bulk, override)


def _replace(
    store: Store, entity: Entity, prepared: PreparedEntity, principal: Principal, bulk: bool, override: bool
) -> Outcome:
    old = entity.data
    new = _merge(old, prepared, principal.bot and not override)
    response_labels = _merge_labels(old, new, prepared, principal)
    change = Change()
    if old["deleted"]:
        change.update("deleted", True, False)
        new["deleted"] = False
    compare(entity.kind, old, new, change)
    outcome = store_change(store, entity, new, change, principal, bulk=bulk)
    remove_columns(store, entity, old, new)
    if old["deleted"]:
        restore_labels(store, entity)
        _restore_children(store, entity, principal)
    if prepared.labels:
        outcome.data = {**outcome.data, "tags": response_labels}
    if "serviceType" in prepared.data:
        outcome.data = {**outcome.data, "serviceType": prepared.data["serviceType"]}
    return outcome


def find_existing(store: Store, prepared: PreparedEntity) -> Entity | None:
    """Find the entity of a request."""
    return store.by_name[prepared.kind.name].get(
        join_fqn(prepared.parent.fqn if prepared.parent else "", prepared.name)
    )


def create(store: Store, prepared: PreparedEntity, principal: Principal) -> Outcome:
    if find_existing(store, prepared) is not None:
        raise ApiError(409, "Entity already exists")
    entity = Entity(prepared.kind, prepared.parent, prepared.name)
    entity.data |= {**prepared.data, "updatedAt": store.now(), "updatedBy": principal.name}
    if prepared.labels:
        entity.data["tags"] = prepared.labels
    store.add(entity)
    return Outcome(entity, "entityCreated", entity.data)


def _merge(old: Data, prepared: PreparedEntity, protect: bool) -> Data:
    """Merge a request into stored data; omitted properties are removed unless the server protects them."""
    new = {**old, **dict.fromkeys((*prepared.kind.own, *_TEXTS)), **prepared.data}
    new["serviceType"] = old.get("serviceType")
    for name in ("lifeCycle", "connection"):
        if not prepared.data.get(name) and old.get(name):
            new[name] = old[name]
    if "retentionPeriod" not in prepared.kind.shape.fields and old.get("retentionPeriod"):
        new["retentionPeriod"] = old["retentionPeriod"]
    if protect:
        for name in (*_TEXTS, "domains", "dataProducts"):
            if old.get(name):
                new[name] = old[name]
        new["extension"] = old.get("extension")
    else:
        for name in ("dataProducts", "extension", "certification"):
            new[name] = prepared.data.get(name)
    if "columns" in prepared.data:
        column_rules.merge(old["columns"], new["columns"], protect)
    return {name: value for name, value in new.items() if value is not None}


def _merge_labels(old: Data, new: Data, prepared: PreparedEntity, principal: Principal) -> list[Data]:
    """Add labels, as PUT never removes any. Returns the labels for the response."""
    old_labels = {label["tagFQN"]: label for label in old.get("tags", [])}
    sent = {label["tagFQN"]: label for label in prepared.labels}
    added = {fqn: {**label, "appliedBy": principal.name} for fqn, label in sent.items() if fqn not in old_labels}
    merged = old_labels | added
    if merged:
        new["tags"] = [merged[fqn] for fqn in sorted(merged)]
    response_labels = old_labels | sent | added
    return [response_labels[fqn] for fqn in sorted(response_labels)]


def delete(store: Store, entity: Entity, principal: Principal, hard: bool, recursive: bool) -> Outcome:
    """Soft-delete an entity, or remove it with `hard`."""
    inside = [child for child in entity.children.values() if hard or not child.deleted]
    if (inside or entity.id in store.checks.suites) and not recursive:
        raise ApiError(400, f"{entity.kind.name} is not empty")
    hard = hard or not entity.kind.soft
    remove_references(store, entity, hard)
    if hard:
        for child in list(entity.children.values()):
            delete(store, child, principal, hard=True, recursive=True)
        last_data = entity.data
        store.remove(entity)
        return Outcome(entity, "entityDeleted", last_data)
    change = Change()
    if not entity.deleted:
        change.update("deleted", False, True)
    outcome = store_change(store, entity, {**entity.data, "deleted": True}, change, principal, summary=False)
    for child in inside:
        delete(store, child, principal, hard=False, recursive=True)
        child.data.pop("incrementalChangeDescription", None)
    outcome.change = "entitySoftDeleted"
    return outcome


def restore(store: Store, entity: Entity, principal: Principal, nested: bool = False) -> Outcome:
    """Restore a soft-deleted entity and its children."""
    change = Change()
    if entity.deleted:
        change.update("deleted", True, False)
    outcome = store_change(store, entity, {**entity.data, "deleted": False}, change, principal, bulk=nested)
    restore_labels(store, entity)
    _restore_children(store, entity, principal)
    outcome.change = "entityRestored"
    return outcome


def _restore_children(store: Store, entity: Entity, principal: Principal) -> None:
    for child in entity.children.values():
        if child.deleted:
            restore(store, child, principal, nested=True)
