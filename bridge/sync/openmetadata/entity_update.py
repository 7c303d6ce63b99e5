"""Builds the update of an entity we own and keeps what people wrote into it."""

from typing import NamedTuple

from bridge.sync.openmetadata.entity_lookup import column_paths
from bridge.sync.openmetadata.entity_resolver import ResolvedEntity
from connectors.errors import TargetRejected
from connectors.openmetadata.client import OpenMetadataClient
from mappers.canonical_json import JsonObject
from mappers.openmetadata.entity_requests import EntityRequest
from mappers.openmetadata.preserved_fields import READ_FIELDS, preserve_fields

_CHANGED_MEANWHILE = 412
_TRIES = 3
_COLUMNS = frozenset({"columns", "dataModel", "messageSchema"})


class EntityUpdate(NamedTuple):
    """The request that makes or changes an entity, and what is to be told of it."""

    resolved: ResolvedEntity
    body: JsonObject
    note: str | None = None
    #: Whether it takes other columns than it has: the server forgets what edges say of those that go.
    reshaped: bool = True


def read(client: OpenMetadataClient, resolved: ResolvedEntity) -> JsonObject | None:
    """Read an entity with all that a change of it could wipe; None when it is gone."""
    collection, there = resolved.choice.collection, resolved.existing
    return client.get(collection, there.name, *READ_FIELDS[collection]) if there else None


def update(client: OpenMetadataClient, resolved: ResolvedEntity, *, with_columns: bool) -> EntityUpdate:
    """Say what to send: all that we know, and all that a request would wipe that left it out."""
    own = resolved.choice.own
    for _ in range(_TRIES):
        entity = read(client, resolved)
        if entity is None:
            return EntityUpdate(resolved, own.body)
        try:
            note = _describe(client, resolved, entity)
        except TargetRejected as error:
            if error.status != _CHANGED_MEANWHILE:
                raise
            continue
        body = preserve_fields(own.collection, known_body(own, with_columns=with_columns), entity)
        return EntityUpdate(resolved, body, note, set(column_paths(body)) != set(column_paths(entity)))
    raise TargetRejected(f"{own.fqn} was changed by others each time that it was to be changed", _CHANGED_MEANWHILE)


def known_body(own: EntityRequest, *, with_columns: bool) -> JsonObject:
    """Give what we say of an entity that is there."""
    return own.body if with_columns else {key: own.body[key] for key in own.body if key not in _COLUMNS}


def _describe(client: OpenMetadataClient, resolved: ResolvedEntity, entity: JsonObject) -> str | None:
    """Replace the description that we gave before, which a PUT of ours leaves; one that people wrote stays."""
    own, item = resolved.choice.own, resolved.wanted.item
    wanted, there = own.body.get("description"), entity.get("description")
    if not wanted or not there or wanted == there:
        return None
    if there != item.record.get("description"):
        return "its description was written in OpenMetadata, and stays"
    change = [{"op": "replace", "path": "/description", "value": wanted}]
    client.patch(own.collection, str(entity["id"]), change, entity["version"])
    return None
