"""Encodes column values as PostgreSQL binary arrays for bulk statements."""

import struct
from collections.abc import Sequence
from struct import Struct, pack
from typing import Any, NamedTuple

from psycopg.adapt import Dumper
from psycopg.pq import Format

from bridge.errors import UnstorableRow

_HEAD = Struct(">iiIii")
_LENGTH = Struct(">i")
_NULL = _LENGTH.pack(-1)
_ID_BYTES = 16
_ID = _LENGTH.pack(_ID_BYTES)
_TRUE, _FALSE = _LENGTH.pack(1) + b"\x01", _LENGTH.pack(1) + b"\x00"


class _ArrayType(NamedTuple):
    """The names of a type's elements and arrays in the server's catalogue."""

    element: int
    array: int


_KINDS: dict[type, _ArrayType] = {
    bytes: _ArrayType(17, 1001),
    str: _ArrayType(25, 1009),
    int: _ArrayType(20, 1016),
    bool: _ArrayType(16, 1000),
}


class PackedArray:
    """An array ready to be sent."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class ByteaArray(PackedArray):
    """An array of bytea."""


class TextArray(PackedArray):
    """An array of text."""


class BigintArray(PackedArray):
    """An array of bigint."""


class BooleanArray(PackedArray):
    """An array of boolean."""


_CLASSES: dict[type, type[PackedArray]] = {bytes: ByteaArray, str: TextArray, int: BigintArray, bool: BooleanArray}


def encode_array(kind: type, values: Sequence[Any]) -> PackedArray:
    """Pack values of one type, among them None; raises RefusedRow for one that the type does not hold."""
    try:
        elements = b"".join(_PACKERS[kind](values))
    except (struct.error, UnicodeEncodeError) as error:
        raise UnstorableRow(f"{error}") from error
    head = _HEAD.pack(1, 1, _KINDS[kind].element, len(values), 1)
    return _CLASSES[kind](head + elements)


def _sized(value: bytes) -> bytes:
    return (_ID if len(value) == _ID_BYTES else _LENGTH.pack(len(value))) + value


def _pack_bytes(values: Sequence[bytes | None]) -> list[bytes]:
    return [_NULL if value is None else _sized(value) for value in values]


def _pack_texts(values: Sequence[str | None]) -> list[bytes]:
    return [_NULL if value is None else _sized(value.encode()) for value in values]


def _pack_integers(values: Sequence[int | None]) -> list[bytes]:
    return [_NULL if value is None else pack(">iq", 8, value) for value in values]


def _pack_booleans(values: Sequence[bool | None]) -> list[bytes]:
    return [_NULL if value is None else _TRUE if value else _FALSE for value in values]


_PACKERS: dict[type, Any] = {bytes: _pack_bytes, str: _pack_texts, int: _pack_integers, bool: _pack_booleans}


def array_dumpers() -> dict[type[PackedArray], type[Dumper]]:
    """Make for each class of arrays what tells the driver that it is packed already."""
    return {made: _dumper(_KINDS[kind].array) for kind, made in _CLASSES.items()}


def _dumper(array: int) -> type[Dumper]:
    class PackedDumper(Dumper):
        oid = array
        format = Format.BINARY

        def dump(self, obj: PackedArray) -> bytes:
            return obj.data

    return PackedDumper
