"""Lineage edges: at most one per pair; unknown columns are dropped."""

from typing import Any

from tests.standins.openmetadata import enums
from tests.standins.openmetadata.access import Principal
from tests.standins.openmetadata.columns import walk
from tests.standins.openmetadata.create_shapes import REFERENCE
from tests.standins.openmetadata.errors import ApiError, no_entity, not_found
from tests.standins.openmetadata.kinds import BY_NAME
from tests.standins.openmetadata.shapes import Shape, anything, choice, integer, list_of, text
from tests.standins.openmetadata.state import Data, Entity, Store

_COLUMNS = Shape(
    {"fromColumns": list_of(text), "toColumn": text, "function": text},
    extra="allow",
)
DETAILS = Shape(
    {
        "sqlQuery": text,
        "columnsLineage": list_of(_COLUMNS),
        "pipeline": REFERENCE,
        "description": text,
        "source": choice(*enums.LINEAGE_SOURCES),
        **dict.fromkeys(("createdAt", "updatedAt"), integer),
        **dict.fromkeys(("createdBy", "updatedBy"), text),
        "tempLineageTables": anything,
    },
    extra="allow",
)
_EDGE = Shape(
    {"fromEntity": REFERENCE, "toEntity": REFERENCE, "description": text, "lineageDetails": DETAILS},
    required="fromEntity toEntity",
)
REQUEST = Shape({"edge": _EDGE}, required="edge")


def node(store: Store, reference: Data) -> Entity:
    """Find an endpoint or the pipeline of an edge; soft-deleted entities are rejected."""
    kind = BY_NAME.get(reference["type"])
    if kind is None:
        raise ApiError(
            404, f"Entity repository for {reference['type']} not found. Is the ENTITY_TYPE_MAP initialized?"
        )
    entity = store.get(kind, reference["id"])
    if entity is None:
        raise no_entity(kind.name, reference["id"])
    if entity.deleted:
        raise not_found(kind.name, reference["id"])
    return entity


def put_edge(store: Store, start: Entity, end: Entity, details: Data, principal: Principal) -> None:
    """Create or overwrite an edge; only timestamps are merged."""
    old = store.edges.get((start.id, end.id), {})
    now = store.now()
    new: Data = {"source": "Manual", **details}
    new["columnsLineage"] = _existing_columns(start, end, details.get("columnsLineage", []))
    if "pipeline" in details:
        pipeline = node(store, details["pipeline"])
        new["pipeline"] = pipeline.reference()
    new["createdAt"] = min(details.get("createdAt", now), old.get("createdAt", details.get("createdAt", now)))
    new["createdBy"] = old.get("createdBy") or details.get("createdBy", principal.name)
    new["updatedAt"] = max(details.get("updatedAt", now), old.get("updatedAt", 0))
    new["updatedBy"] = details.get("updatedBy", principal.name)
    if not old:
        store.events.record_edge("entityLineageAdded", (start.fqn, end.fqn), principal.name, now)
    elif _comparable(new) != _comparable(old):
        store.events.record_edge("entityLineageUpdated", (start.fqn, end.fqn), principal.name, now)
    store.put_edge(start.id, end.id, new)


def _comparable(details: Data) -> Data:
    """Details without timestamps."""
    return {name: value for name, value in details.items() if name not in ("createdAt", "updatedAt", "updatedBy")}


def column_names(entity: Entity) -> set[str]:
    """FQNs of columns, fields and features, which may occur in column lineage."""
    data = entity.data
    columns: list[Data] = list(data.get("columns", []))
    columns += (data.get("dataModel") or {}).get("columns", []) if entity.kind.name == "container" else []
    for name in ("messageSchema", "requestSchema", "responseSchema"):
        columns += (data.get(name) or {}).get("schemaFields", [])
    names = {column["fullyQualifiedName"] for column in walk(columns)}
    return names | {f"{entity.fqn}.{feature.get('name')}" for feature in data.get("mlFeatures", [])}


def _existing_columns(start: Entity, end: Entity, raw: list[Data]) -> list[Data]:
    """Silently drop unknown columns; names are case-sensitive."""
    if not raw:
        return []
    columns, target_columns = column_names(start), column_names(end)
    out = []
    for entry in raw:
        sources = [name for name in entry.get("fromColumns", []) if name in columns]
        if sources and entry.get("toColumn") in target_columns:
            out.append({**entry, "fromColumns": sources})
    return out


def edge_between(store: Store, start: str, end: str) -> Data:
    """Details of an edge by the ids of its endpoints."""
    details = store.edges.get((start, end))
    if details is None:
        raise ApiError(404, f"Lineage edge not found between {start} and  {end}")
    return details


def delete_edge(store: Store, start: str, end: str, principal: Principal) -> None:
    if (start, end) not in store.edges:
        raise ApiError(404, "Lineage edge not found")
    store.remove_edge(start, end)
    names = (store.by_id[start].fqn, store.by_id[end].fqn)
    store.events.record_edge("entityLineageDeleted", names, principal.name, store.now())


def delete_by_source(store: Store, entity_id: str, source: str) -> None:
    """Delete edges of one source into an entity, or created by a pipeline."""
    by_pipeline = source in ("OpenLineage", "PipelineLineage")
    for (start, end), details in list(store.edges.items()):
        pipeline_id = (details.get("pipeline") or {}).get("id")
        if details["source"] == source and (end == entity_id or (by_pipeline and pipeline_id == entity_id)):
            store.remove_edge(start, end)


def remove_columns(store: Store, entity: Entity, old: Data, new: Data) -> None:
    """Remove columns deleted by a PUT from edges. As on the server, this drops the SQL, and nested columns remain."""
    before = {column["fullyQualifiedName"] for column in old.get("columns", [])}
    removed = before - {column["fullyQualifiedName"] for column in new.get("columns", [])}
    if not removed:
        return
    pairs = [(entity.id, end) for end in store.edges_from.get(entity.id, ())]
    pairs += [(start, entity.id) for start in store.edges_to.get(entity.id, ())]
    for pair in pairs:
        details = store.edges[pair]
        entries = [_without(entry, removed) for entry in details["columnsLineage"]]
        remaining = [entry for entry in entries if entry]
        if remaining != details["columnsLineage"]:
            store.edges[pair] = {k: v for k, v in details.items() if k != "sqlQuery"} | {"columnsLineage": remaining}


def _without(entry: Data, removed: set[str]) -> Data | None:
    sources = [name for name in entry["fromColumns"] if name not in removed]
    return {**entry, "fromColumns": sources} if sources and entry["toColumn"] not in removed else None


def render_edge(details: Data) -> Data:
    """Details of an edge in the order of the server."""
    order: dict[str, Any] = dict.fromkeys(("sqlQuery", "columnsLineage", "pipeline", "description", *details))
    return {name: details[name] for name in order if name in details}
