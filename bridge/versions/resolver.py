"""Resolves a selector to a readable version, or reports why there is none."""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from bridge.errors import NotFound, StateConflict
from bridge.store.database import Database
from bridge.store.lineage.evidence import NO_TIME_LIMIT
from bridge.versions.metadata import Metadata, MetadataStore
from bridge.versions.pins import PinStore
from bridge.versions.publication import PublicationEntry, PublicationHistory
from bridge.versions.reader import WHOLE_VERSION, Version, VersionReader
from bridge.versions.selector import PUBLISHED, Selector, SelectorKind
from mappers.naming import updates_in_place

ResolvedBy = Literal["published", "latest", "version", "pin"]

_NAMESPACES = """
SELECT DISTINCT n.namespace_uri FROM ol_dataset d
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE d.org_id = ?1 AND d.class_id = ?2
"""


class Resolution(NamedTuple):
    """The version that was meant, and how it was found."""

    dataset: bytes
    version: Version
    resolved_by: ResolvedBy
    #: The name of the pin, where it was found by one.
    pin: str | None = None
    #: The move that published it, where it was found so.
    entry: PublicationEntry | None = None
    #: Whether the dataset changes where it lies: the version tells what was written, and not what is there now.
    is_mutable: bool = False
    #: What is remembered of the dataset.
    metadata: Metadata = {}  # noqa: RUF012 - replaced, never changed


class VersionRequest(NamedTuple):
    """A dataset, given by its class, and which version of it is meant."""

    dataset: bytes
    selector: Selector = PUBLISHED
    partition: str = WHOLE_VERSION


class VersionResolver:
    """Resolves datasets to versions."""

    def __init__(self, db: Database, org: str, clock: Callable[[], int]) -> None:
        self._db = db
        self._org = org
        self._clock = clock
        self._versions = VersionReader(db, org)
        self._history = PublicationHistory(db, org)
        self._pins = PinStore(db, org, clock)
        self._descriptions = MetadataStore(db, org, clock)

    def resolve(self, wanted: VersionRequest) -> Resolution:
        """Find one version; raises UnknownName when there is none, Conflict when it is not to be read.

        The latest passes over what is invalid, for nobody chose it. What was published or pinned somebody chose: that
        it is invalid, or that its run failed since, is told, and only somebody can choose another. A version that is
        asked for by its own name is given with what is said against it.
        """
        ways: dict[SelectorKind, Callable[[VersionRequest], Resolution]] = {
            "published": self._published,
            "latest": self._latest,
            "version": self._version,
            "pin": self._pin,
            "named": self._version_or_pin,
        }
        found = ways[wanted.selector.kind](wanted)
        remembered = self._descriptions.get(wanted.dataset)
        return found._replace(is_mutable=self.is_live(wanted.dataset), metadata=remembered)

    def resolve_all(self, wanted: Iterable[VersionRequest]) -> list[Resolution]:
        """Find several versions, all of one state of the store: a publication of many is seen whole or not at all."""
        with self._db.snapshot():
            return [self.resolve(one) for one in wanted]

    def is_live(self, dataset: bytes) -> bool:
        """Tell whether a dataset is a table that is changed in place, under any of its names."""
        return any(
            updates_in_place(namespace) for (namespace,) in self._db.fetch_all(_NAMESPACES, self._org, dataset)
        )

    def _published(self, wanted: VersionRequest) -> Resolution:
        dataset, (_, _, when), partition = wanted
        until = NO_TIME_LIMIT if when is None else when
        moves = (
            self._history.layers(dataset, until) if partition else self._history.list_newest(dataset, 1, until=until)
        )
        for move in reversed(moves):
            version = self._versions.get(dataset, move.version)
            if version is None:
                raise StateConflict(f"the published version {move.tag!r} is no version of the dataset any more")
            if not partition or version.has_partition(partition):
                readable = _require_readable(version, partition, f"the published version {version.tag!r}")
                return Resolution(dataset, readable, "published", None, move)
        of = f"of the partition {partition!r} " if partition else ""
        raise NotFound(f"no version {of}of the dataset is published{'' if when is None else ' at that time'}")

    def _latest(self, wanted: VersionRequest) -> Resolution:
        dataset, (_, _, until), partition = wanted
        held = [
            one
            for one in self._versions.list_newest(dataset, NO_TIME_LIMIT if until is None else until)
            if not partition or one.has_partition(partition)
        ]
        found = next((one for one in held if one.unreadable_reason(partition) is None), None)
        if found is not None:
            return Resolution(dataset, found, "latest")
        if held:
            raise StateConflict(
                f"all {len(held)} versions are invalid, the latest {held[0].tag!r}: "
                f"{held[0].unreadable_reason(partition)}"
            )
        of = f"with the partition {partition!r} " if partition else ""
        raise NotFound(f"no version {of}of the dataset in the store{'' if until is None else ' of that time'}")

    def _version(self, wanted: VersionRequest) -> Resolution:
        version = self._versions.find(wanted.dataset, wanted.selector.name)
        return Resolution(wanted.dataset, _require_partition(version, wanted.partition), "version")

    def _pin(self, wanted: VersionRequest) -> Resolution:
        dataset, (_, name, _), partition = wanted
        pin = self._pins.find(dataset, name)
        version = self._versions.get(dataset, pin.version)
        if version is None:
            raise StateConflict(f"the pinned version {pin.tag!r} is no version of the dataset any more")
        readable = _require_readable(
            _require_partition(version, partition), partition, f"version {pin.tag!r}, which {name!r} pins,"
        )
        return Resolution(dataset, readable, "pin", name)

    def _version_or_pin(self, wanted: VersionRequest) -> Resolution:
        name = wanted.selector.name
        try:
            self._versions.find(wanted.dataset, name)
        except NotFound as unknown:
            if all(pin.name != name for pin in self._pins.list_for_dataset(wanted.dataset)):
                said = f"no version {name!r} of the dataset in the store, and no pin of that name"
                raise NotFound(said) from unknown
            return self._pin(wanted)
        return self._version(wanted)


def _require_partition(version: Version, partition: str) -> Version:
    if partition and not version.has_partition(partition):
        raise NotFound(f"no partition {partition!r} in version {version.tag!r}")
    return version


def _require_readable(version: Version, partition: str, what: str) -> Version:
    fault = version.unreadable_reason(partition)
    if fault is not None:
        raise StateConflict(f"{what} is not to be read: {fault}")
    return version
