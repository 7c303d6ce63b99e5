"""Edges: one for each pair, checked against the columns that exist."""

from typing import Any

from tests.standins.openmetadata import enums
from tests.standins.openmetadata.access import Principal
from tests.standins.openmetadata.columns import every
from tests.standins.openmetadata.create_shapes import REFERENCE
from tests.standins.openmetadata.errors import ApiError, no_entity, not_found
from tests.standins.openmetadata.kinds import BY_NAME
from tests.standins.openmetadata.shapes import Shape, anything, choice, listing, text, whole
from tests.standins.openmetadata.state import Data, Entity, Store

_COLUMNS = Shape(
    {"fromColumns": listing(text), "toColumn": text, "function": text},
    extra="kept",
)
DETAILS = Shape(
    {
        "sqlQuery": text,
        "columnsLineage": listing(_COLUMNS),
        "pipeline": REFERENCE,
        "description": text,
        "source": choice(*enums.LINEAGE_SOURCES),
        **dict.fromkeys(("createdAt", "updatedAt"), whole),
        **dict.fromkeys(("createdBy", "updatedBy"), text),
        "tempLineageTables": anything,
    },
    extra="kept",
)
_EDGE = Shape(
    {"fromEntity": REFERENCE, "toEntity": REFERENCE, "description": text, "lineageDetails": DETAILS},
    required="fromEntity toEntity",
)
REQUEST = Shape({"edge": _EDGE}, required="edge")


def node(store: Store, reference: Data) -> Entity:
    """Find an end of an edge, or its pipeline; soft-deleted ones do not take edges."""
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


def put_edge(store: Store, start: Entity, end: Entity, details: Data, who: Principal) -> None:
    """Make or overwrite the edge of a pair; only the timestamps are merged."""
    old = store.edges.get((start.id, end.id), {})
    now = store.now()
    new: Data = {"source": "Manual", **details}
    new["columnsLineage"] = _existing(start, end, details.get("columnsLineage", []))
    if "pipeline" in details:
        pipeline = node(store, details["pipeline"])
        new["pipeline"] = pipeline.reference()
    new["createdAt"] = min(details.get("createdAt", now), old.get("createdAt", details.get("createdAt", now)))
    new["createdBy"] = old.get("createdBy") or details.get("createdBy", who.name)
    new["updatedAt"] = max(details.get("updatedAt", now), old.get("updatedAt", 0))
    new["updatedBy"] = details.get("updatedBy", who.name)
    if not old:
        store.events.note_edge("entityLineageAdded", (start.fqn, end.fqn), who.name, now)
    elif _told(new) != _told(old):
        store.events.note_edge("entityLineageUpdated", (start.fqn, end.fqn), who.name, now)
    store.put_edge(start.id, end.id, new)


def _told(details: Data) -> Data:
    """Give what makes a change of an edge."""
    return {name: value for name, value in details.items() if name not in ("createdAt", "updatedAt", "updatedBy")}


def column_names(entity: Entity) -> set[str]:
    """Give the fully qualified names of what can be an end of column lineage."""
    data = entity.data
    columns: list[Data] = list(data.get("columns", []))
    columns += (data.get("dataModel") or {}).get("columns", []) if entity.kind.name == "container" else []
    for name in ("messageSchema", "requestSchema", "responseSchema"):
        columns += (data.get(name) or {}).get("schemaFields", [])
    names = {column["fullyQualifiedName"] for column in every(columns)}
    return names | {f"{entity.fqn}.{feature.get('name')}" for feature in data.get("mlFeatures", [])}


def _existing(start: Entity, end: Entity, raw: list[Data]) -> list[Data]:
    """Drop, without a word, columns that do not exist; the case of letters counts."""
    if not raw:
        return []
    known, targets = column_names(start), column_names(end)
    out = []
    for entry in raw:
        sources = [name for name in entry.get("fromColumns", []) if name in known]
        if sources and entry.get("toColumn") in targets:
            out.append({**entry, "fromColumns": sources})
    return out


def edge_between(store: Store, start: str, end: str) -> Data:
    """Read the details of an edge by the ids of its ends."""
    details = store.edges.get((start, end))
    if details is None:
        raise ApiError(404, f"Lineage edge not found between {start} and  {end}")
    return details


def delete_edge(store: Store, start: str, end: str, who: Principal) -> None:
    if (start, end) not in store.edges:
        raise ApiError(404, "Lineage edge not found")
    store.remove_edge(start, end)
    names = (store.by_id[start].fqn, store.by_id[end].fqn)
    store.events.note_edge("entityLineageDeleted", names, who.name, store.now())


def delete_by_source(store: Store, entity_id: str, source: str) -> None:
    """Delete edges of one source: those a pipeline made or ends in, or those into an entity."""
    by_pipeline = source in ("OpenLineage", "PipelineLineage")
    for (start, end), details in list(store.edges.items()):
        made_by = (details.get("pipeline") or {}).get("id")
        if details["source"] == source and (end == entity_id or (by_pipeline and made_by == entity_id)):
            store.remove_edge(start, end)


def forget_columns(store: Store, entity: Entity, old: Data, new: Data) -> None:
    """Take columns that a PUT removed out of the edges; their SQL is lost with them, and nested columns stay behind."""
    before = {column["fullyQualifiedName"] for column in old.get("columns", [])}
    gone = before - {column["fullyQualifiedName"] for column in new.get("columns", [])}
    if not gone:
        return
    pairs = [(entity.id, end) for end in store.edges_from.get(entity.id, ())]
    pairs += [(start, entity.id) for start in store.edges_to.get(entity.id, ())]
    for pair in pairs:
        details = store.edges[pair]
        entries = [_without(entry, gone) for entry in details["columnsLineage"]]
        kept = [entry for entry in entries if entry]
        if kept != details["columnsLineage"]:
            store.edges[pair] = {k: v for k, v in details.items() if k != "sqlQuery"} | {"columnsLineage": kept}


def _without(entry: Data, gone: set[str]) -> Data | None:
    sources = [name for name in entry["fromColumns"] if name not in gone]
    return {**entry, "fromColumns": sources} if sources and entry["toColumn"] not in gone else None


def shown(details: Data) -> Data:
    """Write the details of an edge in the server's order."""
    order: dict[str, Any] = dict.fromkeys(("sqlQuery", "columnsLineage", "pipeline", "description", *details))
    return {name: details[name] for name in order if name in details}
