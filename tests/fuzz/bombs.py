"""Decompression bombs: small bodies that become large."""

import gzip
import struct
import zlib

_MEGABYTE = 1 << 20
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


def gzip_bomb(megabytes: int, enclosing: tuple[bytes, bytes] = (b"", b"")) -> bytes:
    """Compress megabytes of spaces between two texts, in constant time."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    before = compressor.compress(enclosing[0]) + compressor.flush(zlib.Z_FULL_FLUSH)
    block = compressor.compress(b" " * _MEGABYTE) + compressor.flush(zlib.Z_FULL_FLUSH)
    after = compressor.compress(enclosing[1]) + compressor.flush()
    return _HEADER + before + block * megabytes + after + bytes(8)


def with_extra_field(content: bytes, size: int) -> bytes:
    """Add an extra field of this size to a gzip header."""
    return content[:3] + b"\x04" + content[4:10] + struct.pack("<H", size) + bytes(size) + content[10:]


def with_long_name(content: bytes, size: int) -> bytes:
    """Add a file name of this length to a gzip header."""
    return content[:3] + b"\x08" + content[4:10] + b"n" * size + b"\0" + content[10:]


def nested(content: bytes, levels: int) -> bytes:
    """Compress repeatedly."""
    for _ in range(levels):
        content = gzip.compress(content)
    return content


def empty_blocks(count: int) -> bytes:
    """Many empty blocks."""
    return _HEADER + b"\x00\x00\x00\xff\xff" * count + b"\x01\x00\x00\xff\xff" + bytes(8)
