"""Builds updates of entities that this bridge owns; keeps what users edited."""

from typing import NamedTuple

from bridge.sync.openmetadata.desired_entities import EntityRecord
from bridge.sync.openmetadata.entity_lookup import column_paths
from bridge.sync.openmetadata.entity_resolver import ResolvedEntity
from connectors.errors import TargetRejected
from connectors.openmetadata.client import OpenMetadataClient
from mappers.canonical_json import JsonObject
from mappers.openmetadata.entity_requests import EntityRequest
from mappers.openmetadata.preserved_fields import READ_FIELDS, preserve_fields

_PRECONDITION_FAILED = 412
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
