"""What those who push have at hand."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from bridge.store.database import Database
from bridge.sync.item import Failed, Item, Settled
from bridge.sync.items import Items
from bridge.sync.openmetadata.rules import Rules
from bridge.sync.openmetadata.workers import Workers
from connectors.openmetadata.client import OpenMetadata
from mappers.errors import LineageBridgeError, TargetBusy, TargetRefused

NOT_FOUND = 404
_BEGUN = "begun"


class Workbench(NamedTuple):
    """The store, the server, and what is to be done."""

    db: Database
    org: str
    client: OpenMetadata
    rules: Rules
    items: Items
    workers: Workers

    def failed(self, error: LineageBridgeError) -> LineageBridgeError:
        """Take note of a failure; what something lies in that is gone may be made again, and so it is no refusal."""
        if isinstance(error, TargetRefused) and error.status == NOT_FOUND:
            return TargetBusy(str(error), NOT_FOUND)
        return self.workers.failed(error)


def missing(kind: str, results: Iterable[Settled | Failed], of: Mapping[bytes, bytes]) -> set[tuple[str, bytes]]:
    """Find what things need that the server was found not to have: given by the keys of the things."""
    return {
        (kind, of[one.item.key])
        for one in results
        if isinstance(one, Failed) and isinstance(one.error, TargetBusy) and one.error.status == NOT_FOUND
    }


class Moment(NamedTuple):
    """Where something of a moment is told: of which entity, at which time in milliseconds."""

    of: str
    id: str
    timestamp: int


def begun(item: Item, moment: Moment) -> dict[str, Any]:
    """Say where an item is about to be told, beside where it may have been told since it was last settled."""
    return {_BEGUN: [*{Moment(*place): None for place in item.detail.get(_BEGUN, ())} | {moment: None}]}


def told_elsewhere(items: Items, item: Item, moment: Moment | None, now: Moment | None = None) -> list[Moment]:
    """Find where an item was told, or may have been, but for where it is told now and where another one is.

    Nothing is left of what was told of an entity that was made anew under its name since.
    """
    there = moment or now
    places = {Moment(*place) for place in item.detail.get(_BEGUN, ())}
    if item.remote is not None:
        id_, _, timestamp = item.remote.id.rpartition("/")
        places.add(Moment(item.remote.name, id_, int(timestamp)))
    return sorted(
        place
        for place in places - {moment}
        if not (there and place.of == there.of and place.id != there.id)
        and all(one.key == item.key for one in items.of_remote(f"{place.id}/{place.timestamp}"))
    )
