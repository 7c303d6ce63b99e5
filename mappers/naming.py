"""OpenLineage naming: canonical namespaces, storage paths, short names, similar names."""

import re
from collections.abc import Collection
from difflib import get_close_matches

from mappers.cache import bounded_lru_cache

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*):")
#: Start of the parameters of an address, and the port at its end.
_PARAMETERS, _PORT = re.compile("[;?]"), re.compile(r":\d+$")
_SCHEME_ALIASES = {"s3a": "s3", "s3n": "s3", "postgresql": "postgres", "sqlserver": "mssql"}
#: Systems that update tables in place, so readers cannot be switched from one version to the next.
_IN_PLACE_SYSTEMS = {
    "bigquery", "cassandra", "clickhouse", "crate", "db2", "greenplum", "jdbc", "mariadb", "mongodb", "mssql",
    "mysql", "oceanbase", "oracle", "postgres", "redshift", "saphana", "singlestore", "snowflake", "spanner",
    "sqlite", "teradata", "vertica",
}  # fmt: skip
_DATA_FILE = re.compile(
    r"/(?:part-[^/]*|[^/]*\.(?:csv|tsv|txt|dat|json|jsonl|ndjson|xml|parquet|orc|avro|log)"
    r"(?:\.(?:gz|bz2|zst|lz4|xz|snappy|deflate|zip))?)$",
    re.IGNORECASE,
)
#: Systems that store datasets in files.
STORAGE_SYSTEMS = {"file", "s3", "gs", "abfss", "abfs", "wasbs", "wasb", "hdfs", "dbfs", "adl"}


@bounded_lru_cache(4096)
def canonical_namespace(namespace: str) -> str:
    """Normalize the scheme of a namespace: `s3a://b` and `s3://b` are the same bucket."""
    match = _SCHEME.match(namespace)
    if match is None or match.group(1).lower() not in _SCHEME_ALIASES:
        return namespace
    return _SCHEME_ALIASES[match.group(1).lower()] + namespace[match.end(1) :]


@bounded_lru_cache(4096)
def source_type(namespace: str) -> str:
    """Return the system behind a namespace in lower case, such as `postgres`, `file` or `kafka`."""
    match = _SCHEME.match(namespace)
    system = match.group(1) if match else namespace.partition("/")[0]
    return system.lower()


def updates_in_place(namespace: str) -> bool:
    """Return whether the system updates tables in place, so that earlier versions are not readable."""
    return source_type(canonical_namespace(namespace)) in _IN_PLACE_SYSTEMS


def storage_path(namespace: str, name: str) -> str | None:
    """Return the full path of a dataset that is stored in files, or None for other datasets."""
    if source_type(namespace) not in STORAGE_SYSTEMS:
        return None
    if "://" in namespace:
        return f"{namespace.rstrip('/')}/{name.lstrip('/')}"
    # The name of a table in a file-based warehouse, such as `db.t` in `file:/warehouse`, is not a path.
    if ":" in namespace and not name.startswith("/"):
        return None
    return name


def is_data_file(name: str) -> bool:
    """Return whether a path names a single file with data, judging by its extension or by the prefix `part-`."""
    return _DATA_FILE.search(name) is not None


def parent_folders(namespace: str, name: str) -> list[str]:
    """Return the names of the folders above a path, the deepest first; none if the dataset is not stored in files."""
    if storage_path(namespace, name) is None:
        return []
    slashes = [match.start() for match in re.finditer("/", name)]
    return [name[:end] for end in reversed(slashes) if end > 0]


def short_name(name: str) -> str:
    """Shorten a path or table name to its last two parts."""
    if "/" not in name:
        return ".".join(name.split(".")[-2:])
    parts = [part for part in name.split("/") if part]
    return ".".join(part.removesuffix(".db") for part in parts[-2:])


def last_part(name: str) -> str:
    """Return the last part of a path or table name."""
    path_parts = [part for part in name.split("/") if part]
    return path_parts[-1] if "/" in name and path_parts else name.rpartition(".")[2]


def display_namespace(namespace: str, database: str = "") -> str:
    """Return a short name for people, such as `shop (h2)` for `h2:file:/data/db/shop;MODE=DB2`.

    It consists of the database (or else the last part of the address) and the system.
    """
    match = _SCHEME.match(namespace)
    if match is None:
        return namespace
    address = _PARAMETERS.split(namespace[match.end() :], maxsplit=1)[0].rstrip("/")
    last = _PORT.sub("", address.rpartition("/")[2].rpartition("@")[2])
    label = database or last
    return f"{label} ({match.group(1).lower()})" if label else namespace


def quote_spark_identifier(name: str) -> str:
    """Quote any name as a Spark SQL identifier."""
    return "`" + name.replace("`", "``") + "`"


def suggest_name(name: str, known_names: Collection[str], label: str) -> str:
    """Suggest the most similar of the known names, or list all of them after a label."""
    for match in get_close_matches(name, known_names, 1):
        return f"did you mean {match}?"
    return f"{label}: {', '.join(known_names) or 'none'}"
