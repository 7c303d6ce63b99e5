"""Dataset candidates, named by file paths, URLs and connect strings."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from mappers.jdbc import JdbcDatabase, parse_jdbc_url
from mappers.naming import canonical_namespace

Side = Literal["input", "output"]

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/]*)/?(.*)", re.DOTALL)
_DRIVE = re.compile(r"[A-Za-z]:[\\/].*", re.DOTALL)
_NOT_FILES = ("/dev/", "/proc/")
_GLOB_COUNTS = 0.7


class DatasetCandidate(NamedTuple):
    """A dataset that a job seems to read or write."""

    side: Side
    namespace: str
    name: str
    #: Which attribute, and what in it.
    evidence: str
    confidence: float


#: What goes together: every output of it is made of all its inputs, and of nothing else.
DataFlow = list[DatasetCandidate]


def expand_variables(text: str, variables: Mapping[str, str]) -> str:
    """Put variables that are known into a path."""
    return re.sub(r"\$\{?(\w+)\}?", lambda found: variables.get(found[1], found[0]), text.strip().strip('"'))


def is_device(path: str) -> bool:
    """Tell whether a path leads to no file, and that is meant."""
    return path.startswith(_NOT_FILES) or path.upper() in {"NUL", "CON"}


def dataset_candidates(
    side: Side, text: str | None, evidence: str, confidence: float, variables: Mapping[str, str]
) -> DataFlow:
    """Name a file or an address; what holds a variable that nobody knows, or a place that is no file, is none."""
    path = expand_variables(text or "", variables)
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
    return [DatasetCandidate(side, namespace, name.rstrip("/"), evidence, sure)]


#: What is no JDBC address, and still names something: a bare name, or what stands behind who logs in.
_NAMED = re.compile(r"[\w.$#-]+|[^@]*@/*([\w.$#-]+(?::\d+)?(?:/[\w.$#-]+)?)")


class ConnectedDatabase(NamedTuple):
    """A database, None where nobody can tell which, and a remark on what is not sure of it."""

    database: JdbcDatabase | None
    remark: str | None = None


def parse_connect_string(text: str | None) -> ConnectedDatabase:
    """Read a `connect_string`; tables of one that cannot be read are never those of another."""
    address = (text or "").strip()
    if not address:
        return ConnectedDatabase(None, "sql_command without connect_string: no dataset is named")
    database = parse_jdbc_url(address)
    if database is not None:
        said = f"connect_string holds an alias, no server: its tables are named by {database.namespace}"
        return ConnectedDatabase(database, said if database.is_alias else None)
    named = None if address.lower().startswith("jdbc:") else _NAMED.fullmatch(address)
    if named is None:
        return ConnectedDatabase(None, "connect_string cannot be read: no dataset is named")
    namespace = f"sql://{named[1] or address}"
    said = f"connect_string is no JDBC address: its tables are named by {namespace}"
    return ConnectedDatabase(JdbcDatabase(namespace, ""), said)
