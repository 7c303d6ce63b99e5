"""Deterministic ids, computed from names alone."""

from hashlib import blake2b

from mappers.cache import bounded_lru_cache

#: PostgreSQL allows about 2,700 bytes in an index entry, and a character takes up to four.
MAX_KEY_CHARACTERS = 400
#: For rows without a run, a job or a second subject.
NO_ID = bytes(16)
_ID_BYTES = 16
_VERSION_8_BITS = (0xFFFFFFFFFFFF0FFF3FFFFFFFFFFFFFFF, 0x00000000000080008000000000000000)


def bounded_key(text: str) -> str:
    """Truncate a text that is too long for a key, and append the hash of all of it.

    A truncated text exceeds the limit, so it never equals a text that fits.
    """
    if len(text) <= MAX_KEY_CHARACTERS:
        return text
    return f"{text[:MAX_KEY_CHARACTERS]}…{digest(text.encode()).hex()}"


def digest(data: bytes) -> bytes:
    """Hash content to the 16 bytes that identify it."""
    return blake2b(data, digest_size=16).digest()


@bounded_lru_cache(1 << 15)
def name_based_id(kind: str, *parts: str) -> bytes:
    """Compute the id of something that has a name, as the bytes of a version-8 UUID.

    Parts are separated by U+0000, which no decoded text contains, so different parts never hash the same text.
    """
    mask, version = _VERSION_8_BITS
    number = int.from_bytes(digest("\0".join((kind, *parts)).encode()), "big")
    return (number & mask | version).to_bytes(16, "big")


def namespace_id(org: str, namespace: str) -> bytes:
    return name_based_id("namespace", org, namespace)


def dataset_id(org: str, namespace: str, name: str) -> bytes:
    """Id of a dataset name, as given by an event."""
    return name_based_id("dataset", org, namespace, name)


def job_id(org: str, namespace: str, name: str) -> bytes:
    """Id of a job name, as given by an event."""
    return name_based_id("job", org, namespace, name)


def run_id(org: str, run_uuid: str) -> bytes:
    """Id of a run within an organisation: two organisations may send the same run UUID.

    The first six bytes are those of the UUID. In a version-7 UUID they are its time, so runs of the same time are
    adjacent in every index, and a group of new runs touches few pages.
    """
    return bytes.fromhex(run_uuid[:8] + run_uuid[9:13]) + name_based_id("run", org, run_uuid)[6:]


def composite_id(kind: bytes, *parts: bytes) -> bytes:
    """Compute an id from other ids; every part but the last is 16 bytes."""
    return blake2b(b"".join(parts), digest_size=16, person=kind[:16]).digest()


def split_ids(ids: bytes) -> list[bytes]:
    """Split concatenated ids."""
    return [ids[i : i + _ID_BYTES] for i in range(0, len(ids), _ID_BYTES)]
