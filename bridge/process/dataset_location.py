"""Resolves a dataset of a process file to its OpenLineage name and its Spark path or table."""

from typing import NamedTuple
from urllib.parse import urlsplit

from connectors.errors import ConfigError
from mappers.jdbc import parse_jdbc_url
from mappers.naming import updates_in_place
from mappers.redaction import redact_url

_OBJECT_STORES = {"s3", "s3a", "s3n", "gs", "wasb", "wasbs", "abfs", "abfss"}


class DatasetLocation(NamedTuple):
    """OpenLineage name of a dataset, and its path or table in Spark."""

    namespace: str
    name: str
    #: Path with scheme, catalog table, or database table.
    path_or_table: str

    @property
    def is_mutable(self) -> bool:
        """True if the dataset is updated in place, so that older versions cannot be read."""
        return updates_in_place(self.namespace)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name.lstrip('/')}" if "://" in self.namespace else self.name


def location_from_path(path: str) -> DatasetLocation:
    """Return the location of a folder or file."""
    parts = urlsplit(path)
    if parts.scheme in {"", "file"}:
        if not parts.path.startswith("/"):
            raise ConfigError(f"{path}: not an absolute path: start it with / or a scheme such as s3a://")
        path_without_slash = parts.path.rstrip("/") or "/"
        return DatasetLocation("file", path_without_slash, path_without_slash)
    name = parts.path.strip("/") if parts.scheme in _OBJECT_STORES else parts.path.rstrip("/")
    return DatasetLocation(f"{parts.scheme}://{parts.netloc}", name, path.rstrip("/"))


def location_from_jdbc(url: str, table: str) -> DatasetLocation:
    """Return the location of a database table under the name that the listener uses, without credentials."""
    database = parse_jdbc_url(url)
    if database is None:
        url_without_query, _, _ = url.partition("?")
        raise ConfigError(f"options.url: {redact_url(url_without_query)[:80]} is not a supported JDBC URL")
    return DatasetLocation(database.namespace, database.qualify(table), table)


def locate_dataset(
    dataset: str, namespace: str | None, format_: str, url: str | None, lake: str | None
) -> DatasetLocation:
    """Locate a dataset by its namespace, by its own path, by its database, or by its bare name below the lake."""
    if format_ == "jdbc":
        if url is None:
            raise ConfigError(f"{dataset}: format jdbc needs options.url")
        location = location_from_jdbc(url, dataset)
        return location if namespace is None else location._replace(namespace=namespace)
    if format_ == "iceberg":
        if namespace is None:
            raise ConfigError(f"{dataset}: format iceberg needs the namespace of the warehouse's tables")
        # The listener's symlink for a table omits the catalog, whose name differs between applications.
        parts = dataset.split(".")
        has_catalog = len(parts) > 2
        _, _, name_in_catalog = dataset.partition(".")
        return DatasetLocation(namespace, name_in_catalog if has_catalog else dataset, dataset)
    if namespace is not None and "://" in namespace:
        return location_from_path(f"{namespace.rstrip('/')}/{dataset.lstrip('/')}")
    is_path = dataset.startswith(("/", "file:")) or "://" in dataset
    if namespace is not None or is_path:
        return location_from_path(dataset)
    if lake is None:
        raise ConfigError(
            f"{dataset}: no location for this dataset: set process.lake in the file or the settings, "
            "or write its path"
        )
    return location_from_path(f"{lake.rstrip('/')}/{dataset}")
