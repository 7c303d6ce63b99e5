"""State of the stand-in: entities, edges, statuses, checks and profiles."""

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
from tests.standins.openmetadata.names import normalize_fqn, quote_name

__all__ = ["Data", "Entity", "Profiles", "Store"]


@dataclass
class Profiles:
    """Profiles of one table in order of arrival; timestamps may repeat."""

    table: list[Data] = field(default_factory=list)
    #: By column path, as sent.
    column: dict[str, list[Data]] = field(default_factory=dict)
    system: list[Data] = field(default_factory=list)


class Store:
    """The state of one server."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.by_id: dict[str, Entity] = {}
        self.by_name: dict[str, dict[str, Entity]] = {kind.name: {} for kind in EVERY}
        #: Details by (from id, to id).
        self.edges: dict[tuple[str, str], Data] = {}
        self.edges_from: dict[str, set[str]] = {}
        self.edges_to: dict[str, set[str]] = {}
        #: Statuses by pipeline id and timestamp.
        self.statuses: dict[str, dict[int, Data]] = {}
        self.checks = Checks()
        #: By table id.
        self.profiles: dict[str, Profiles] = {}
        #: Last runs by table id and name of the pipeline. No recording covers them.
        self.last_runs: dict[str, dict[str, Data]] = {}
        #: Data contracts by id. No recording covers them.
        self.contracts: dict[str, Data] = {}
        #: Labels of soft-deleted tags: tag id -> (entity, FQN of the entity or column, label).
        self.removed_labels: dict[str, list[tuple[Entity, str, Data]]] = {}
        self.events = EventLog()
        #: Time in milliseconds; tests may replace the clock.
        self.clock: Callable[[], int] = lambda: int(time.time() * 1000)
        self._sorted: dict[str, list[Entity]] = {}

    @property
    def governance(self) -> Governance:
        """Governance entities of this store."""
        return Governance(self)

    def now(self) -> int:
        return self.clock()

    def find(self, kind: Kind, name: str) -> Entity | None:
        """Find an entity by its fully qualified name."""
        by_fqn = self.by_name[kind.name]
        found = by_fqn.get(name) or by_fqn.get(normalize_fqn(name))
        return found or (by_fqn.get(quote_name(name)) if kind.parent is None else None)

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
        """Remove an entity, its edges, and the edges of a pipeline."""
        del self.by_id[entity.id]
        del self.by_name[entity.kind.name][entity.fqn]
        self._sorted.pop(entity.kind.name, None)
        if entity.parent is not None:
            entity.parent.children.pop(entity.id, None)
        self.statuses.pop(entity.id, None)
        self.profiles.pop(entity.id, None)
        self.last_runs.pop(entity.id, None)
        self.checks.remove_table(entity.id)
        removed_edges = {(entity.id, end) for end in self.edges_from.get(entity.id, ())}
        removed_edges |= {(start, entity.id) for start in self.edges_to.get(entity.id, ())}
        if entity.kind.name == "pipeline":
            removed_edges |= {pair for pair in self.edges if self._pipeline_of_edge(pair) == entity.id}
        for pair in removed_edges:
            self.remove_edge(*pair)

    def _pipeline_of_edge(self, pair: tuple[str, str]) -> str | None:
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
        """All entities except governance entities."""
        return (entity for entity in self.by_id.values() if entity.kind.asset)

    def in_order(self, kind: Kind) -> list[Entity]:
        """Entities of a kind in list order: by name, then by id."""
        ordered = self._sorted.get(kind.name)
        if ordered is None:
            ordered = sorted(self.by_name[kind.name].values(), key=lambda entity: (entity.name, entity.id))
            self._sorted[kind.name] = ordered
        return ordered
