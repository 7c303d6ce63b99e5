"""Datasets, jobs and columns as results refer to them."""

from typing import Annotated
from uuid import UUID

import msgspec

from bridge.errors import InvalidParameter
from bridge.store.lineage.graph import QualifiedName
from mappers.timestamps import format_timestamp

Id = Annotated[str, msgspec.Meta(description="A UUID, as answers give it.", min_length=1, max_length=64)]


class NodeReference(msgspec.Struct, frozen=True):
    """A dataset or job."""

    id: str
    namespace: str
    name: str


class ColumnReference(NodeReference, frozen=True):
    """A column of a dataset; null means the whole dataset."""

    column: str | None


def parse_id(text: str) -> bytes:
    """Read an id; raises BadQuestion when it is none."""
    try:
        return UUID(text).bytes
    except ValueError as error:
        raise InvalidParameter(f"{text[:64]!r} is no UUID", "id") from error


def format_id(id_: bytes) -> str:
    """Write an id as a UUID."""
    return str(UUID(bytes=bytes(id_)))


def node_reference(id_: bytes, named: QualifiedName) -> NodeReference:
    """Give a dataset or job by its id and names."""
    return NodeReference(format_id(id_), named.namespace, named.name)


def iso_or_none(micros: int | None) -> str | None:
    """Write a time, if there is one."""
    return None if micros is None else format_timestamp(micros)
