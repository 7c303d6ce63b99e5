"""What those who push have at hand."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from bridge.store.database import Database
from bridge.sync.item import Failed, Item, Remote, Settled
from bridge.sync.items import Items
from bridge.sync.openmetadata.rules import Rules
from bridge.sync.workers import Workers
from connectors.openmetadata.client import OpenMetadata
from mappers.errors import LineageBridgeError, TargetBusy, TargetRefused

NOT_FOUND = 404
_BEGUN, _WAS = "begun", "was"
#: How many places are remembered where something was told before.
_MOST_WAS = 10


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
    kept = {_WAS: item.detail[_WAS]} if _WAS in item.detail else {}
    return kept | {_BEGUN: [*dict.fromkeys([*_moments(item, _BEGUN), moment])]}


def left_behind(item: Item, moment: Moment | None) -> dict[str, Any]:
    """Say where an item was told before: what is restored from a backup may tell it there again."""
    told = [told_at(item.remote)] if item.remote else []
    places = dict.fromkeys([*_moments(item, _WAS), *told, *_moments(item, _BEGUN)])
    was = [place for place in places if place != moment][-_MOST_WAS:]
    return {_WAS: was} if was else {}


def told_elsewhere(items: Items, item: Item, moment: Moment | None, now: Moment | None = None) -> list[Moment]:
    """Find where an item was told, or may have been, but for where it is told now and where another one is.

    Nothing is left of what was told of an entity that was made anew under its name since. Where it was told long ago
    counts only while nobody knows what the server has of it, as of one that was restored from a backup.
    """
    there = moment or now
    last = told_at(item.remote) if item.remote else None
    was = _moments(item, _WAS) if item.fingerprint is None else ()
    places = {*_moments(item, _BEGUN), *was, *([last] if last else ())}
    return sorted(
        place
        for place in places - {moment}
        if not (there and place.of == there.of and place.id != there.id)
        and all(one.key == item.key for one in items.of_remote(f"{place.id}/{place.timestamp}"))
    )


def is_said(said: Any, there: Any) -> bool:
    """Tell whether a server says what it was told; what it adds does not count."""
    if isinstance(said, dict):
        return isinstance(there, dict) and all(is_said(value, there.get(key)) for key, value in said.items())
    if isinstance(said, list):
        same = isinstance(there, list) and len(there) == len(said)
        return same and all(is_said(one, other) for one, other in zip(said, there, strict=True))
    return bool(said == there)


def _moments(item: Item, key: str) -> list[Moment]:
    return [Moment(*place) for place in item.detail.get(key, ())]


def told_at(remote: Remote) -> Moment:
    """Say where something was told, by what it is in the target."""
    id_, _, timestamp = remote.id.rpartition("/")
    return Moment(remote.name, id_, int(timestamp))
