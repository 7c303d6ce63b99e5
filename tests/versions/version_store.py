"""A store with versions, and its registry; tests move its clock."""

from collections.abc import Sequence
from typing import Any

from bridge.versions.publisher import UNCHECKED, PublicationOutcome, PublicationRequest
from bridge.versions.registry import VersionRegistry
from bridge.versions.resolver import Resolution, VersionRequest
from bridge.versions.selector import Selector, parse_selector
from tests import factories as make
from tests.factories import Json, facet, run_event
from tests.stores import Store

START = make.micros(0)


def partitions(*days: str) -> Json:
    """Facets of a version that contains only these days."""
    entries = [{"dimensions": {"day": day}} for day in days]
    return {"subset": facet(outputCondition={"type": "partition", "partitions": entries})}


def version(
    name: str,
    tag: str | None,
    number: int,
    kind: str = "COMPLETE",
    *,
    key: str | None = None,
    second: float | None = None,
    days: Sequence[str] = (),
    namespace: str = "db",
    **facets: Json,
) -> Json:
    """An event of a run that writes a version."""
    output_facets = partitions(*days) if days else {}
    output_facets |= {"lineageBridge_idempotencyKey": facet(key=key)} if key else {}
    output_facets |= {"outputStatistics": facet(rowCount=number)}
    version_facets = {"version": facet(datasetVersion=tag)} if tag else {}
    output = make.dataset(name, namespace, output_facets=output_facets, **version_facets, **facets)
    return run_event(kind, number if second is None else second, run=number, outputs=[output])


class VersionStore:
    """A store with its registry, and short forms of the operations that tests need."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.now = START
        self.registry = VersionRegistry(store.db, store.org, lambda: self.now)

    def write(self, *events: Json) -> None:
        self.store.apply_each(*events)

    def id(self, name: str, namespace: str = "db") -> bytes:
        return self.registry.find_dataset(namespace, name)

    def publish(
        self, *, expected: dict[str, Any] | None = None, by: str = "ann", **versions: str
    ) -> list[PublicationOutcome]:
        expected_versions = expected or {}
        requests = [
            PublicationRequest(self.id(name), parse_selector(tag), expected_versions.get(name, UNCHECKED))
            for name, tag in versions.items()
        ]
        with self.registry.transaction():
            return self.registry.publisher.publish(requests, by, "because")

    def roll_back(self, *names: str, to: str | None = None, expected: Any = UNCHECKED) -> list[PublicationOutcome]:
        selector: Selector | None = parse_selector(to) if to else None
        with self.registry.transaction():
            requests = [PublicationRequest(self.id(name), selector, expected) for name in names]
            return self.registry.publisher.roll_back(requests, "bob", None)

    def resolve(self, name: str, pin: str = "published", partition: str = "", **options: Any) -> Resolution:
        return self.registry.resolver.resolve(
            VersionRequest(self.id(name), parse_selector(pin, **options), partition)
        )

    def tag(self, name: str, pin: str = "published", partition: str = "", **options: Any) -> str:
        return self.resolve(name, pin, partition, **options).version.tag

    def pin(self, name: str, *, until: int, **versions: str) -> None:
        with self.registry.transaction():
            pinned = [
                (self.id(dataset), self.registry.versions.find(self.id(dataset), tag))
                for dataset, tag in versions.items()
            ]
            self.registry.pins.pin(name, pinned, until, "ann", None)

    def invalidate(self, name: str, tag: str, partition: str = "", reason: str = "bad") -> None:
        with self.registry.transaction():
            target = self.registry.versions.find(self.id(name), tag)
            self.registry.invalidations.invalidate(self.id(name), target, reason, "ann", partition)

    def revoke(self, name: str, tag: str, partition: str = "") -> None:
        with self.registry.transaction():
            target = self.registry.versions.find(self.id(name), tag)
            self.registry.invalidations.revoke(self.id(name), target, "ann", partition)

    def history(self, name: str) -> list[str]:
        """List the publication entries of a dataset, oldest first, as kind and version."""
        entries = self.registry.publications.list_newest(self.id(name), 100)
        return [f"{entry.kind} {entry.tag}" for entry in reversed(entries)]
