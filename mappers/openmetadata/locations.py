"""Location of a dataset in OpenMetadata: service, parents, name."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from mappers.naming import source_type
from mappers.openmetadata.fqn import EntityName, entity_name, fqn

EntityType = Literal["table", "container", "topic", "apiEndpoint", "mlmodel"]

#: Namespaces of databases: their kind of service, and how many names lead to a table there.
_DATABASES: dict[str, tuple[str, int]] = {
    "postgres": ("Postgres", 3), "mysql": ("Mysql", 2), "mariadb": ("MariaDB", 2), "mssql": ("Mssql", 3),
    "oracle": ("Oracle", 3), "db2": ("Db2", 3), "teradata": ("Teradata", 2), "redshift": ("Redshift", 3),
    "snowflake": ("Snowflake", 3), "bigquery": ("BigQuery", 3), "trino": ("Trino", 3), "presto": ("Presto", 3),
    "hive": ("Hive", 2), "impala": ("Impala", 2), "awsathena": ("Athena", 3), "unitycatalog": ("UnityCatalog", 3),
    "databricks": ("Databricks", 3), "clickhouse": ("Clickhouse", 2), "cassandra": ("Cassandra", 2),
    "vertica": ("Vertica", 3), "greenplum": ("Greenplum", 3), "singlestore": ("SingleStore", 2),
    "oceanbase": ("CustomDatabase", 2), "crate": ("CustomDatabase", 2), "spanner": ("CustomDatabase", 2),
    "saphana": ("SapHana", 2), "sqlite": ("SQLite", 2), "arn": ("Glue", 2), "mongodb": ("MongoDB", 2),
}  # fmt: skip
_STORAGE = {"s3": "S3", "gs": "GCS", "abfss": "ADLS", "abfs": "ADLS", "wasbs": "ADLS", "wasb": "ADLS", "adl": "ADLS"}
_FILES = frozenset({*_STORAGE, "file", "hdfs", "dbfs", "viewfs"})
_TOPICS = {"kafka": "Kafka", "pubsub": "PubSub", "kinesis": "Kinesis", "inmemory": "CustomMessaging"}
_APIS = frozenset({"http", "https", "api", "rest"})
_MODELS = frozenset({"mlflow", "mlmodel", "sagemaker"})
#: Systems in which the case of a name tells nothing.
_CASELESS = frozenset(
    {
        "databricks", "db2", "hive", "impala", "mssql", "oracle", "redshift", "saphana", "snowflake", "teradata",
        "unitycatalog", "vertica",
    }
)  # fmt: skip
#: What stands for a database or schema in systems that have none.
_DEFAULT = "default"
_GLUE = re.compile(r"table/([^/]+)/(.+)", re.DOTALL)

#: The kinds of services, with the type of those that are nobody's in particular.
CUSTOM = {
    "table": ("databaseService", "CustomDatabase"),
    "container": ("storageService", "CustomStorage"),
    "topic": ("messagingService", "CustomMessaging"),
    "apiEndpoint": ("apiService", "Rest"),
    "mlmodel": ("mlmodelService", "CustomMlModel"),
}


class ServiceMapping(NamedTuple):
    """Which service a namespace is, where `*` stands for anything, and how names are laid out in it.

    Templates name database and schema: `{namespace}`, `{database}`, `{schema}`, `{folder}` stand for what is known.
    """

    namespace: str
    service: str
    database: str | None = None
    schema: str | None = None


class ServiceRef(NamedTuple):
    """A service: its kind, its type, its name."""

    kind: str
    type: str
    name: str


class EntityLocation(NamedTuple):
    """Where a dataset lies: in a service, beneath parents, under its own name."""

    kind: EntityType
    service: ServiceRef
    parents: tuple[EntityName, ...]
    own: EntityName

    @property
    def fqn(self) -> str:
        """Give the fully qualified name."""
        return fqn(self.service.name, *(parent.name for parent in self.parents), self.own.name)


class ServiceLayout(NamedTuple):
    """What decides where datasets lie."""

    mappings: tuple[ServiceMapping, ...] = ()
    service: str = "lineage_bridge"
    files_as: Literal["table", "container"] = "table"


def find_mapping(mappings: Iterable[ServiceMapping], namespace: str) -> ServiceMapping | None:
    """Find the mapping of a namespace: of those that fit, the longest; of equal ones, the first by its words."""
    fitting = [mapping for mapping in mappings if fnmatchcase(namespace, mapping.namespace)]
    return min(fitting, key=lambda mapping: (-len(mapping.namespace), mapping), default=None)


def locate_dataset(layout: ServiceLayout, namespace: str, name: str) -> EntityLocation:
    """Tell where a dataset lies."""
    mapping = find_mapping(layout.mappings, namespace)
    scheme = source_type(namespace)
    kind = _kind(scheme, layout)
    service = ServiceRef(*_service(scheme, kind, mapping), mapping.service if mapping else layout.service)
    if kind == "table":
        parents, own = _table(scheme, namespace, name, mapping)
    elif kind == "apiEndpoint":
        parents, own = (_DEFAULT if mapping else namespace,), name
    else:  # nothing lies between their services and them
        parents, own = (), name if mapping else f"{namespace}/{name.lstrip('/')}"
    return EntityLocation(kind, service, tuple(map(entity_name, parents)), entity_name(own))


def _kind(scheme: str, layout: ServiceLayout) -> EntityType:
    if scheme in _FILES:
        return layout.files_as
    if scheme in _TOPICS:
        return "topic"
    if scheme in _APIS:
        return "apiEndpoint"
    return "mlmodel" if scheme in _MODELS else "table"


def _service(scheme: str, kind: EntityType, mapping: ServiceMapping | None) -> tuple[str, str]:
    """Give kind and type of a service: only one that a mapping names is of a system's own type."""
    service, custom = CUSTOM[kind]
    if mapping is None:
        return service, custom
    known = {"table": _DATABASES.get(scheme, (custom,))[0], "container": _STORAGE.get(scheme, custom)}
    return service, known.get(kind, _TOPICS.get(scheme, custom) if kind == "topic" else custom)


def _table(scheme: str, namespace: str, name: str, mapping: ServiceMapping | None) -> tuple[tuple[str, ...], str]:
    database, schema, table = _split(scheme, name)
    if mapping is None:
        return (f"{namespace}/{database}" if database else namespace, schema or _DEFAULT), table
    known = {
        "namespace": namespace,
        "database": database or _DEFAULT,
        "schema": schema or _DEFAULT,
        "folder": name.strip("/").rpartition("/")[0] or _DEFAULT,
    }
    chosen = (mapping.database or "{database}", mapping.schema or "{schema}")
    if mapping.schema is not None and "{folder}" in mapping.schema:
        table = name.rpartition("/")[2]
    return tuple(_filled(template, known) for template in chosen), table


def _split(scheme: str, name: str) -> tuple[str, str, str]:
    """Take a name apart into database, schema and table, as far as its system has them."""
    glue = _GLUE.fullmatch(name)
    if scheme == "arn" and glue:
        return "", glue[1], glue[2]
    if scheme not in _DATABASES:
        return "", "", name
    levels = _DATABASES[scheme][1]
    parts = name.split(".", levels - 1)
    padded = [""] * (3 - len(parts)) + parts
    return padded[0], padded[1], padded[2]


def _filled(template: str, known: dict[str, str]) -> str:
    for word, value in known.items():
        template = template.replace(f"{{{word}}}", value)
    return template


def is_case_insensitive(namespace: str) -> bool:
    """Tell whether the system of a namespace takes a name in any case for the same."""
    return source_type(namespace) in _CASELESS
