"""Resolves a selector to a readable version, or reports why it cannot."""

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
from mappers.counts import count_of
from mappers.naming import updates_in_place

ResolvedBy = Literal["published", "latest", "version", "pin"]

_NAMESPACES = """
SELECT DISTINCT n.namespace_uri FROM ol_dataset d
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE d.org_id = ?1 AND d.class_id = ?2
"""


class Resolution(NamedTuple):
    """The version that a request resolves to, and how it was resolved."""

    group_id: bytes
    version: Version
    resolved_by: ResolvedBy
    #: Name of the pin, if the version was resolved by a pin.
    pin: str | None = None
    #: The entry that published the version, if it was resolved as the published version.
    entry: PublicationEntry | None = None
    #: True for a table that is updated in place: the version is what was written, not the current content.
    is_mutable: bool = False
    #: Metadata of the dataset.
    metadata: Metadata = {}  # noqa: RUF012 - replaced, never changed


class VersionRequest(NamedTuple):
    """A dataset (group id), and which of its versions to resolve."""

    group_id: bytes
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
        self._metadata = MetadataStore(db, org, clock)

    def resolve(self, request: VersionRequest) -> Resolution:
        """Resolve one version. Raises NotFound if no version matches, and StateConflict if it must not be read.

        `latest` skips invalid versions. A published or pinned version was chosen deliberately: if it is invalid, or
        if its run has failed since, resolution fails rather than choosing another one. A version that is requested by
        its own name is returned even if it is invalid, together with the reasons.
        """
        resolvers: dict[SelectorKind, Callable[[VersionRequest], Resolution]] = {
            "published": self._resolve_published,
            "latest": self._resolve_latest,
            "version": self._resolve_version,
            "pin": self._resolve_pin,
            "named": self._resolve_version_or_pin,
        }
        resolution = resolvers[request.selector.kind](request)
        metadata = self._metadata.get(request.group_id)
        return resolution._replace(is_mutable=self.is_live(request.group_id), metadata=metadata)

    def resolve_all(self, requests: Iterable[VersionRequest]) -> list[Resolution]:
        """Resolve several versions from one snapshot. Each publication is seen completely or not at all."""
        with self._db.snapshot():
            return [self.resolve(request) for request in requests]

    def is_live(self, group_id: bytes) -> bool:
        """Return True if the dataset is a table that is updated in place, under any of its names."""
        return any(
            updates_in_place(namespace) for (namespace,) in self._db.fetch_all(_NAMESPACES, self._org, group_id)
        )

    def _resolve_published(self, request: VersionRequest) -> Resolution:
        group_id, partition, as_of = request.group_id, request.partition, request.selector.as_of
        until = NO_TIME_LIMIT if as_of is None else as_of
        if partition:
            entries = self._history.list_layers(group_id, until)
        else:
            entries = self._history.list_newest(group_id, 1, until=until)
        for entry in reversed(entries):
            version = self._versions.get(group_id, entry.version_id)
            if version is None:
                raise StateConflict(f"the published version {entry.tag!r} is no longer a version of the dataset")
            if not partition or version.has_partition(partition):
                readable_version = _require_readable(version, partition, f"the published version {version.tag!r}")
                return Resolution(group_id, readable_version, "published", None, entry)
        scope = f"of the partition {partition!r} " if partition else ""
        time_suffix = "" if as_of is None else " at that time"
        raise NotFound(f"no version {scope}of the dataset is published{time_suffix}")

    def _resolve_latest(self, request: VersionRequest) -> Resolution:
        group_id, partition, as_of = request.group_id, request.partition, request.selector.as_of
        candidates = [
            version
            for version in self._versions.list_newest(group_id, NO_TIME_LIMIT if as_of is None else as_of)
            if not partition or version.has_partition(partition)
        ]
        latest = next((version for version in candidates if version.unreadable_reason(partition) is None), None)
        if latest is not None:
            return Resolution(group_id, latest, "latest")
        if candidates:
            newest, *_ = candidates
            raise StateConflict(
                f"none of {count_of(len(candidates), 'version')} is valid, the latest is {newest.tag!r}: "
                f"{newest.unreadable_reason(partition)}"
            )
        scope = f"with the partition {partition!r} " if partition else ""
        time_suffix = "" if as_of is None else " at that time"
        raise NotFound(f"no version {scope}of the dataset in the store{time_suffix}")

    def _resolve_version(self, request: VersionRequest) -> Resolution:
        version = self._versions.find(request.group_id, request.selector.name)
        return Resolution(request.group_id, _require_partition(version, request.partition), "version")

    def _resolve_pin(self, request: VersionRequest) -> Resolution:
        group_id, partition, name = request.group_id, request.partition, request.selector.name
        pin = self._pins.find(group_id, name)
        version = self._versions.get(group_id, pin.version_id)
        if version is None:
            raise StateConflict(f"the pinned version {pin.tag!r} is no longer a version of the dataset")
        readable_version = _require_readable(
            _require_partition(version, partition), partition, f"version {pin.tag!r}, which {name!r} pins,"
        )
        return Resolution(group_id, readable_version, "pin", name)

    def _resolve_version_or_pin(self, request: VersionRequest) -> Resolution:
        name = request.selector.name
        try:
            self._versions.find(request.group_id, name)
        except NotFound as error:
            if all(pin.name != name for pin in self._pins.list_for_dataset(request.group_id)):
                message = f"no version {name!r} of the dataset in the store, and no pin of that name"
                raise NotFound(message) from error
            return self._resolve_pin(request)
        return self._resolve_version(request)


def _require_partition(version: Version, partition: str) -> Version:
    if partition and not version.has_partition(partition):
        raise NotFound(f"no partition {partition!r} in version {version.tag!r}")
    return version


def _require_readable(version: Version, partition: str, label: str) -> Version:
    reason = version.unreadable_reason(partition)
    if reason is not None:
        raise StateConflict(f"{label} must not be read: {reason}")
    return version
