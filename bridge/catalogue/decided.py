"""What was decided of versions, as answers tell it: found, published, pinned, invalid."""

from typing import Any

import msgspec

from bridge.catalogue.things import Thing, iso_or_none, thing, write_id
from bridge.registry.definitions import Definition
from bridge.registry.description import read
from bridge.registry.history import How, Move
from bridge.registry.invalidation import Marked
from bridge.registry.pins import Pin
from bridge.registry.publishing import Published
from bridge.registry.resolution import By, Resolved
from bridge.registry.versions import WHOLE, Version
from bridge.store.graph import Graph, Named
from mappers.when import iso


class ResolvedVersion(msgspec.Struct, frozen=True):
    """The version of a dataset that was meant, how it was found, and where it lies."""

    dataset: Thing
    #: How it was found: what is published, the latest, by the version's own name, or by a pin.
    by: By
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
    how: How
    from_version: str | None
    to_version: str
    version_id: str
    at: str
    by: str
    why: str | None


class MovedDataset(msgspec.Struct, frozen=True):
    """What is published of a dataset now, and what was before; not moved where it was so already."""

    dataset: Thing
    version: str
    version_id: str
    before: str | None
    moved: bool
    #: Whether it is a table that changes where it lies: what was decided is written down, and nothing is cut over.
    live: bool


class PinnedVersion(msgspec.Struct, frozen=True):
    """A version that is kept under a name until a time."""

    name: str
    dataset: Thing
    version: str
    version_id: str
    by: str
    at: str
    until: str
    why: str | None


class Judgement(msgspec.Struct, frozen=True):
    """What was said of a version, or of a partition of it; no reason: it is valid."""

    dataset: Thing
    version: str
    version_id: str
    partition: str | None
    reason: str | None
    by: str
    at: str
    #: Whether it is published, and so refused from now on to who asks for what is.
    published: bool


class DefinedVersion(msgspec.Struct, frozen=True):
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


def tell_resolved(graph: Graph, found: Resolved) -> ResolvedVersion:
    """Give a version that was found."""
    version, move = found.version, found.move
    return ResolvedVersion(
        dataset=thing(found.dataset, graph.dataset(found.dataset)),
        by=found.by,
        pin=found.pin,
        id=write_id(version.id),
        tag=version.tag,
        idempotency_key=version.key,
        path=version.path,
        schema_hash=version.schema_hash.hex() if version.schema_hash else None,
        run_id=version.run_uuid,
        produced_at=iso(version.produced_at),
        rows=version.row_count,
        bytes=version.byte_count,
        files=version.file_count,
        checksum=version.checksum,
        partitions=None if version.partitions is None else list(version.partitions),
        invalid=version.invalid.get(WHOLE),
        invalid_partitions={part: why for part, why in version.invalid.items() if part != WHOLE},
        live=found.live,
        publication=move.began if move else None,
        published_at=iso_or_none(move.at if move else None),
        published_by=move.by if move else None,
        metadata=read(version.metadata),
        dataset_metadata=found.metadata,
    )


def tell_move(move: Move, before: str | None) -> Publication:
    """Give a move of a dataset."""
    return Publication(
        move.began,
        move.number,
        move.how,
        before,
        move.tag,
        write_id(move.version),
        iso(move.at),
        move.by,
        move.reason,
    )


def tell_published(named: Named, done: Published, *, live: bool) -> MovedDataset:
    """Give what became of a dataset that was to be published."""
    before, version = done.before, done.version
    moved = before is None or done.move.number != before.number
    of = thing(done.dataset, named)
    return MovedDataset(of, version.tag, write_id(version.id), before.tag if before else None, moved, live)


def tell_pin(named: Named, pin: Pin) -> PinnedVersion:
    """Give a pin."""
    of = thing(pin.dataset, named)
    return PinnedVersion(
        pin.name, of, pin.tag, write_id(pin.version), pin.by, iso(pin.at), iso(pin.until), pin.reason
    )


def tell_marked(named: Named, marked: Marked, *, published: bool) -> Judgement:
    """Give what was said of a version."""
    version: Version = marked.version
    of, partition = thing(marked.dataset, named), marked.partition or None
    return Judgement(
        of, version.tag, write_id(version.id), partition, marked.reason, marked.by, iso(marked.at), published
    )


def tell_definition(one: Definition) -> DefinedVersion:
    """Give a definition."""
    return DefinedVersion(
        write_id(one.process), one.kind, one.namespace, one.name, one.number, one.version, one.hash.hex(),
        iso(one.at), one.by, one.active, msgspec.Raw(one.definition.encode()),
    )  # fmt: skip
