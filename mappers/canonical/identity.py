"""Deterministic ids, computed from names alone."""

from hashlib import blake2b

from mappers.cache import bounded_lru_cache

#: PostgreSQL allows about 2,700 bytes in an index entry, and a character takes up to four of them.
MAX_KEY_CHARACTERS = 400
#: The id in rows that have no run, no job or no second subject.
NO_ID = bytes(16)
_ID_BYTES = 16
#: The version and variant bits of a version-8 UUID.
_UUID_VERSION_8 = 0x00000000000080008000000000000000
#: Mask of all other bits of a UUID.
_UUID_CONTENT_MASK = 0xFFFFFFFFFFFF0FFF3FFFFFFFFFFFFFFF


def bounded_key(text: str) -> str:
    """Truncate text that is too long for a key, and append a hash of the full text.

    With the hash, a truncated key is longer than the limit, so it never equals a key that was not truncated.
    """
    if len(text) <= MAX_KEY_CHARACTERS:
        return text
    return f"{text[:MAX_KEY_CHARACTERS]}…{digest(text.encode()).hex()}"


def digest(data: bytes) -> bytes:
    """Hash content to 16 bytes."""
    return blake2b(data, digest_size=16).digest()


@bounded_lru_cache(1 << 15)
def name_based_id(kind: str, *parts: str) -> bytes:
    """Compute an id from a kind and names, as the bytes of a version-8 UUID.

    The parts are joined with U+0000, which no decoded text contains, so different parts never yield the same id.
    """
    number = int.from_bytes(digest("\0".join((kind, *parts)).encode()), "big")
    return (number & _UUID_CONTENT_MASK | _UUID_VERSION_8).to_bytes(16, "big")


def namespace_id(org: str, namespace: str) -> bytes:
    return name_based_id("namespace", org, namespace)


def dataset_id(org: str, namespace: str, name: str) -> bytes:
    """Compute the id of a dataset from its canonical name."""
    return name_based_id("dataset", org, namespace, name)


def job_id(org: str, namespace: str, name: str) -> bytes:
    """Compute the id of a job from its canonical name."""
    return name_based_id("job", org, namespace, name)


def run_id(org: str, run_uuid: str) -> bytes:
    """Compute the id of a run from its organisation and UUID, because two organisations may send the same UUID.

    The first six bytes are copied from the UUID. In a version-7 UUID, they are a timestamp, so concurrent runs are
    adjacent in every index, and inserting a group of new runs touches few pages.
    """
    return bytes.fromhex(run_uuid[:8] + run_uuid[9:13]) + name_based_id("run", org, run_uuid)[6:]


def composite_id(kind: bytes, *parts: bytes) -> bytes:
    """Compute an id from other ids; every part except the last must have 16 bytes."""
    return blake2b(b"".join(parts), digest_size=16, person=kind[:16]).digest()


def split_ids(ids: bytes) -> list[bytes]:
    """Split concatenated ids of 16 bytes each."""
    return [ids[start : start + _ID_BYTES] for start in range(0, len(ids), _ID_BYTES)]
