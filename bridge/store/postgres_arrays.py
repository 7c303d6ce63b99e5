"""Encodes column values as PostgreSQL binary arrays for bulk statements."""

import struct
from collections.abc import Sequence
from struct import Struct, pack
from typing import Any, NamedTuple

from psycopg.adapt import Dumper
from psycopg.pq import Format

from bridge.errors import UnstorableRow

_HEADER = Struct(">iiIii")
_LENGTH = Struct(">i")
_NULL = _LENGTH.pack(-1)
_ID_BYTES = 16
_ID_LENGTH = _LENGTH.pack(_ID_BYTES)
_BOOLEANS = {None: _NULL, True: _LENGTH.pack(1) + b"\x01", False: _LENGTH.pack(1) + b"\x00"}


class _ArrayType(NamedTuple):
    """The OIDs of an element type and of its array type."""

    element: int
    array: int


_ARRAY_TYPES: dict[type, _ArrayType] = {
    bytes: _ArrayType(17, 1001),
    str: _ArrayType(25, 1009),
    int: _ArrayType(20, 1016),
    bool: _ArrayType(16, 1000),
}


class PackedArray:
    """A PostgreSQL array in binary format."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class ByteaArray(PackedArray):
    """PostgreSQL array of bytea values."""


class TextArray(PackedArray):
    """PostgreSQL array of text values."""


class BigintArray(PackedArray):
    """PostgreSQL array of bigints."""


class BooleanArray(PackedArray):
    """PostgreSQL array of booleans."""


_ARRAY_CLASSES: dict[type, type[PackedArray]] = {
    bytes: ByteaArray,
    str: TextArray,
    int: BigintArray,
    bool: BooleanArray,
}


def encode_array(element_type: type, values: Sequence[Any]) -> PackedArray:
    """Encode values of one type, nulls included. Raises UnstorableRow for a value that the type cannot hold."""
    try:
        elements = b"".join(_ENCODERS[element_type](values))
    except (struct.error, UnicodeEncodeError) as error:
        raise UnstorableRow(f"{error}") from error
    header = _HEADER.pack(1, 1, _ARRAY_TYPES[element_type].element, len(values), 1)
    return _ARRAY_CLASSES[element_type](header + elements)


def _with_length(value: bytes) -> bytes:
    """Prefix a value with its length. Most values are ids, whose length is packed only once."""
    length = _ID_LENGTH if len(value) == _ID_BYTES else _LENGTH.pack(len(value))
    return length + value


def _encode_bytes(values: Sequence[bytes | None]) -> list[bytes]:
    return [_NULL if value is None else _with_length(value) for value in values]


def _encode_strings(values: Sequence[str | None]) -> list[bytes]:
    return [_NULL if value is None else _with_length(value.encode()) for value in values]


def _encode_integers(values: Sequence[int | None]) -> list[bytes]:
    return [_NULL if value is None else pack(">iq", 8, value) for value in values]


def _encode_booleans(values: Sequence[bool | None]) -> list[bytes]:
    return [_BOOLEANS[value] for value in values]


_ENCODERS: dict[type, Any] = {
    bytes: _encode_bytes,
    str: _encode_strings,
    int: _encode_integers,
    bool: _encode_booleans,
}


def array_dumpers() -> dict[type[PackedArray], type[Dumper]]:
    """Return the psycopg dumper of each array class. The values of the arrays are already encoded."""
    return {
        array_class: _make_dumper(_ARRAY_TYPES[element_type].array)
        for element_type, array_class in _ARRAY_CLASSES.items()
    }


def _make_dumper(array_oid: int) -> type[Dumper]:
    """Create a dumper that passes encoded arrays on as arrays of this type."""

    class PackedDumper(Dumper):
        oid = array_oid
        format = Format.BINARY

        def dump(self, obj: PackedArray) -> bytes:
            return obj.data

    return PackedDumper
