"""A store with versions to decide about, and the registry of it; its clock goes only when it is told to."""

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
    """Say that a version is of some days only."""
    listed = [{"dimensions": {"day": day}} for day in days]
    return {"subset": facet(outputCondition={"type": "partition", "partitions": listed})}


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
    own = partitions(*days) if days else {}
    own |= {"lineageBridge_idempotencyKey": facet(key=key)} if key else {}
    own |= {"outputStatistics": facet(rowCount=number)}
    called = {"version": facet(datasetVersion=tag)} if tag else {}
    written = make.dataset(name, namespace, output_facets=own, **called, **facets)
    return run_event(kind, number if second is None else second, run=number, outputs=[written])


class Shelf:
    """A store, its registry, and words for what tests do with both."""

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
        known = expected or {}
        changes = [
            PublicationRequest(self.id(name), parse_selector(tag), known.get(name, UNCHECKED))
            for name, tag in versions.items()
        ]
        with self.registry.transaction():
            return self.registry.publisher.publish(changes, by, "because")

    def roll_back(self, *names: str, to: str | None = None, expected: Any = UNCHECKED) -> list[PublicationOutcome]:
        selector: Selector | None = parse_selector(to) if to else None
        with self.registry.transaction():
            changes = [PublicationRequest(self.id(name), selector, expected) for name in names]
            return self.registry.publisher.roll_back(changes, "bob", None)

    def resolve(self, name: str, pin: str = "published", partition: str = "", **more: Any) -> Resolution:
        return self.registry.resolver.resolve(VersionRequest(self.id(name), parse_selector(pin, **more), partition))

    def tag(self, name: str, pin: str = "published", partition: str = "", **more: Any) -> str:
        return self.resolve(name, pin, partition, **more).version.tag

    def pin(self, name: str, *, until: int, **versions: str) -> None:
        with self.registry.transaction():
            found = [(self.id(one), self.registry.versions.find(self.id(one), tag)) for one, tag in versions.items()]
            self.registry.pins.pin(name, found, until, "ann", None)

    def invalidate(self, name: str, tag: str, partition: str = "", reason: str = "bad") -> None:
        with self.registry.transaction():
            found = self.registry.versions.find(self.id(name), tag)
            self.registry.invalidations.invalidate(self.id(name), found, reason, "ann", partition)

    def lift(self, name: str, tag: str, partition: str = "") -> None:
        with self.registry.transaction():
            found = self.registry.versions.find(self.id(name), tag)
            self.registry.invalidations.revoke(self.id(name), found, "ann", partition)

    def history(self, name: str) -> list[str]:
        """Tell the moves of a dataset, the oldest first: how, and to which version."""
        moves = self.registry.publications.list_newest(self.id(name), 100)
        return [f"{move.kind} {move.tag}" for move in reversed(moves)]
