"""Names and ids: validation and normalization."""

import hashlib
import re
import uuid

from tests.standins.marquez.errors import InvalidName, standard_error

_NAMESPACE = re.compile(r"[a-zA-Z:;=/0-9_\-.@+]{1,1024}")
_REPLACED_CHARACTERS = re.compile(r"[^a-z:/A-Z0-9\-_.@+]")
_UUID = re.compile(r"[0-9a-fA-F]{1,8}-(?:[0-9a-fA-F]{1,4}-){3}[0-9a-fA-F]{1,12}")


def namespace(name: str) -> str:
    """Validate the name of a namespace."""
    if not _NAMESPACE.fullmatch(name):
        raise InvalidName(f"namespace '{name}'")
    return name


def stored_namespace(name: str) -> str:
    """Namespace under which the server stores a job or dataset."""
    return _REPLACED_CHARACTERS.sub("_", name)


def checked_name(name: str) -> str:
    """Validate the name of a job or dataset."""
    if not name.strip():
        raise InvalidName("a blank name")
    return name


def path_namespace(name: str) -> str:
    """Validate the namespace of a path; an invalid one is answered with 404."""
    try:
        return namespace(name)
    except InvalidName:
        raise standard_error(404) from None


def path_uuid(text: str) -> str:
    """Validate and normalize the id of a path."""
    if not _UUID.fullmatch(text):
        raise standard_error(404)
    return _uuid(text)


def run_uuid(run_id: str) -> str:
    """Id under which the server stores a run."""
    return _uuid(run_id) if _UUID.fullmatch(run_id) else name_uuid(run_id)


def parent_run_uuid(job: str, run_id: str) -> str:
    """Id under which the server stores the parent named by a run."""
    return _uuid(run_id) if _UUID.fullmatch(run_id) else invented_uuid(parent_name(job), run_id)


def parent_name(job: str) -> str:
    return job.rpartition(".")[0] or job


def invented_uuid(*parts: str) -> str:
    """Derive an id for a run known only by names."""
    return str(uuid.uuid3(uuid.NAMESPACE_URL, ".".join(parts)))


def name_uuid(*parts: str) -> str:
    """Derive an id from names, like Java's UUID.nameUUIDFromBytes."""
    return str(uuid.UUID(bytes=hashlib.md5(":".join(parts).encode()).digest(), version=3))  # noqa: S324


def _uuid(text: str) -> str:
    widths = (8, 4, 4, 4, 12)
    parts = text.lower().split("-")
    return "-".join(part.zfill(width) for part, width in zip(parts, widths, strict=True))
