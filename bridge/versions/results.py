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
    """The version of a dataset that was meant, how it was found, and where it lies."""

    dataset: NodeReference
    #: How it was found: what is published, the latest, by the version's own name, or by a pin.
    by: ResolvedBy
    pin: str | None
    id: str
    tag: str
    idempotency_key: str | None
    #: Where it lies; null where nobody says it.
    path: str | None
    schema_hash: str | None
    run_id: str | None
    produced_at: str
    rows: int | None
    bytes: int | None
    files: int | None
    checksum: str | None
    #: The partitions that it is of; null: of the whole dataset.
    partitions: list[str] | None
    #: Why it is not to be read, if somebody says so; and which of its partitions are not.
    invalid: str | None
    invalid_partitions: dict[str, str]
    #: Whether the dataset is a table that changes where it lies: nothing promises that this version is what is there.
    live: bool
    #: The publication that it is read of, if it is.
    publication: int | None
    published_at: str | None
    published_by: str | None
    metadata: dict[str, Any]
    dataset_metadata: dict[str, Any]


class Publication(msgspec.Struct, frozen=True):
    """A move of what is published of a dataset; those of one publication have its number in common."""

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
    """What is published of a dataset now, and what was before; not moved where it was so already."""

    dataset: NodeReference
    version: str
    version_id: str
    before: str | None
    moved: bool
    #: Whether it is a table that changes where it lies: what was decided is written down, and nothing is cut over.
    live: bool


class PinnedVersion(msgspec.Struct, frozen=True):
    """A version that is kept under a name until a time."""

    name: str
    dataset: NodeReference
    version: str
    version_id: str
    by: str
    at: str
    until: str
    why: str | None


class VersionValidity(msgspec.Struct, frozen=True):
    """What was said of a version, or of a partition of it; no reason: it is valid."""

    dataset: NodeReference
    version: str
    version_id: str
    partition: str | None
    reason: str | None
    by: str
    at: str
    #: Whether it is published, and so refused from now on to who asks for what is.
    published: bool


class DefinitionVersion(msgspec.Struct, frozen=True):
    """What a process or DAG is defined as, or was."""

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


def resolved_version(graph: LineageGraph, found: Resolution) -> ResolvedVersion:
    """Give a version that was found."""
    version, move = found.version, found.entry
    return ResolvedVersion(
        dataset=node_reference(found.dataset, graph.dataset_name(found.dataset)),
        by=found.resolved_by,
        pin=found.pin,
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
        invalid_partitions={part: why for part, why in version.invalid.items() if part != WHOLE_VERSION},
        live=found.is_mutable,
        publication=move.publication if move else None,
        published_at=iso_or_none(move.published_at if move else None),
        published_by=move.published_by if move else None,
        metadata=decode_metadata(version.metadata),
        dataset_metadata=found.metadata,
    )


def publication(move: PublicationEntry, before: str | None) -> Publication:
    """Give a move of a dataset."""
    return Publication(
        move.publication,
        move.number,
        move.kind,
        before,
        move.tag,
        format_id(move.version),
        format_timestamp(move.published_at),
        move.published_by,
        move.reason,
    )


def published_dataset(named: QualifiedName, done: PublicationOutcome, *, live: bool) -> PublishedDataset:
    """Give what became of a dataset that was to be published."""
    before, version = done.previous, done.version
    moved = before is None or done.entry.number != before.number
    of = node_reference(done.dataset, named)
    return PublishedDataset(of, version.tag, format_id(version.id), before.tag if before else None, moved, live)


def pinned_version(named: QualifiedName, pin: Pin) -> PinnedVersion:
    """Give a pin."""
    of = node_reference(pin.dataset, named)
    return PinnedVersion(
        pin.name,
        of,
        pin.tag,
        format_id(pin.version),
        pin.pinned_by,
        format_timestamp(pin.pinned_at),
        format_timestamp(pin.expires_at),
        pin.reason,
    )


def version_validity(named: QualifiedName, marked: InvalidationOutcome, *, published: bool) -> VersionValidity:
    """Give what was said of a version."""
    version: Version = marked.version
    of, partition = node_reference(marked.dataset, named), marked.partition or None
    return VersionValidity(
        of,
        version.tag,
        format_id(version.id),
        partition,
        marked.reason,
        marked.by,
        format_timestamp(marked.at),
        published,
    )


def definition_version(one: RegisteredDefinition) -> DefinitionVersion:
    """Give a definition."""
    return DefinitionVersion(
        format_id(one.process), one.kind, one.namespace, one.name, one.number, one.version, one.content_hash.hex(),
        format_timestamp(one.registered_at), one.registered_by, one.is_active, msgspec.Raw(one.definition.encode()),
    )  # fmt: skip
