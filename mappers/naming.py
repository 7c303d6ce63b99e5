"""Names of the OpenLineage world: one spelling for each namespace, and short forms for people."""

import re

from mappers.memory import remembered

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*):")
_SPELLINGS = {"s3a": "s3", "s3n": "s3", "postgresql": "postgres", "sqlserver": "mssql"}
#: Systems whose tables are changed where they lie: nothing can be cut over from one version to the next.
_LIVE = {
    "bigquery", "cassandra", "clickhouse", "crate", "db2", "greenplum", "jdbc", "mariadb", "mongodb", "mssql",
    "mysql", "oceanbase", "oracle", "postgres", "redshift", "saphana", "singlestore", "snowflake", "spanner",
    "sqlite", "teradata", "vertica",
}  # fmt: skip
_STORAGE = {"file", "s3", "gs", "abfss", "abfs", "wasbs", "wasb", "hdfs", "dbfs", "adl"}


@remembered(4096)
def canonical_namespace(namespace: str) -> str:
    """Give the one spelling under which a namespace is known: `s3a://b` and `s3://b` are one bucket."""
    match = _SCHEME.match(namespace)
    spelling = _SPELLINGS.get(match.group(1).lower()) if match else None
    return f"{spelling}{namespace[match.end(1) :]}" if match and spelling else namespace


@remembered(4096)
def source_type(namespace: str) -> str:
    """Name the kind of system behind a namespace: `postgres`, `file`, `kafka`."""
    match = _SCHEME.match(namespace)
    return (match.group(1) if match else namespace.partition("/")[0]).lower()


def is_live(namespace: str) -> bool:
    """Tell whether the tables of a namespace are changed in place, so that no version of them stays readable."""
    return source_type(canonical_namespace(namespace)) in _LIVE


def storage_path(namespace: str, name: str) -> str | None:
    """Give the full path of a dataset that lives in files, None for any other."""
    if source_type(namespace) not in _STORAGE:
        return None
    if "://" in namespace:
        return f"{namespace.rstrip('/')}/{name.lstrip('/')}"
    # A table of a warehouse in files, such as `db.t` in `file:/warehouse`, is called so and lies elsewhere.
    return None if ":" in namespace and not name.startswith("/") else name


def short_name(name: str) -> str:
    """Shorten a path or table name to the two last parts, as people call it."""
    parts = [part for part in name.split("/") if part]
    if "/" not in name:
        return ".".join(name.split(".")[-2:])
    return ".".join(part.removesuffix(".db") for part in parts[-2:])
