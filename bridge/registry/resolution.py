"""Finds the version of a dataset that is meant, and says how it was found, or why there is none to read."""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from bridge.registry.description import Descriptions, Metadata
from bridge.registry.history import History, Move
from bridge.registry.pins import Pins
from bridge.registry.selector import PUBLISHED, Kind, Selector
from bridge.registry.versions import WHOLE, Version, Versions
from bridge.store.database import Database
from bridge.store.edges import EVER
from mappers.errors import Conflict, UnknownName
from mappers.naming import is_live

By = Literal["published", "latest", "version", "pin"]

_NAMESPACES = """
SELECT DISTINCT n.namespace_uri FROM ol_dataset d
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE d.org_id = ?1 AND d.class_id = ?2
"""


class Resolved(NamedTuple):
    """The version that was meant, and how it was found."""

    dataset: bytes
    version: Version
    by: By
    #: The name of the pin, where it was found by one.
    pin: str | None = None
    #: The move that published it, where it was found so.
    move: Move | None = None
    #: Whether the dataset changes where it lies: the version tells what was written, and not what is there now.
    live: bool = False
    #: What is remembered of the dataset.
    metadata: Metadata = {}  # noqa: RUF012 - replaced, never changed


class Wanted(NamedTuple):
    """A dataset, given by its class, and which version of it is meant."""

    dataset: bytes
    selector: Selector = PUBLISHED
    partition: str = WHOLE


class Resolver:
    """Resolves datasets to versions."""

    def __init__(self, db: Database, org: str, clock: Callable[[], int]) -> None:
        self._db = db
        self._org = org
        self._clock = clock
        self._versions = Versions(db, org)
        self._history = History(db, org)
        self._pins = Pins(db, org, clock)
        self._descriptions = Descriptions(db, org, clock)

    def resolve(self, wanted: Wanted) -> Resolved:
        """Find one version; raises UnknownName when there is none, Conflict when it is not to be read.

        The latest passes over what is invalid, for nobody chose it. What was published or pinned somebody chose: that
        it is invalid, or that its run failed since, is told, and only somebody can choose another. A version that is
        asked for by its own name is given with what is said against it.
        """
        ways: dict[Kind, Callable[[Wanted], Resolved]] = {
            "published": self._published,
            "latest": self._latest,
            "version": self._version,
            "pin": self._pin,
            "named": self._named,
        }
        found = ways[wanted.selector.kind](wanted)
        remembered = self._descriptions.of(wanted.dataset)
        return found._replace(live=self.is_live(wanted.dataset), metadata=remembered)

    def resolve_all(self, wanted: Iterable[Wanted]) -> list[Resolved]:
        """Find several versions, all of one state of the store: a publication of many is seen whole or not at all."""
        with self._db.snapshot():
            return [self.resolve(one) for one in wanted]

    def is_live(self, dataset: bytes) -> bool:
        """Tell whether a dataset is a table that is changed in place, under any of its names."""
        return any(is_live(namespace) for (namespace,) in self._db.rows(_NAMESPACES, self._org, dataset))

    def _published(self, wanted: Wanted) -> Resolved:
        dataset, (_, _, when), partition = wanted
        until = EVER if when is None else when
        moves = self._history.standing(dataset, until) if partition else self._history.newest(dataset, 1, until=until)
        for move in reversed(moves):
            version = self._versions.get(dataset, move.version)
            if version is None:
                raise Conflict(f"the published version {move.tag!r} is no version of the dataset any more")
            if not partition or version.holds(partition):
                readable = _readable(version, partition, f"the published version {version.tag!r}")
                return Resolved(dataset, readable, "published", None, move)
        of = f"of the partition {partition!r} " if partition else ""
        raise UnknownName(f"no version {of}of the dataset is published{'' if when is None else ' at that time'}")

    def _latest(self, wanted: Wanted) -> Resolved:
        dataset, (_, _, until), partition = wanted
        held = [
            one
            for one in self._versions.newest(dataset, EVER if until is None else until)
            if not partition or one.holds(partition)
        ]
        found = next((one for one in held if one.fault(partition) is None), None)
        if found is not None:
            return Resolved(dataset, found, "latest")
        if held:
            raise Conflict(
                f"all {len(held)} versions are invalid, the latest {held[0].tag!r}: {held[0].fault(partition)}"
            )
        of = f"with the partition {partition!r} " if partition else ""
        raise UnknownName(f"no version {of}of the dataset in the store{'' if until is None else ' of that time'}")

    def _version(self, wanted: Wanted) -> Resolved:
        version = self._versions.find(wanted.dataset, wanted.selector.name)
        return Resolved(wanted.dataset, _holding(version, wanted.partition), "version")

    def _pin(self, wanted: Wanted) -> Resolved:
        dataset, (_, name, _), partition = wanted
        pin = self._pins.find(dataset, name)
        version = self._versions.get(dataset, pin.version)
        if version is None:
            raise Conflict(f"the pinned version {pin.tag!r} is no version of the dataset any more")
        readable = _readable(_holding(version, partition), partition, f"version {pin.tag!r}, which {name!r} pins,")
        return Resolved(dataset, readable, "pin", name)

    def _named(self, wanted: Wanted) -> Resolved:
        name = wanted.selector.name
        try:
            self._versions.find(wanted.dataset, name)
        except UnknownName as unknown:
            if all(pin.name != name for pin in self._pins.of(wanted.dataset)):
                said = f"no version {name!r} of the dataset in the store, and no pin of that name"
                raise UnknownName(said) from unknown
            return self._pin(wanted)
        return self._version(wanted)


def _holding(version: Version, partition: str) -> Version:
    if partition and not version.holds(partition):
        raise UnknownName(f"no partition {partition!r} in version {version.tag!r}")
    return version


def _readable(version: Version, partition: str, what: str) -> Version:
    fault = version.fault(partition)
    if fault is not None:
        raise Conflict(f"{what} is not to be read: {fault}")
    return version
