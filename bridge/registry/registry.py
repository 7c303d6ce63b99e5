"""The registry: names of datasets, their versions, and what was decided of these. One transaction a decision."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

from bridge.registry.definitions import Definitions
from bridge.registry.description import Descriptions
from bridge.registry.history import History
from bridge.registry.invalidation import Invalidation
from bridge.registry.pins import Pins
from bridge.registry.publishing import Publisher
from bridge.registry.resolution import Resolver
from bridge.registry.versions import Versions
from bridge.store.database import Database
from bridge.store.graph import Graph, Named
from mappers.errors import UnknownName
from mappers.openlineage.statements import name_dataset


class Registry:
    """What an organisation's registry holds. Not for several threads at once."""

    def __init__(self, db: Database, org: str, clock: Callable[[], int]) -> None:
        self.db = db
        self._org = org
        self.graph = Graph(db, org)
        self.versions = Versions(db, org)
        self.history = History(db, org)
        self.pins = Pins(db, org, clock)
        self.resolver = Resolver(db, org, clock)
        self.publisher = Publisher(db, org, clock, self.called)
        self.invalidation = Invalidation(db, org, clock)
        self.descriptions = Descriptions(db, org, clock)
        self.definitions = Definitions(db, org, clock)

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """Let everything that is decided inside be so together, or nothing of it; nobody decides meanwhile."""
        with self.db.transaction():
            self.db.lock(f"registry of {self._org}")
            yield

    def dataset(self, namespace: str | None, name: str) -> bytes:
        """Find the class of a dataset by any of its names; raises UnknownName."""
        found = self.graph.find_whole(name) if namespace is None else self.graph.find(namespace, name)
        if found is None:
            raise UnknownName(
                f"no dataset {name!r}{'' if namespace is None else f' in namespace {namespace!r}'} in the store"
            )
        return found

    def dataset_of(self, id_: UUID) -> bytes:
        """Find the class of a dataset by the id of any of its names; raises UnknownName."""
        found = self.graph.class_of(id_.bytes)
        if found is None:
            raise UnknownName(f"no dataset with the id {id_} in the store")
        return found

    def id_of(self, namespace: str, name: str) -> UUID:
        """Give the stable id of a dataset: whoever knows any of its names gets the same, and one before it is known.

        An id that was given leads to the dataset for ever, by whatever other names it comes to be known.
        """
        return UUID(bytes=self.graph.find(namespace, name) or name_dataset(self._org, namespace, name).id)

    def named(self, dataset: bytes) -> Named:
        """Name a dataset, given by its class."""
        return self.graph.dataset(dataset)

    def called(self, dataset: bytes) -> str:
        """Name a dataset, given by its class, in one word."""
        return "/".join(self.named(dataset))

    def held(self) -> dict[bytes, list[str]]:
        """Say of every version that is published or pinned why it must be kept; clean-up keeps its hands off these.

        Of a dataset whose last version is of some partitions only, those beneath hold the others.
        """
        found: dict[bytes, list[str]] = {}
        for dataset in self.history.datasets():
            above: set[str] = set()
            for move in reversed(self.history.standing(dataset)):
                version = self.versions.get(dataset, move.version)
                if above and version is not None and version.partitions and above.issuperset(version.partitions):
                    continue
                found.setdefault(move.version, []).append("published")
                if version is None or version.partitions is None:
                    break
                above.update(version.partitions)
        for pin in self.pins.every():
            found.setdefault(pin.version, []).append(f"pinned as {pin.name}")
        return found

    def close(self) -> None:
        """Close the connection."""
        self.db.close()
