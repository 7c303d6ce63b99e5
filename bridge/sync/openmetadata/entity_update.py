"""Builds updates of entities that this bridge owns; keeps what users edited."""

from typing import NamedTuple

from bridge.sync.openmetadata.desired_entities import EntityRecord
from bridge.sync.openmetadata.edge_writer import normalize
from bridge.sync.openmetadata.entity_lookup import TYPES, column_paths
from bridge.sync.openmetadata.entity_resolver import ResolvedEntity
from bridge.sync.sync_item import RemoteReference, SyncItem
from connectors.errors import TargetRejected
from connectors.openmetadata.client import OpenMetadataClient
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError
from mappers.openmetadata.entity_requests import EntityRequest
from mappers.openmetadata.preserved_fields import EDITED_FIELDS, READ_FIELDS, moved_body, preserve_fields

_PRECONDITION_FAILED = 412
#: Source of edges that people draw.
_MANUAL = "Manual"
_MAX_ATTEMPTS = 3
_COLUMNS = frozenset({"columns", "dataModel", "messageSchema"})


class EntityUpdate(NamedTuple):
    """The request that creates or changes an entity."""

    resolved: ResolvedEntity
    body: JsonObject
    note: str | None = None
    #: Whether the columns change: the server drops edge details of removed columns.
    columns_changed: bool = True


def read_entity(client: OpenMetadataClient, resolved: ResolvedEntity) -> JsonObject | None:
    """Read an entity with all fields that a PUT could erase; None if it is gone."""
    collection, existing = resolved.candidate.collection, resolved.existing
    return client.get(collection, existing.name, *READ_FIELDS[collection]) if existing else None


def prepare_update(
    client: OpenMetadataClient, resolved: ResolvedEntity, owners: list[JsonObject], *, with_columns: bool
) -> EntityUpdate:
    """Prepare a PUT that keeps the fields it would otherwise erase, and owners that a user set."""
    own = resolved.candidate.own
    for _ in range(_MAX_ATTEMPTS):
        entity = read_entity(client, resolved)
        if entity is None:
            return EntityUpdate(resolved, own.body)
        try:
            note = _update_description(client, resolved, entity)
        except TargetRejected as error:
            if error.status != _PRECONDITION_FAILED:
                raise
            continue
        body = preserve_fields(own.collection, desired_body(own, with_columns=with_columns), entity)
        current_owners = tuple(str(owner["id"]) for owner in entity.get("owners") or ())
        if owners and current_owners in ((), resolved.desired.item.read_record(EntityRecord).owners):
            body["owners"] = owners
        return EntityUpdate(resolved, body, note, set(column_paths(body)) != set(column_paths(entity)))
    raise TargetRejected(f"{own.fqn} was changed concurrently in every attempt to update it", _PRECONDITION_FAILED)


def desired_body(own: EntityRequest, *, with_columns: bool) -> JsonObject:
    """Return desired fields of an existing entity."""
    return own.body if with_columns else {key: own.body[key] for key in own.body if key not in _COLUMNS}


def _update_description(client: OpenMetadataClient, resolved: ResolvedEntity, entity: JsonObject) -> str | None:
    """Replace or remove a description that this bridge wrote, because a PUT does not change it.

    A description that a user edited is kept; if another one is desired, the function returns a note.
    """
    own = resolved.candidate.own
    desired, remote = own.body.get("description"), entity.get("description")
    if not remote or desired == remote:
        return None
    if remote not in resolved.desired.item.read_record(EntityRecord).own_descriptions:
        return "its description was edited in OpenMetadata and is kept" if desired else None
    change = {"op": "replace", "value": desired} if desired else {"op": "remove"}
    patch = [change | {"path": "/description"}]
    client.patch(own.collection, str(entity["id"]), patch, entity["version"])
    return None


def with_edits_of_moved_entity(client: OpenMetadataClient, resolved: ResolvedEntity, body: JsonObject) -> JsonObject:
    """Add to the request for a new entity what people edited in the entity that it replaces, if any."""
    replaced, collection = _replaced_item(resolved), resolved.candidate.collection
    if replaced is None or replaced.remote is None:
        return body
    entity = client.get(collection, replaced.remote.name, *{*READ_FIELDS[collection], *EDITED_FIELDS})
    if entity is None or entity["id"] != replaced.remote.id:
        return body
    record = replaced.read_record(EntityRecord)
    return moved_body(collection, body, entity, {*record.own_descriptions, record.display_name or ""})


def move_manual_edges(client: OpenMetadataClient, resolved: ResolvedEntity, new: RemoteReference) -> str | None:
    """Move manually drawn edges from the replaced entity to the new one; returns a note if that fails."""
    replaced = _replaced_item(resolved)
    if replaced is None or replaced.remote is None:
        return None
    old = replaced.remote
    try:
        graph = client.lineage_graph(old.type, old.id, downstream=True)
        types = {node["id"]: node["type"] for node in graph.get("nodes") or ()}
        for edge in (*(graph.get("upstreamEdges") or ()), *(graph.get("downstreamEdges") or ())):
            content = normalize(edge) or {}
            if content.get("source") == _MANUAL:
                ends = [
                    (new.type, new.id) if id_ == old.id else (types[id_], id_)
                    for id_ in (edge["fromEntity"], edge["toEntity"])
                ]
                client.put_edge(ends[0], ends[1], _with_renamed_columns(content, old.name, new.name))
    except LineageBridgeError as error:
        return f"the manual edges of {old.name} were not moved: {error}"
    return None


def _replaced_item(resolved: ResolvedEntity) -> SyncItem | None:
    """Return the item with our entity that a new entity replaces, because its dataset was renamed or relocated."""
    item = resolved.desired.item if resolved.desired.item.remote else resolved.desired.predecessor
    if item is None or item.remote is None or not item.created_by_us:
        return None
    return item if item.remote.type == TYPES[resolved.candidate.collection] else None


def _with_renamed_columns(content: JsonObject, old_name: str, new_name: str) -> JsonObject:
    """Return the content of an edge with the columns of the new entity."""
    old_prefix, new_prefix = f"{old_name}.", f"{new_name}."

    def rename(column: str) -> str:
        return new_prefix + column.removeprefix(old_prefix) if column.startswith(old_prefix) else column

    lines = [
        {**line, "fromColumns": [*map(rename, line.get("fromColumns", ()))], "toColumn": rename(line["toColumn"])}
        for line in content.get("columnsLineage", ())
    ]
    return {**content, "columnsLineage": lines}
