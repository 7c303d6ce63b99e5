"""Version registry of one organisation; each decision is one transaction."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple
from uuid import UUID

from bridge.errors import NotFound
from bridge.store.database import Database
from bridge.store.lineage.graph import LineageGraph, QualifiedName
from bridge.versions.definitions import DefinitionStore
from bridge.versions.invalidation import InvalidationStore
from bridge.versions.metadata import MetadataStore
from bridge.versions.pins import PinStore
from bridge.versions.publication import PublicationHistory
from bridge.versions.publisher import Publisher
from bridge.versions.reader import WHOLE_VERSION, Version, VersionReader
from bridge.versions.resolver import VersionResolver
from mappers.openlineage.names import canonical_dataset_name


class VersionRegistry:
    """What an organisation's registry holds. Not for several threads at once."""

    def __init__(self, db: Database, org: str, clock: Callable[[], int]) -> None:
        self.db = db
        self._org = org
        self.graph = LineageGraph(db, org)
        self.versions = VersionReader(db, org)
        self.publications = PublicationHistory(db, org)
        self.pins = PinStore(db, org, clock)
        self.resolver = VersionResolver(db, org, clock)
        self.publisher = Publisher(db, org, clock, self.display_name)
        self.invalidations = InvalidationStore(db, org, clock)
        self.metadata = MetadataStore(db, org, clock)
        self.definitions = DefinitionStore(db, org, clock)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Let everything that is decided inside be so together, or nothing of it; nobody decides meanwhile."""
        with self.db.transaction():
            self.db.lock(f"registry of {self._org}")
            yield

    def find_dataset(self, namespace: str | None, name: str) -> bytes:
        """Find the class of a dataset by any of its names; raises UnknownName."""
        found = self.graph.find_by_full_name(name) if namespace is None else self.graph.find_dataset(namespace, name)
        if found is None:
            raise NotFound(
                f"no dataset {name!r}{'' if namespace is None else f' in namespace {namespace!r}'} in the store"
            )
        return found

    def find_dataset_by_id(self, id_: UUID) -> bytes:
        """Find the class of a dataset by the id of any of its names; raises UnknownName."""
        found = self.graph.group_of(id_.bytes)
        if found is None:
            raise NotFound(f"no dataset with the id {id_} in the store")
        return found

    def dataset_id(self, namespace: str, name: str) -> UUID:
        """Give the stable id of a dataset: whoever knows any of its names gets the same, and one before it is known.

        An id that was given leads to the dataset for ever, by whatever other names it comes to be known.
        """
        return UUID(
            bytes=self.graph.find_dataset(namespace, name) or canonical_dataset_name(self._org, namespace, name).id
        )

    def dataset_name(self, dataset: bytes) -> QualifiedName:
        """Name a dataset, given by its class."""
        return self.graph.dataset_name(dataset)

    def display_name(self, dataset: bytes) -> str:
        """Name a dataset, given by its class, in one word."""
        return "/".join(self.dataset_name(dataset))

    def retained_versions(self) -> dict[bytes, list[str]]:
        """Say of every version that is published or pinned why it must be kept; clean-up keeps its hands off these.

        Of a dataset whose last version is of some partitions only, those beneath hold the others.
        """
        found: dict[bytes, list[str]] = {}
        for dataset in self.publications.published_datasets():
            above: set[str] = set()
            for move in reversed(self.publications.layers(dataset)):
                version = self.versions.get(dataset, move.version)
                if above and version is not None and version.partitions and above.issuperset(version.partitions):
                    continue
                found.setdefault(move.version, []).append("published")
                if version is None or version.partitions is None:
                    break
                above.update(version.partitions)
        for pin in self.pins.list_active():
            found.setdefault(pin.version, []).append(f"pinned as {pin.name}")
        return found

    def close(self) -> None:
        """Close the connection."""
        self.db.close()


class DiscardOutcome(NamedTuple):
    """Versions that are not to be read any more, and why others are kept."""

    discarded: list[Version]
    held: dict[str, list[str]]


def discard(
    registry: VersionRegistry, dataset: bytes, versions: Iterable[Version], reason: str, by: str
) -> DiscardOutcome:
    """Mark versions as not to be read, but those that are published or pinned; in a transaction that decides.

    Of those that are marked already the reason stays: it was somebody's.
    """
    held = registry.retained_versions()
    given_up = DiscardOutcome([], {})
    for version in versions:
        if version.id in held:
            given_up.held[version.tag] = held[version.id]
            continue
        if WHOLE_VERSION not in version.invalid:
            registry.invalidations.invalidate(dataset, version, reason, by)
        given_up.discarded.append(version)
    return given_up
