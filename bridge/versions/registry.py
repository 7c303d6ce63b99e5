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


class DiscardOutcome(NamedTuple):
    """Discarded versions, and the tags of retained versions with the reasons."""

    discarded: list[Version]
    retained: dict[str, list[str]]


class VersionRegistry:
    """The version registry of an organisation. Not thread-safe."""

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
        """Run the block in a transaction that holds the registry lock, and commit all of its decisions or none."""
        with self.db.transaction():
            self.db.lock(f"registry of {self._org}")
            yield

    def find_dataset(self, namespace: str | None, name: str) -> bytes:
        """Find the group id of a dataset by any of its names. Raises NotFound if no such dataset exists."""
        group_id = (
            self.graph.find_by_full_name(name) if namespace is None else self.graph.find_dataset(namespace, name)
        )
        if group_id is None:
            scope = "" if namespace is None else f" in namespace {namespace!r}"
            raise NotFound(f"no dataset {name!r}{scope} in the store")
        return group_id

    def find_dataset_by_id(self, id_: UUID) -> bytes:
        """Find the group id of a dataset by the id of any member. Raises NotFound if no such dataset exists."""
        group_id = self.graph.group_of(id_.bytes)
        if group_id is None:
            raise NotFound(f"no dataset with the id {id_} in the store")
        return group_id

    def dataset_id(self, namespace: str, name: str) -> UUID:
        """Return the stable id of a dataset: the same for all its names, and known before the dataset is stored.

        A returned id continues to identify the dataset even after the dataset gets other names.
        """
        return UUID(
            bytes=self.graph.find_dataset(namespace, name) or canonical_dataset_name(self._org, namespace, name).id
        )

    def dataset_name(self, group_id: bytes) -> QualifiedName:
        return self.graph.dataset_name(group_id)

    def display_name(self, group_id: bytes) -> str:
        """Join namespace and name of a dataset."""
        return "/".join(self.dataset_name(group_id))

    def retained_versions(self) -> dict[bytes, list[str]]:
        """Map each published or pinned version to the reasons why cleanup must not delete its files.

        If the top layer of a dataset contains only some partitions, the layers below are retained for the others.
        """
        reasons_by_version: dict[bytes, list[str]] = {}
        for group_id in self.publications.list_published_datasets():
            covered_partitions: set[str] = set()
            for entry in reversed(self.publications.list_layers(group_id)):
                version = self.versions.get(group_id, entry.version_id)
                if version is not None and version.partitions and covered_partitions.issuperset(version.partitions):
                    continue
                reasons_by_version.setdefault(entry.version_id, []).append("published")
                if version is None or version.partitions is None:
                    break
                covered_partitions.update(version.partitions)
        for pin in self.pins.list_active():
            reasons_by_version.setdefault(pin.version_id, []).append(f"pinned as {pin.name}")
        return reasons_by_version

    def discard(self, group_id: bytes, versions: Iterable[Version], reason: str, actor: str) -> DiscardOutcome:
        """Invalidate versions that are neither published nor pinned. Must be called within `transaction`.

        Versions that are already invalid keep their reason.
        """
        retained_versions = self.retained_versions()
        outcome = DiscardOutcome([], {})
        for version in versions:
            if version.id in retained_versions:
                outcome.retained[version.tag] = retained_versions[version.id]
                continue
            if WHOLE_VERSION not in version.invalid:
                self.invalidations.invalidate(group_id, version, reason, actor)
            outcome.discarded.append(version)
        return outcome

    def close(self) -> None:
        self.db.close()
