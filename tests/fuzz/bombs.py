"""Small bodies that want to become large ones."""

import gzip
import struct
import zlib

_MEGABYTE = 1 << 20
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


def gzip_bomb(megabytes: int, around: tuple[bytes, bytes] = (b"", b"")) -> bytes:
    """Pack so many megabytes of spaces, in a time that does not depend on how many, between two texts."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    before = packer.compress(around[0]) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b" " * _MEGABYTE) + packer.flush(zlib.Z_FULL_FLUSH)
    after = packer.compress(around[1]) + packer.flush()
    return _HEADER + before + block * megabytes + after + bytes(8)


def with_extra_field(packed: bytes, size: int) -> bytes:
    """Give gzip a header with an extra field of this size."""
    return packed[:3] + b"\x04" + packed[4:10] + struct.pack("<H", size) + bytes(size) + packed[10:]


def with_endless_name(packed: bytes, size: int) -> bytes:
    """Give gzip a header with a file name of this length."""
    return packed[:3] + b"\x08" + packed[4:10] + b"n" * size + b"\0" + packed[10:]


def nested(packed: bytes, levels: int) -> bytes:
    """Pack what is packed again and again."""
    for _ in range(levels):
        packed = gzip.compress(packed)
    return packed


def empty_blocks(count: int) -> bytes:
    """Pack nothing at all, in many blocks."""
    return _HEADER + b"\x00\x00\x00\xff\xff" * count + b"\x01\x00\x00\xff\xff" + bytes(8)
