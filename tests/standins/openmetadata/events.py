"""The log of what changed: one event for each change, in the order of their arrival."""

import uuid
from dataclasses import dataclass
from typing import Any

import msgspec

from tests.standins.openmetadata.entity import Data

#: What an event says was the version before, whatever it was.
_FIRST_VERSION = 0.1


@dataclass(frozen=True, slots=True)
class Event:
    """One change."""

    #: Its place in the log, from 1 on.
    offset: int
    type: str
    kind: str
    at: int
    head: Data
    #: The entity as the answer showed it, as JSON.
    entity: bytes

    def shown(self) -> Data:
        return {**self.head, "entity": self.entity.decode()}


class EventLog:
    """All events of a server."""

    def __init__(self) -> None:
        self.rows: list[Event] = []

    def note(self, word: str, kind: str, body: Data, user: str, change: Data | None = None, at: Any = None) -> None:
        """Note a change by the word of the answer's header, and the answer itself; what changes nothing is none."""
        if word == "entityNoChange":
            return
        moment = int(body["updatedAt"] if at is None else at)
        head: Data = {
            "id": str(uuid.uuid4()),
            "eventType": word,
            "entityType": kind,
            "entityId": body["id"],
            "entityFullyQualifiedName": body["fullyQualifiedName"],
            "previousVersion": _FIRST_VERSION,
            "currentVersion": body["version"],
            "userName": user,
            "timestamp": moment,
        }
        if change is not None:
            head["changeDescription"] = change
        self.rows.append(Event(len(self.rows) + 1, word, kind, moment, head, msgspec.json.encode(body)))

    def note_edge(self, word: str, ends: tuple[str, str], user: str, at: int) -> None:
        """Note a change of an edge: such events have their place in the log, but are not listed."""
        name = f"{ends[0]}--upstream-->{ends[1]}"
        edge = {"id": str(uuid.uuid4()), "fullyQualifiedName": name, "version": _FIRST_VERSION, "updatedAt": at}
        self.note(word, "lineage", edge, user)
