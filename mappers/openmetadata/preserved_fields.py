"""Keeps existing values that a PUT would erase; compares entities with requests."""

from collections.abc import Iterable, Mapping
from typing import Any

from mappers.canonical_json import JsonObject

#: What an update would wipe, by collection, in the words of reads and requests; and with it what a read must ask for.
FIELDS_ERASED_BY_PUT: Mapping[str, tuple[str, ...]] = {
    collection: tuple(words.split())
    for collection, words in {
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
#: Fields that a read gives only when it is asked for them; labels of columns and tasks come with `tags`.
READ_FIELDS: Mapping[str, tuple[str, ...]] = {
    "tables": ("columns", "tableConstraints", "tablePartition", "tableProfilerConfig", "dataModel",
               "schemaDefinition", "retentionPeriod", "locationPath", "fileFormat", "tags"),
    "containers": ("parent", "dataModel", "prefix", "size", "numberOfObjects", "fileFormats", "tags"),
    "topics": ("messageSchema", "partitions", "cleanupPolicies", "topicConfig", "tags"),
    "pipelines": ("tasks", "scheduleInterval", "state", "tags"),
    "apiCollections": ("endpointURL",),
    "apiEndpoints": ("endpointURL", "requestMethod", "requestSchema", "responseSchema", "tags"),
    "mlmodels": ("algorithm", "target", "dashboard", "server", "mlFeatures", "mlHyperParameters", "mlStore", "tags"),
}  # fmt: skip
#: What our requests say only because something must be said: what another has said of it stands.
_PLACEHOLDERS = {"tableType", "partitions", "algorithm"}
#: What our requests may know in part: what ends in the same and says more stands.
_WHOLE_ADDRESSES = {"endpointURL", "fullPath"}
#: The parts of entities that are objects with columns in them, and the name of those columns.
_MODELS = {
    "dataModel": "columns",
    "messageSchema": "schemaFields",
    "requestSchema": "schemaFields",
    "responseSchema": "schemaFields",
}
_REFERENCE = ("id", "type")
#: Where columns, fields and tasks are found, each with what the server writes into it.
_PARTS = frozenset({*_MODELS, *_MODELS.values(), "children", "tasks", "mlFeatures", "featureSources"})
_SERVER_MADE = frozenset({"fullyQualifiedName", "href", "version", "profile", "customMetrics"})
#: What says the type of a column, and belongs together.
_TYPED = frozenset({"dataType", "arrayDataType", "dataLength", "precision", "scale", "dataTypeDisplay", "children"})


def preserve_fields(collection: str, desired: JsonObject, read: JsonObject) -> JsonObject:
    """Give a body with what was read of an entity and would be wiped, as far as the body says nothing of it."""
    body = dict(desired)
    for key in FIELDS_ERASED_BY_PUT.get(collection, ()):
        theirs = _own(key, read.get(key))
        if theirs not in (None, "", [], {}):
            body[key] = _chosen(key, body.get(key), theirs)
    return _without_lost_columns(body, read) if collection == "tables" else body


def _own(key: str, value: Any) -> Any:
    """Write what was read as a request says it."""
    if key == "parent":
        return _reference(value) if value else None
    if key == "dashboard":
        return value["fullyQualifiedName"] if isinstance(value, Mapping) else value
    return _cut(value) if key in _PARTS else value


def _cut(value: Any) -> Any:
    """Cut what the server makes out of columns and tasks, and out of those within them."""
    if isinstance(value, list):
        return [_cut(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    kept = {key: item for key, item in value.items() if key not in _SERVER_MADE and item is not None}
    return {
        key: _cut(item) if key in _PARTS else [_reference(one) for one in item] if key == "owners" else item
        for key, item in kept.items()
    }


def _reference(value: Mapping[str, Any]) -> JsonObject:
    return {key: value[key] for key in _REFERENCE if key in value}


def _chosen(key: str, ours: Any, theirs: Any) -> Any:
    """Choose between what we say and what was read; of what we name, the rest of what was read stays."""
    if not ours or key in _PLACEHOLDERS:
        return theirs
    if key in _WHOLE_ADDRESSES:
        return theirs if str(theirs).endswith(ours) else ours
    if key in _MODELS:
        inner = _MODELS[key]
        return {**theirs, inner: _merge_parts(ours.get(inner), theirs.get(inner), _TYPED)}
    if key == "columns":
        return _merge_parts(ours, theirs, _TYPED)
    return _merge_parts(ours, theirs, frozenset()) if key == "tasks" else ours


def _merge_parts(
    ours: list[JsonObject] | None, theirs: list[JsonObject] | None, told: frozenset[str]
) -> list[JsonObject]:
    """Give our columns or tasks with what was read of those of the same names, but for what only we tell."""
    if not ours:
        return theirs or []
    known = {one["name"]: one for one in theirs or []}
    made = []
    for one in ours:
        before = known.get(one["name"], {})
        made.append({key: value for key, value in before.items() if key not in told} | one)
        if one.get("children") and before.get("children"):
            made[-1]["children"] = _merge_parts(one["children"], before["children"], told)
    return made


def _without_lost_columns(body: JsonObject, read: JsonObject) -> JsonObject:
    """Drop constraints and partitions of columns that the update takes away: the server refuses them."""
    lost = _names(read.get("columns")) - _names(body.get("columns"))
    if not lost:
        return body
    if "tableConstraints" in body:
        constraints = [one for one in body["tableConstraints"] if lost.isdisjoint(one.get("columns") or ())]
        body["tableConstraints"] = constraints
    if "tablePartition" in body:
        columns = [one for one in body["tablePartition"].get("columns") or [] if one.get("columnName") not in lost]
        body["tablePartition"] = {"columns": columns}
    return body


def _names(columns: Iterable[JsonObject] | None) -> set[str]:
    return {column["name"] for column in columns or ()}


#: Where an entity lies is in its fully qualified name, and told by references in an answer.
_PLACE = frozenset({"name", "service", "database", "databaseSchema", "apiCollection", "parent"})
#: What people may say otherwise, and then it stays: it is lacking only where nothing is said.
_THEIRS = frozenset({"description", "displayName"})


def differing_fields(collection: str, said: JsonObject, entity: JsonObject) -> list[str]:
    """Name the keys of a request that an entity does not say the same of."""
    body = preserve_fields(collection, said, entity)
    lacking = [
        key
        for key, value in body.items()
        if key not in _PLACE and not (entity.get(key) if key in _THEIRS else _holds(entity.get(key), value))
    ]
    return sorted(lacking)


def _holds(there: Any, value: Any) -> bool:
    """Tell whether all that a request says is there; what is named is compared by its name, in any order."""
    if isinstance(value, Mapping):
        return isinstance(there, Mapping) and all(
            bool(there.get(key)) if key in _THEIRS else _holds(there.get(key), one) for key, one in value.items()
        )
    if not isinstance(value, list) or not all(isinstance(one, Mapping) and "name" in one for one in value):
        return bool(there == value)
    named = {one["name"]: one for one in there or ()}
    return named.keys() == {one["name"] for one in value} and all(_holds(named[one["name"]], one) for one in value)
