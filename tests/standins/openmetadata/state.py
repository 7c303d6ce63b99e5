"""Everything the stand-in knows: entities by id and by name, edges, statuses, checks, profiles."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.standins.openmetadata.checks import Checks
from tests.standins.openmetadata.entity import Data, Entity
from tests.standins.openmetadata.events import EventLog
from tests.standins.openmetadata.governance import Governance
from tests.standins.openmetadata.governance_kinds import EVERY
from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.names import normal, quoted

__all__ = ["Data", "Entity", "Profiles", "Store"]


@dataclass
class Profiles:
    """What was measured of one table, in the order of arrival; the same moment twice is two rows."""

    table: list[Data] = field(default_factory=list)
    #: By the names of columns, as they were sent.
    column: dict[str, list[Data]] = field(default_factory=dict)
    system: list[Data] = field(default_factory=list)


class Store:
    """The state of one server."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.by_id: dict[str, Entity] = {}
        self.by_name: dict[str, dict[str, Entity]] = {kind.name: {} for kind in EVERY}
        #: Details of the edge from one id to another.
        self.edges: dict[tuple[str, str], Data] = {}
        self.edges_from: dict[str, set[str]] = {}
        self.edges_to: dict[str, set[str]] = {}
        #: Statuses of a pipeline's runs by their timestamps.
        self.statuses: dict[str, dict[int, Data]] = {}
        self.checks = Checks()
        #: Profiles by the id of the table.
        self.profiles: dict[str, Profiles] = {}
        #: Labels of tags that are softly deleted: by the id of the tag, with the entity and the name of what they were on.
        self.withdrawn: dict[str, list[tuple[Entity, str, Data]]] = {}
        self.events = EventLog()
        #: Tells the time in milliseconds; a test may give it another clock.
        self.clock: Callable[[], int] = lambda: int(time.time() * 1000)
        self._sorted: dict[str, list[Entity]] = {}

    @property
    def governance(self) -> Governance:
        """What is known of what entities may refer to."""
        return Governance(self)

    def now(self) -> int:
        return self.clock()

    def find(self, kind: Kind, name: str) -> Entity | None:
        """Find an entity by its fully qualified name."""
        known = self.by_name[kind.name]
        found = known.get(name) or known.get(normal(name))
        return found or (known.get(quoted(name)) if kind.parent is None else None)

    def get(self, kind: Kind, key: str) -> Entity | None:
        """Find an entity by its id."""
        found = self.by_id.get(key.lower())
        return found if found is not None and found.kind is kind else None

    def add(self, entity: Entity) -> None:
        self.by_id[entity.id] = entity
        self.by_name[entity.kind.name][entity.fqn] = entity
        self._sorted.pop(entity.kind.name, None)
        if entity.parent is not None:
            entity.parent.children[entity.id] = entity

    def remove(self, entity: Entity) -> None:
        """Forget an entity, its edges, and the edges that were made by it."""
        del self.by_id[entity.id]
        del self.by_name[entity.kind.name][entity.fqn]
        self._sorted.pop(entity.kind.name, None)
        if entity.parent is not None:
            entity.parent.children.pop(entity.id, None)
        self.statuses.pop(entity.id, None)
        self.profiles.pop(entity.id, None)
        self.checks.forget(entity.id)
        gone = {(entity.id, end) for end in self.edges_from.get(entity.id, ())}
        gone |= {(start, entity.id) for start in self.edges_to.get(entity.id, ())}
        if entity.kind.name == "pipeline":
            gone |= {pair for pair in self.edges if self._made_by(pair) == entity.id}
        for pair in gone:
            self.remove_edge(*pair)

    def _made_by(self, pair: tuple[str, str]) -> str | None:
        pipeline: Data = self.edges[pair].get("pipeline") or {}
        return pipeline.get("id")

    def put_edge(self, start: str, end: str, details: Data) -> None:
        self.edges[start, end] = details
        self.edges_from.setdefault(start, set()).add(end)
        self.edges_to.setdefault(end, set()).add(start)

    def remove_edge(self, start: str, end: str) -> None:
        del self.edges[start, end]
        self.edges_from[start].discard(end)
        self.edges_to[end].discard(start)

    def assets(self) -> Iterator[Entity]:
        """Give all entities but those that govern others."""
        return (entity for entity in self.by_id.values() if entity.kind.asset)

    def in_order(self, kind: Kind) -> list[Entity]:
        """Give all entities of a kind in the order of lists: by name, then by id."""
        known = self._sorted.get(kind.name)
        if known is None:
            known = sorted(self.by_name[kind.name].values(), key=lambda entity: (entity.name, entity.id))
            self._sorted[kind.name] = known
        return known
