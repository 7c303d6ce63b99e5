"""Dataset candidates, named by file paths, URLs and connect strings."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from mappers.jdbc import JdbcDatabase, parse_jdbc_url
from mappers.naming import canonical_namespace

Side = Literal["input", "output"]

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/]*)/?(.*)", re.DOTALL)
_DRIVE = re.compile(r"[A-Za-z]:[\\/].*", re.DOTALL)
#: A database name that is not a JDBC URL, with or without a login before it.
_DATABASE_NAME = re.compile(r"[\w.$#-]+|[^@]*@/*([\w.$#-]+(?::\d+)?(?:/[\w.$#-]+)?)")
_NOT_FILES = ("/dev/", "/proc/")
_GLOB_FACTOR = 0.7


class DatasetCandidate(NamedTuple):
    """A dataset that a job probably reads or writes."""

    side: Side
    namespace: str
    name: str
    #: The attribute, and the part of it that names the dataset.
    evidence: str
    confidence: float


#: Datasets of one flow; each output is derived from all inputs of the flow, and from nothing else.
DataFlow = list[DatasetCandidate]


def expand_variables(text: str, variables: Mapping[str, str]) -> str:
    """Expand known variables in a path."""
    return re.sub(r"\$\{?(\w+)\}?", lambda match: variables.get(match[1], match[0]), text.strip().strip('"'))


def is_device(path: str) -> bool:
    """Return whether a path refers to a device and not to a file."""
    return path.startswith(_NOT_FILES) or path.upper() in {"NUL", "CON"}


def dataset_candidates(
    side: Side, text: str | None, evidence: str, confidence: float, variables: Mapping[str, str]
) -> DataFlow:
    """Return a list with the candidate for a path or URL.

    The list is empty if the text names no file, or contains variables that are not in `variables`.
    """
    path = expand_variables(text or "", variables)
    if not path or "$" in path or "`" in path or is_device(path):
        return []
    if _DRIVE.fullmatch(path):
        # The name is the same as for the URL of the file: `file:///C:/data` becomes `/C:/data`.
        path = "/" + path.replace("\\", "/")
    if (url := _URL.fullmatch(path)) is not None:
        url_scheme, authority, key = url.groups()
        scheme = canonical_namespace(f"{url_scheme.lower()}://").removesuffix("://")
        namespace = "file" if scheme == "file" else f"{scheme}://{authority}"
        name = f"/{key}" if scheme in {"file", "hdfs"} else key
    elif path.startswith("/"):
        namespace, name = "file", path
    else:
        return []
    if not name.strip("/"):
        return []
    if "*" in path:
        confidence = round(confidence * _GLOB_FACTOR, 2)
    return [DatasetCandidate(side, namespace, name.rstrip("/"), evidence, confidence)]


class ConnectedDatabase(NamedTuple):
    """A database (None if it is unknown), and a warning if it is unknown or uncertain."""

    database: JdbcDatabase | None
    warning: str | None = None


def parse_connect_string(text: str | None) -> ConnectedDatabase:
    """Parse a `connect_string`; the tables of an unknown database are not assigned to any other database."""
    connect_string = (text or "").strip()
    if not connect_string:
        return ConnectedDatabase(None, "sql_command without connect_string: its datasets are unknown")
    database = parse_jdbc_url(connect_string)
    if database is not None and database.is_alias:
        warning = (
            f"connect_string contains an alias, not a server: its tables are in the namespace {database.namespace}"
        )
        return ConnectedDatabase(database, warning)
    if database is not None:
        return ConnectedDatabase(database)
    match = None if connect_string.lower().startswith("jdbc:") else _DATABASE_NAME.fullmatch(connect_string)
    if match is None:
        return ConnectedDatabase(None, "connect_string cannot be parsed: its datasets are unknown")
    namespace = f"sql://{match[1] or connect_string}"
    warning = f"connect_string is not a JDBC URL: its tables are in the namespace {namespace}"
    return ConnectedDatabase(JdbcDatabase(namespace, ""), warning)
