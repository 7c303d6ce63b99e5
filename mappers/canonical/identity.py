"""Ids computed from names, so that every process arrives at the same id without asking anyone."""

from hashlib import blake2b

from mappers.memory import remembered

#: Stands where a row has no run, no job or no second subject.
NOBODY = bytes(16)

_ID_BYTES = 16

_VERSION_8 = (0xFFFFFFFFFFFF0FFF3FFFFFFFFFFFFFFF, 0x00000000000080008000000000000000)


def digest(data: bytes) -> bytes:
    """Hash content to the 16 bytes that identify it."""
    return blake2b(data, digest_size=16).digest()


@remembered(1 << 15)
def named_id(kind: str, *parts: str) -> bytes:
    """Compute the id of a named thing as the bytes of a version-8 UUID.

    U+0000 separates the parts: the decoder lets none through, so no two names can run together.
    """
    keep, mark = _VERSION_8
    number = int.from_bytes(digest("\0".join((kind, *parts)).encode()), "big")
    return (number & keep | mark).to_bytes(16, "big")


def namespace_id(org: str, namespace: str) -> bytes:
    """Identify a namespace within an organisation."""
    return named_id("namespace", org, namespace)


def dataset_id(org: str, namespace: str, name: str) -> bytes:
    """Identify a dataset by the name an event gave it."""
    return named_id("dataset", org, namespace, name)


def job_id(org: str, namespace: str, name: str) -> bytes:
    """Identify a job by the name an event gave it."""
    return named_id("job", org, namespace, name)


def run_id(org: str, run_uuid: str) -> bytes:
    """Identify a run: two organisations may send the same run UUID.

    The first six bytes are the UUID's own. Those of a version-7 UUID are its time, so runs of one time lie
    together in every index, and a group of new runs touches few pages.
    """
    return bytes.fromhex(run_uuid[:8] + run_uuid[9:13]) + named_id("run", org, run_uuid)[6:]


def joined_id(kind: bytes, *parts: bytes) -> bytes:
    """Identify a combination of things that already have ids; every part but the last is 16 bytes."""
    return blake2b(b"".join(parts), digest_size=16, person=kind[:16]).digest()


def split_ids(joined: bytes) -> list[bytes]:
    """Take ids apart that were joined one behind the other."""
    return [joined[i : i + _ID_BYTES] for i in range(0, len(joined), _ID_BYTES)]
