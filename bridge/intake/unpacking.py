"""Request bodies, unpacked within bounds: a small body must not become a large one unnoticed."""

import zlib

from mappers.errors import RefusedEvent, TooLarge

_GZIP = 16 + zlib.MAX_WBITS
_MAX_MEMBERS = 64


def unpack_gzip(body: bytes, limit: int) -> bytes:
    """Unpack gzip of one or several members; raises TooLarge as soon as the limit is passed."""
    unpacked = b""
    for _ in range(_MAX_MEMBERS):
        member = zlib.decompressobj(_GZIP)
        try:
            unpacked += member.decompress(body, limit + 1 - len(unpacked))
        except zlib.error as error:
            raise RefusedEvent(f"the body is not gzip: {error}") from error
        if len(unpacked) > limit:
            raise TooLarge(f"the body unpacks to more than {limit} bytes")
        if not member.eof:
            raise RefusedEvent("the gzip body ends too early")
        body = member.unused_data
        if not body:
            return unpacked
    raise RefusedEvent(f"the gzip body has more than {_MAX_MEMBERS} members")
