"""Location of a dataset in OpenMetadata: service, parents, name.

The mapping of a namespace determines the service; the longest of several matching mappings wins. Namespaces without
a mapping share one default service, where the namespace is part of the location, so that datasets of different
systems with the same name never collide.
"""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from mappers.naming import display_namespace, last_part, source_type, storage_path
from mappers.openmetadata.fqn import EntityName, entity_name, fqn

EntityType = Literal["table", "container", "topic", "apiEndpoint", "mlmodel"]

#: Service type and number of parts in a table name, by database system.
_DATABASE_SERVICES: dict[str, tuple[str, int]] = {
    "postgres": ("Postgres", 3), "mysql": ("Mysql", 2), "mariadb": ("MariaDB", 2), "mssql": ("Mssql", 3),
    "oracle": ("Oracle", 3), "db2": ("Db2", 3), "teradata": ("Teradata", 2), "redshift": ("Redshift", 3),
    "snowflake": ("Snowflake", 3), "bigquery": ("BigQuery", 3), "trino": ("Trino", 3), "presto": ("Presto", 3),
    "hive": ("Hive", 2), "impala": ("Impala", 2), "awsathena": ("Athena", 3), "unitycatalog": ("UnityCatalog", 3),
    "databricks": ("Databricks", 3), "clickhouse": ("Clickhouse", 2), "cassandra": ("Cassandra", 2),
    "vertica": ("Vertica", 3), "greenplum": ("Greenplum", 3), "singlestore": ("SingleStore", 2),
    "oceanbase": ("CustomDatabase", 2), "crate": ("CustomDatabase", 2), "spanner": ("CustomDatabase", 2),
    "saphana": ("SapHana", 2), "sqlite": ("SQLite", 2), "arn": ("Glue", 2), "mongodb": ("MongoDB", 2),
}  # fmt: skip
_STORAGE_SERVICES = {
    "s3": "S3",
    "gs": "GCS",
    "abfss": "ADLS",
    "abfs": "ADLS",
    "wasbs": "ADLS",
    "wasb": "ADLS",
    "adl": "ADLS",
}
_FILE_SCHEMES = frozenset({*_STORAGE_SERVICES, "file", "hdfs", "dbfs", "viewfs"})
_MESSAGING_SERVICES = {"kafka": "Kafka", "pubsub": "PubSub", "kinesis": "Kinesis", "inmemory": "CustomMessaging"}
_API_SCHEMES = frozenset({"http", "https", "api", "rest"})
_MODEL_SCHEMES = frozenset({"mlflow", "mlmodel", "sagemaker"})
#: Systems with case-insensitive names.
_CASE_INSENSITIVE_SYSTEMS = frozenset(
    {
        "databricks", "db2", "hive", "impala", "mssql", "oracle", "redshift", "saphana", "snowflake", "teradata",
        "unitycatalog", "vertica",
    }
)  # fmt: skip
#: Stands for the database or schema in systems that have none.
_DEFAULT = "default"
_GLUE = re.compile(r"table/([^/]+)/(.+)", re.DOTALL)

#: Kind of service by entity type, and the service type for systems that OpenMetadata does not know.
CUSTOM_SERVICES = {
    "table": ("databaseService", "CustomDatabase"),
    "container": ("storageService", "CustomStorage"),
    "topic": ("messagingService", "CustomMessaging"),
    "apiEndpoint": ("apiService", "Rest"),
    "mlmodel": ("mlmodelService", "CustomMlModel"),
}


class ServiceMapping(NamedTuple):
    """Maps namespaces that match a pattern (`*` matches anything) to a service.

    Database and schema are templates with the placeholders `{namespace}`, `{database}`, `{schema}` and `{folder}`.
    """

    namespace: str
    service: str
    database: str | None = None
    schema: str | None = None


class ServiceRef(NamedTuple):
    """A service: its kind, type and name."""

    kind: str
    type: str
    name: str


class EntityLocation(NamedTuple):
    """The location of a dataset: its service, its parents and its name."""

    kind: EntityType
    service: ServiceRef
    parents: tuple[EntityName, ...]
    name: EntityName

    @property
    def fqn(self) -> str:
        return fqn(self.service.name, *(parent.name for parent in self.parents), self.name.name)


class ServiceLayout(NamedTuple):
    """Settings that determine the location of datasets."""

    mappings: tuple[ServiceMapping, ...] = ()
    service: str = "lineage_bridge"
    files_as: Literal["table", "container"] = "table"
    #: Folders of files, and the databases of catalog tables, are schemas; otherwise, the full name is the table name.
    folders_as_schemas: bool = True


def find_mapping(mappings: Iterable[ServiceMapping], namespace: str) -> ServiceMapping | None:
    """Find the longest mapping that matches a namespace; of equally long mappings, the first in sort order wins."""
    matches = [mapping for mapping in mappings if fnmatchcase(namespace, mapping.namespace)]
    return min(matches, key=lambda mapping: (-len(mapping.namespace), mapping), default=None)


def endpoint_url(namespace: str, name: str) -> str | None:
    """Return the URL of an API dataset, or None for other datasets."""
    if source_type(namespace) not in _API_SCHEMES:
        return None
    if "://" in namespace and "://" not in name:
        return f"{namespace.rstrip('/')}/{name.lstrip('/')}"
    return name


def locate_dataset(layout: ServiceLayout, namespace: str, name: str) -> EntityLocation:
    mapping = find_mapping(layout.mappings, namespace)
    scheme = source_type(namespace)
    kind = _entity_type(scheme, layout)
    service_kind, service_type = _service_kind_and_type(scheme, kind, mapping)
    service = ServiceRef(service_kind, service_type, mapping.service if mapping else layout.service)
    parents: tuple[EntityName, ...] = ()  # containers, topics and models have no levels between service and entity
    if kind == "table":
        parent_names, entity = _table_parents_and_name(layout, scheme, namespace, name, mapping)
        parents = tuple(map(entity_name, parent_names))
        if mapping is None:
            parents = (_displayed_database(parents[0], namespace, parent_names[0]), *parents[1:])
    elif kind == "apiEndpoint":
        parents, entity = (_displayed_database(entity_name(_DEFAULT if mapping else namespace), namespace, ""),), name
    elif mapping:
        entity = name
    else:
        entity = f"{namespace}/{name.lstrip('/')}"
    displayed_name = last_part(name) if "/" in name and scheme in _FILE_SCHEMES else name
    if kind == "table" and scheme not in _FILE_SCHEMES:
        displayed_name = entity
    return EntityLocation(kind, service, parents, _with_display_name(entity_name(entity), displayed_name))


def _displayed_database(database: EntityName, namespace: str, name: str) -> EntityName:
    """Add a short display name to the entity of a namespace; `name` may end with the name of its database."""
    own_name = name.removeprefix(namespace).lstrip("/") if name != namespace else ""
    return _with_display_name(database, display_namespace(namespace, own_name))


def _with_display_name(name: EntityName, display_name: str) -> EntityName:
    return name if display_name in ("", name.name) else name._replace(display_name=display_name)


def _entity_type(scheme: str, layout: ServiceLayout) -> EntityType:
    if scheme in _FILE_SCHEMES:
        return layout.files_as
    if scheme in _MESSAGING_SERVICES:
        return "topic"
    if scheme in _API_SCHEMES:
        return "apiEndpoint"
    return "mlmodel" if scheme in _MODEL_SCHEMES else "table"


def _service_kind_and_type(scheme: str, kind: EntityType, mapping: ServiceMapping | None) -> tuple[str, str]:
    """Return kind and type of a service; only a mapped service gets the type of its system."""
    service_kind, custom_type = CUSTOM_SERVICES[kind]
    if mapping is None:
        return service_kind, custom_type
    if kind == "table" and scheme in _DATABASE_SERVICES:
        service_type, _ = _DATABASE_SERVICES[scheme]
        return service_kind, service_type
    system_types = {"container": _STORAGE_SERVICES, "topic": _MESSAGING_SERVICES}.get(kind, {})
    return service_kind, system_types.get(scheme, custom_type)


def _table_parents_and_name(
    layout: ServiceLayout, scheme: str, namespace: str, name: str, mapping: ServiceMapping | None
) -> tuple[tuple[str, ...], str]:
    database, schema, table = _split_name(scheme, name)
    if scheme in _FILE_SCHEMES and layout.folders_as_schemas and (mapping is None or mapping.schema is None):
        schema, table = _split_file_name(namespace, name)
    if mapping is None:
        parent = f"{namespace}/{database}" if database else namespace
        return (parent, schema or _DEFAULT), table
    values = {
        "namespace": namespace,
        "database": database or _DEFAULT,
        "schema": schema or _DEFAULT,
        "folder": name.strip("/").rpartition("/")[0] or _DEFAULT,
    }
    templates = (mapping.database or "{database}", mapping.schema or "{schema}")
    if mapping.schema is not None and "{folder}" in mapping.schema:
        table = name.rpartition("/")[2]
    return tuple(_fill_template(template, values) for template in templates), table


def _split_name(scheme: str, name: str) -> tuple[str, str, str]:
    """Split a name into database, schema and table; parts that the system does not have are empty."""
    glue_match = _GLUE.fullmatch(name)
    if scheme == "arn" and glue_match:
        glue_database, table = glue_match.groups()
        return "", glue_database, table
    if scheme not in _DATABASE_SERVICES:
        return "", "", name
    _, part_count = _DATABASE_SERVICES[scheme]
    parts = name.split(".", part_count - 1)
    database, schema, table = [""] * (3 - len(parts)) + parts
    return database, schema, table


def _split_file_name(namespace: str, name: str) -> tuple[str, str]:
    """Split a path into folder and last part, or the name of a catalog table into schema and table."""
    separator = "." if storage_path(namespace, name) is None else "/"
    parent, _, last = name.rpartition(separator)
    if not last:
        return "", name
    return parent or ("/" if name.startswith("/") else ""), last


def _fill_template(template: str, values: dict[str, str]) -> str:
    for placeholder, value in values.items():
        template = template.replace(f"{{{placeholder}}}", value)
    return template


def is_case_insensitive(namespace: str) -> bool:
    return source_type(namespace) in _CASE_INSENSITIVE_SYSTEMS
