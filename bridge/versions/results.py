"""Results of version queries and commands."""

from typing import Any

import msgspec

from bridge.store.lineage.graph import LineageGraph, QualifiedName
from bridge.store.references import NodeReference, format_id, iso_or_none, node_reference
from bridge.versions.definitions import RegisteredDefinition
from bridge.versions.invalidation import InvalidationOutcome
from bridge.versions.metadata import decode_metadata
from bridge.versions.pins import Pin
from bridge.versions.publication import PublicationEntry, PublicationKind
from bridge.versions.publisher import PublicationOutcome
from bridge.versions.reader import WHOLE_VERSION, Version
from bridge.versions.resolver import Resolution, ResolvedBy
from mappers.timestamps import format_timestamp


class ResolvedVersion(msgspec.Struct, frozen=True):
    """The version that a selector resolved to, how it was resolved, and its location."""

    dataset: NodeReference
    #: How the version was resolved: as the published or the latest version, by its own name, or by a pin.
    by: ResolvedBy
    pin: str | None
    id: str
    tag: str
    idempotency_key: str | None
    #: Location of the version; null if the location is unknown.
    path: str | None
    schema_hash: str | None
    run_id: str | None
    produced_at: str
    rows: int | None
    bytes: int | None
    files: int | None
    checksum: str | None
    #: The partitions that the version contains; null for the whole dataset.
    partitions: list[str] | None
    #: The reason if the version is invalid, and the reasons of its invalid partitions.
    invalid: str | None
    invalid_partitions: dict[str, str]
    #: True for a table that is updated in place: its current content may differ from this version.
    live: bool
    #: The publication that the version was resolved from, if any.
    publication: int | None
    published_at: str | None
    published_by: str | None
    metadata: dict[str, Any]
    dataset_metadata: dict[str, Any]


class Publication(msgspec.Struct, frozen=True):
    """A change to the published version of one dataset; `publication` is the same for changes published together."""

    publication: int
    number: int
    how: PublicationKind
    from_version: str | None
    to_version: str
    version_id: str
    at: str
    by: str
    why: str | None


class PublishedDataset(msgspec.Struct, frozen=True):
    """The published version of a dataset, and the version before; `moved` is false if nothing changed."""

    dataset: NodeReference
    version: str
    version_id: str
    before: str | None
    moved: bool
    #: True for a table that is updated in place: the decision is recorded, but its content does not change.
    live: bool


class PinnedVersion(msgspec.Struct, frozen=True):
    """A version that a named pin retains until it expires."""

    name: str
    dataset: NodeReference
    version: str
    version_id: str
    by: str
    at: str
    until: str
    why: str | None


class VersionValidity(msgspec.Struct, frozen=True):
    """The validity of a version, or of one of its partitions; `reason` is null if it is valid."""

    dataset: NodeReference
    version: str
    version_id: str
    partition: str | None
    reason: str | None
    by: str
    at: str
    #: Whether the version is published. While a published version is invalid, resolving the dataset fails.
    published: bool


class DefinitionVersion(msgspec.Struct, frozen=True):
    """A definition of a process or DAG."""

    id: str
    kind: str
    namespace: str
    name: str
    number: int
    version: str
    content_hash: str
    registered_at: str
    registered_by: str
    active: bool
    definition: msgspec.Raw


def resolved_version(graph: LineageGraph, resolution: Resolution) -> ResolvedVersion:
    version, entry = resolution.version, resolution.entry
    return ResolvedVersion(
        dataset=node_reference(resolution.group_id, graph.dataset_name(resolution.group_id)),
        by=resolution.resolved_by,
        pin=resolution.pin,
        id=format_id(version.id),
        tag=version.tag,
        idempotency_key=version.key,
        path=version.path,
        schema_hash=version.schema_hash.hex() if version.schema_hash else None,
        run_id=version.run_uuid,
        produced_at=format_timestamp(version.produced_at),
        rows=version.row_count,
        bytes=version.byte_count,
        files=version.file_count,
        checksum=version.checksum,
        partitions=None if version.partitions is None else list(version.partitions),
        invalid=version.invalid.get(WHOLE_VERSION),
        invalid_partitions={
            partition: reason for partition, reason in version.invalid.items() if partition != WHOLE_VERSION
        },
        live=resolution.is_mutable,
        publication=entry.publication if entry else None,
        published_at=iso_or_none(entry.published_at if entry else None),
        published_by=entry.published_by if entry else None,
        metadata=decode_metadata(version.metadata),
        dataset_metadata=resolution.metadata,
    )


def publication(entry: PublicationEntry, previous_tag: str | None) -> Publication:
    return Publication(
        entry.publication,
        entry.number,
        entry.kind,
        previous_tag,
        entry.tag,
        format_id(entry.version_id),
        format_timestamp(entry.published_at),
        entry.published_by,
        entry.reason,
    )


def published_dataset(name: QualifiedName, outcome: PublicationOutcome, *, live: bool) -> PublishedDataset:
    previous, version = outcome.previous, outcome.version
    moved = previous is None or outcome.entry.number != previous.number
    reference = node_reference(outcome.group_id, name)
    return PublishedDataset(
        reference, version.tag, format_id(version.id), previous.tag if previous else None, moved, live
    )


def pinned_version(name: QualifiedName, pin: Pin) -> PinnedVersion:
    reference = node_reference(pin.group_id, name)
    return PinnedVersion(
        pin.name,
        reference,
        pin.tag,
        format_id(pin.version_id),
        pin.pinned_by,
        format_timestamp(pin.pinned_at),
        format_timestamp(pin.expires_at),
        pin.reason,
    )


def version_validity(name: QualifiedName, outcome: InvalidationOutcome, *, published: bool) -> VersionValidity:
    version: Version = outcome.version
    reference = node_reference(outcome.group_id, name)
    partition = outcome.partition or None
    return VersionValidity(
        reference,
        version.tag,
        format_id(version.id),
        partition,
        outcome.reason,
        outcome.decided_by,
        format_timestamp(outcome.decided_at),
        published,
    )


def definition_version(definition: RegisteredDefinition) -> DefinitionVersion:
    return DefinitionVersion(
        format_id(definition.process),
        definition.kind,
        definition.namespace,
        definition.name,
        definition.number,
        definition.version,
        definition.content_hash.hex(),
        format_timestamp(definition.registered_at),
        definition.registered_by,
        definition.is_active,
        msgspec.Raw(definition.definition.encode()),
    )
