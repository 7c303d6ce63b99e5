"""Brings an entity that is ours up to date, and leaves what people wrote into it."""

from typing import NamedTuple

from bridge.sync.openmetadata.directory import column_paths
from bridge.sync.openmetadata.resolution import Resolved
from connectors.openmetadata.calls import Entity
from connectors.openmetadata.client import OpenMetadata
from mappers.errors import TargetRefused
from mappers.openmetadata.carried import ASKED, carried
from mappers.openmetadata.requests import Request

_CHANGED_MEANWHILE = 412
_TRIES = 3
_COLUMNS = frozenset({"columns", "dataModel", "messageSchema"})


class Update(NamedTuple):
    """The request that makes or changes an entity, and what is to be told of it."""

    resolved: Resolved
    body: Entity
    note: str | None = None
    #: Whether it takes other columns than it has: the server forgets what edges say of those that go.
    reshaped: bool = True


def read(client: OpenMetadata, resolved: Resolved) -> Entity | None:
    """Read an entity with all that a change of it could wipe; None when it is gone."""
    collection, there = resolved.choice.collection, resolved.there
    return client.get(collection, there.name, *ASKED[collection]) if there else None


def update(client: OpenMetadata, resolved: Resolved, *, with_columns: bool) -> Update:
    """Say what to send: all that we know, and all that a request would wipe that left it out."""
    own = resolved.choice.own
    for _ in range(_TRIES):
        entity = read(client, resolved)
        if entity is None:
            return Update(resolved, own.body)
        try:
            note = _describe(client, resolved, entity)
        except TargetRefused as error:
            if error.status != _CHANGED_MEANWHILE:
                raise
            continue
        body = carried(own.collection, known_body(own, with_columns=with_columns), entity)
        return Update(resolved, body, note, set(column_paths(body)) != set(column_paths(entity)))
    raise TargetRefused(f"{own.fqn} was changed by others each time that it was to be changed", _CHANGED_MEANWHILE)


def known_body(own: Request, *, with_columns: bool) -> Entity:
    """Give what we say of an entity that is there."""
    return own.body if with_columns else {key: own.body[key] for key in own.body if key not in _COLUMNS}


def _describe(client: OpenMetadata, resolved: Resolved, entity: Entity) -> str | None:
    """Replace the description that we gave before, which a PUT of ours leaves; one that people wrote stays."""
    own, item = resolved.choice.own, resolved.wanted.item
    wanted, there = own.body.get("description"), entity.get("description")
    if not wanted or not there or wanted == there:
        return None
    if there != item.detail.get("description"):
        return "its description was written in OpenMetadata, and stays"
    change = [{"op": "replace", "path": "/description", "value": wanted}]
    client.patch(own.collection, str(entity["id"]), change, entity["version"])
    return None
