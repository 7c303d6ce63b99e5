"""References to datasets, jobs and columns in results."""

from typing import Annotated
from uuid import UUID

import msgspec

from bridge.errors import InvalidParameter
from bridge.store.lineage.graph import QualifiedName
from mappers.timestamps import format_timestamp

Id = Annotated[str, msgspec.Meta(description="A UUID from a response.", min_length=1, max_length=64)]


class NodeReference(msgspec.Struct, frozen=True):
    """A dataset or job."""

    id: str
    namespace: str
    name: str


class ColumnReference(NodeReference, frozen=True):
    """A column of a dataset; a null column stands for the whole dataset."""

    column: str | None


def parse_id(text: str) -> bytes:
    """Parse a UUID. Raises InvalidParameter if the string is not a UUID."""
    try:
        return UUID(text).bytes
    except ValueError as error:
        raise InvalidParameter(f"{text[:64]!r} is not a UUID", "id") from error


def format_id(id_: bytes) -> str:
    return str(UUID(bytes=bytes(id_)))


def node_reference(id_: bytes, name: QualifiedName) -> NodeReference:
    return NodeReference(format_id(id_), name.namespace, name.name)


def iso_or_none(micros: int | None) -> str | None:
    return None if micros is None else format_timestamp(micros)
