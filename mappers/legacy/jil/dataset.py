"""A dataset that a definition speaks of, and how files and addresses name one."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from mappers.naming import canonical_namespace

Side = Literal["input", "output"]

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/]*)/?(.*)", re.DOTALL)
_DRIVE = re.compile(r"[A-Za-z]:[\\/].*", re.DOTALL)
_NOT_FILES = ("/dev/", "/proc/")
_GLOB_COUNTS = 0.7


class Candidate(NamedTuple):
    """A dataset that a job seems to read or write."""

    side: Side
    namespace: str
    name: str
    #: Which attribute, and what in it.
    evidence: str
    confidence: float


#: What goes together: every output of it is made of all its inputs, and of nothing else.
Flow = list[Candidate]


def filled(text: str, variables: Mapping[str, str]) -> str:
    """Put variables that are known into a path."""
    return re.sub(r"\$\{?(\w+)\}?", lambda found: variables.get(found[1], found[0]), text.strip().strip('"'))


def is_device(path: str) -> bool:
    """Tell whether a path leads to no file, and that is meant."""
    return path.startswith(_NOT_FILES) or path.upper() in {"NUL", "CON"}


def files(side: Side, text: str | None, evidence: str, confidence: float, variables: Mapping[str, str]) -> Flow:
    """Name a file or an address; what holds a variable that nobody knows, or a place that is no file, is none."""
    path = filled(text or "", variables)
    if not path or "$" in path or "`" in path or is_device(path):
        return []
    if _DRIVE.fullmatch(path):
        # As its URL names it: `file:///C:/data` is `/C:/data`.
        path = "/" + path.replace("\\", "/")
    if (url := _URL.fullmatch(path)) is not None:
        scheme = canonical_namespace(f"{url[1].lower()}://").removesuffix("://")
        namespace = "file" if scheme == "file" else f"{scheme}://{url[2]}"
        name = f"/{url[3]}" if scheme in {"file", "hdfs"} else url[3]
    else:
        namespace, name = "file", path
        if not path.startswith("/"):
            return []
    if not name.strip("/"):
        return []
    sure = round(confidence * _GLOB_COUNTS, 2) if "*" in path else confidence
    return [Candidate(side, namespace, name.rstrip("/"), evidence, sure)]
