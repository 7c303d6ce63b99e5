"""Event log: one event per change, in order of arrival."""

import uuid
from dataclasses import dataclass
from typing import Any

import msgspec

from tests.standins.openmetadata.entity import Data

#: `previousVersion` of every event.
_FIRST_VERSION = 0.1


@dataclass(frozen=True, slots=True)
class Event:
    """One change."""

    #: Position in the log, from 1.
    offset: int
    type: str
    kind: str
    at: int
    head: Data
    #: The entity as in the response, as JSON.
    entity: bytes

    def to_json(self) -> Data:
        return {**self.head, "entity": self.entity.decode()}


class EventLog:
    """All events of a server."""

    def __init__(self) -> None:
        self.rows: list[Event] = []

    def record(
        self, event_type: str, kind: str, body: Data, user: str, change: Data | None = None, at: Any = None
    ) -> None:
        """Record a change by event type and response body; entityNoChange is ignored."""
        if event_type == "entityNoChange":
            return
        timestamp = int(body["updatedAt"] if at is None else at)
        head: Data = {
            "id": str(uuid.uuid4()),
            "eventType": event_type,
            "entityType": kind,
            "entityId": body["id"],
            "entityFullyQualifiedName": body["fullyQualifiedName"],
            "previousVersion": _FIRST_VERSION,
            "currentVersion": body["version"],
            "userName": user,
            "timestamp": timestamp,
        }
        if change is not None:
            head["changeDescription"] = change
        self.rows.append(Event(len(self.rows) + 1, event_type, kind, timestamp, head, msgspec.json.encode(body)))

    def record_edge(self, event_type: str, endpoints: tuple[str, str], user: str, at: int) -> None:
        """Record a change of an edge; such events use an offset, but are not listed."""
        name = f"{endpoints[0]}--upstream-->{endpoints[1]}"
        edge = {"id": str(uuid.uuid4()), "fullyQualifiedName": name, "version": _FIRST_VERSION, "updatedAt": at}
        self.record(event_type, "lineage", edge, user)
