"""Names and ids: which the server takes, and what it makes of others."""

import hashlib
import re
import uuid

from tests.standins.marquez.errors import Illegal, plain

_NAMESPACE = re.compile(r"[a-zA-Z:;=/0-9_\-.@+]{1,1024}")
_REPLACED = re.compile(r"[^a-z:/A-Z0-9\-_.@+]")
_UUID = re.compile(r"[0-9a-fA-F]{1,8}-(?:[0-9a-fA-F]{1,4}-){3}[0-9a-fA-F]{1,12}")


def namespace(name: str) -> str:
    """Give the name of a namespace back, if it is one."""
    if not _NAMESPACE.fullmatch(name):
        raise Illegal(f"namespace '{name}'")
    return name


def replaced(name: str) -> str:
    """Give the namespace that a job or a dataset is kept under."""
    return _REPLACED.sub("_", name)


def named(name: str) -> str:
    """Give the name of a job or a dataset back, if it is one."""
    if not name.strip():
        raise Illegal("a blank name")
    return name


def asked_namespace(name: str) -> str:
    """Read a namespace of a path; what cannot be one is a path that does not exist."""
    try:
        return namespace(name)
    except Illegal:
        raise plain(404) from None


def asked_uuid(text: str) -> str:
    """Read an id of a path."""
    if not _UUID.fullmatch(text):
        raise plain(404)
    return _uuid(text)


def run_uuid(run_id: str) -> str:
    """Give the id that a run is kept under."""
    return _uuid(run_id) if _UUID.fullmatch(run_id) else name_uuid(run_id)


def parent_run_uuid(job: str, run_id: str) -> str:
    """Give the id that a run is kept under which a child names."""
    return _uuid(run_id) if _UUID.fullmatch(run_id) else invented_uuid(parent_name(job), run_id)


def parent_name(job: str) -> str:
    return job.rpartition(".")[0] or job


def invented_uuid(*parts: str) -> str:
    """Make an id for a run that is known by names only."""
    return str(uuid.uuid3(uuid.NAMESPACE_URL, ".".join(parts)))


def name_uuid(*parts: str) -> str:
    """Make an id of names, as Java does."""
    return str(uuid.UUID(bytes=hashlib.md5(":".join(parts).encode()).digest(), version=3))  # noqa: S324


def _uuid(text: str) -> str:
    widths = (8, 4, 4, 4, 12)
    parts = text.lower().split("-")
    return "-".join(part.zfill(width) for part, width in zip(parts, widths, strict=True))
