"""Preserves existing values that a PUT would erase, and compares entities with requests.

A PUT replaces an entity and erases the fields that it omits, except those that the server keeps or merges: owners,
tags, domains, data products, custom properties, certification, life cycle, and the description and display name of
the entity. `sourceHash` is never preserved, because a bulk request skips every row whose hash is known.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from mappers.canonical_json import JsonObject
from mappers.openmetadata.entity_requests import DATASET_PAGE
from mappers.openmetadata.governance import is_derived, own_references

#: Fields that a PUT erases if it omits them, by collection.
FIELDS_ERASED_BY_PUT: Mapping[str, tuple[str, ...]] = {
    collection: tuple(fields.split())
    for collection, fields in {
        "databases": "retentionPeriod sourceUrl default",
        "databaseSchemas": "retentionPeriod sourceUrl",
        "tables": (
            "tableType columns tableConstraints tablePartition tableProfilerConfig dataModel schemaDefinition "
            "locationPath fileFormat retentionPeriod sourceUrl aliases"
        ),
        "containers": "parent dataModel prefix fullPath fileFormats numberOfObjects size sourceUrl",
        "topics": (
            "messageSchema partitions cleanupPolicies replicationFactor maximumMessageSize minimumInSyncReplicas "
            "retentionTime retentionSize topicConfig sourceUrl"
        ),
        "pipelines": "tasks concurrency pipelineLocation startDate scheduleInterval state sourceUrl",
        "apiCollections": "endpointURL",
        "apiEndpoints": "endpointURL requestMethod requestSchema responseSchema sourceUrl",
        "mlmodels": "algorithm target dashboard server mlFeatures mlHyperParameters mlStore sourceUrl",
    }.items()
}
#: Fields that a read returns only on request; `tags` includes the labels of columns and tasks.
READ_FIELDS: Mapping[str, tuple[str, ...]] = {
    "tables": ("columns", "tableConstraints", "tablePartition", "tableProfilerConfig", "dataModel",
               "schemaDefinition", "retentionPeriod", "locationPath", "fileFormat", "tags"),
    "containers": ("parent", "dataModel", "prefix", "size", "numberOfObjects", "fileFormats", "tags"),
    "topics": ("messageSchema", "partitions", "cleanupPolicies", "topicConfig", "tags"),
    "pipelines": ("tasks", "scheduleInterval", "state", "tags", "owners"),
    "apiCollections": ("endpointURL",),
    "apiEndpoints": ("endpointURL", "requestMethod", "requestSchema", "responseSchema", "tags"),
    "mlmodels": ("algorithm", "target", "dashboard", "server", "mlFeatures", "mlHyperParameters", "mlStore", "tags"),
}  # fmt: skip
#: Fields that our requests set only because they are required; existing values take precedence.
_PLACEHOLDERS = {"tableType", "partitions", "algorithm"}
#: Addresses that a request may shorten to their last part; an existing address that ends with this part is kept.
_PARTIAL_ADDRESSES = {"endpointURL", "fullPath"}
#: Part of the URLs that lineage-bridge sets for datasets; any other URL was set by a user.
_OWN_PAGE = f"{DATASET_PAGE}?namespace="
#: Members that contain columns, and the name of the list of columns in them.
_COLUMN_CONTAINERS = {
    "dataModel": "columns",
    "messageSchema": "schemaFields",
    "requestSchema": "schemaFields",
    "responseSchema": "schemaFields",
}
_REFERENCE = ("id", "type")
_LABEL = ("tagFQN", "source", "labelType", "state")
#: Member that names the parent of an entity.
_PARENT_MEMBERS = {
    "tables": "databaseSchema",
    "containers": "service",
    "topics": "service",
    "pipelines": "service",
    "mlmodels": "service",
    "apiEndpoints": "apiCollection",
}
#: Members whose parts (columns, fields, tasks) get additional members from the server.
_NESTED_MEMBERS = frozenset(
    {*_COLUMN_CONTAINERS, *_COLUMN_CONTAINERS.values(), "children", "tasks", "mlFeatures", "featureSources"}
)
_SERVER_MEMBERS = frozenset({"fullyQualifiedName", "href", "version", "profile", "customMetrics"})
#: Members that together specify the type of a column.
_TYPE_MEMBERS = frozenset(
    {"dataType", "arrayDataType", "dataLength", "precision", "scale", "dataTypeDisplay", "children"}
)
#: Members of a task that only lineage-bridge sets.
_TASK_MEMBERS = frozenset({"downstreamTasks"})
#: Location members, which are not compared: responses contain references, and the fully qualified name implies them.
_LOCATION_MEMBERS = frozenset({"name", "service", "database", "databaseSchema", "apiCollection", "parent"})
#: Members that users may edit; they count as different only if the entity has no value.
_EDITABLE_TEXTS = frozenset({"description", "displayName"})


def preserve_fields(collection: str, desired: JsonObject, existing: JsonObject) -> JsonObject:
    """Add the existing values to a request that the request omits and that a PUT would therefore erase."""
    body = dict(desired)
    for key in FIELDS_ERASED_BY_PUT.get(collection, ()):
        existing_value = _to_request_value(key, existing.get(key))
        if existing_value not in (None, "", [], {}):
            body[key] = _choose_value(key, body.get(key), existing_value)
    return _without_removed_columns(body, existing) if collection == "tables" else body


def full_body(collection: str, entity: JsonObject) -> JsonObject:
    """Build the request that replaces an entity with itself."""
    parent = _PARENT_MEMBERS[collection]
    body = {"name": entity["name"], parent: entity[parent]["fullyQualifiedName"]}
    return preserve_fields(collection, body, entity)


#: Fields of an entity that only people edit, to request in addition to those that a PUT could erase.
EDITED_FIELDS = ("owners", "tags", "domains", "dataProducts", "extension")


def moved_body(collection: str, desired: JsonObject, entity: JsonObject, own_texts: Collection[str]) -> JsonObject:
    """Build the request that creates an entity elsewhere, with everything that people added to it.

    Descriptions and display names in `own_texts` are not taken over, because this bridge wrote them.
    """
    body = preserve_fields(collection, desired, entity)
    body |= {key: entity[key] for key in _EDITABLE_TEXTS if entity.get(key) and entity[key] not in own_texts}
    labels = [label for label in entity.get("tags") or () if not is_derived(label)]
    edited = {
        "owners": [_reference(owner) for owner in own_references(entity, "owners")],
        "tags": [{key: label[key] for key in _LABEL if key in label} for label in labels],
        "domains": [domain["fullyQualifiedName"] for domain in own_references(entity, "domains")],
        "dataProducts": [product["fullyQualifiedName"] for product in own_references(entity, "dataProducts")],
        "extension": entity.get("extension"),
    }
    return body | {key: value for key, value in edited.items() if value}


def overridden_members(entity: JsonObject) -> JsonObject:
    """Return the members that a request must repeat if it overrides metadata, because it would clear them."""
    owners = [_reference(owner) for owner in own_references(entity, "owners")]
    members = {"description": entity.get("description"), "owners": owners}
    return {key: value for key, value in members.items() if value}


def _to_request_value(key: str, value: Any) -> Any:
    """Convert a value from a response to the form that requests use."""
    if key == "parent":
        return _reference(value) if value else None
    if key == "dashboard":
        return value["fullyQualifiedName"] if isinstance(value, Mapping) else value
    if key in _NESTED_MEMBERS:
        return _without_server_members(value)
    return value


def _without_server_members(value: Any) -> Any:
    """Remove members that the server adds to columns and tasks at any depth."""
    if isinstance(value, list):
        return [_without_server_members(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    members: JsonObject = {}
    for key, item in value.items():
        if key in _SERVER_MEMBERS or item is None:
            continue
        if key in _NESTED_MEMBERS:
            members[key] = _without_server_members(item)
        elif key == "owners":
            members[key] = [_reference(owner) for owner in item]
        else:
            members[key] = item
    return members


def _reference(value: Mapping[str, Any]) -> JsonObject:
    return {key: value[key] for key in _REFERENCE if key in value}


def _choose_value(key: str, desired: Any, existing: Any) -> Any:
    """Choose between the desired and the existing value; columns and tasks are merged."""
    if not desired or key in _PLACEHOLDERS:
        return existing
    if key == "sourceUrl" and _replaces_user_link(desired, existing):
        return existing
    if key in _PARTIAL_ADDRESSES:
        return existing if str(existing).endswith(desired) else desired
    if key in _COLUMN_CONTAINERS:
        list_name = _COLUMN_CONTAINERS[key]
        return {**existing, list_name: _merge_parts(desired.get(list_name), existing.get(list_name), _TYPE_MEMBERS)}
    if key in {"columns", "tasks"}:
        own_members = _TYPE_MEMBERS if key == "columns" else _TASK_MEMBERS
        return _merge_parts(desired, existing, own_members)
    return desired


def _replaces_user_link(desired: str, existing: str) -> bool:
    """Return whether our link to a dataset would replace a link that a user set."""
    return _OWN_PAGE in desired and _OWN_PAGE not in existing


def _merge_parts(
    desired: list[JsonObject] | None, existing: list[JsonObject] | None, own_members: frozenset[str]
) -> list[JsonObject]:
    """Add existing members to the desired columns or tasks, except members that only lineage-bridge sets."""
    if not desired:
        return existing or []
    existing_by_name = {part["name"]: part for part in existing or []}
    merged = []
    for part in desired:
        existing_part = existing_by_name.get(part["name"], {})
        merged.append({key: value for key, value in existing_part.items() if key not in own_members} | part)
        if part.get("children") and existing_part.get("children"):
            merged[-1]["children"] = _merge_parts(part["children"], existing_part["children"], own_members)
    return merged


def _without_removed_columns(body: JsonObject, existing: JsonObject) -> JsonObject:
    """Drop constraints and partitions on columns that the update removes, because the server would reject them."""
    removed = _column_names(existing.get("columns")) - _column_names(body.get("columns"))
    if not removed:
        return body
    if "tableConstraints" in body:
        constraints = [
            constraint
            for constraint in body["tableConstraints"]
            if removed.isdisjoint(constraint.get("columns") or ())
        ]
        body["tableConstraints"] = constraints
    if "tablePartition" in body:
        columns = [
            column
            for column in body["tablePartition"].get("columns") or []
            if column.get("columnName") not in removed
        ]
        body["tablePartition"] = {"columns": columns}
    return body


def _column_names(columns: Iterable[JsonObject] | None) -> set[str]:
    return {column["name"] for column in columns or ()}


def differing_fields(collection: str, desired: JsonObject, entity: JsonObject) -> list[str]:
    """List the members of a request whose values the entity lacks."""
    body = preserve_fields(collection, desired, entity)
    return sorted(
        key
        for key, value in body.items()
        if key not in _LOCATION_MEMBERS and not _has_value(key, entity.get(key), value)
    )


def _has_value(key: str, existing: Any, value: Any) -> bool:
    """Return whether a member has the requested value; editable text may have any value that is not empty."""
    return bool(existing) if key in _EDITABLE_TEXTS else _has_all_values(existing, value)


def _has_all_values(existing: Any, value: Any) -> bool:
    """Return whether an existing value has everything that a request sets; items with names are matched by name."""
    if isinstance(value, Mapping):
        return isinstance(existing, Mapping) and all(
            _has_value(key, existing.get(key), member) for key, member in value.items()
        )
    if not isinstance(value, list) or not all(isinstance(item, Mapping) and "name" in item for item in value):
        return bool(existing == value)
    by_name = {item["name"]: item for item in existing or ()}
    return by_name.keys() == {item["name"] for item in value} and all(
        _has_all_values(by_name[item["name"]], item) for item in value
    )
