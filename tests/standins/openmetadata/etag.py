"""Strong ETags: a digest of the body."""

import hashlib
from typing import Any

import msgspec


def strong_etag(body: Any) -> str:
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return f'"{hashlib.blake2b(raw, digest_size=8).hexdigest()}"'
