"""Resolves a dataset of a process file to its OpenLineage name and its Spark path or table."""

from typing import NamedTuple
from urllib.parse import urlsplit

from connectors.errors import ConfigError
from mappers.jdbc import parse_jdbc_url
from mappers.naming import updates_in_place
from mappers.redaction import redact_url

_OBJECT_STORES = {"s3", "s3a", "s3n", "gs", "wasb", "wasbs", "abfs", "abfss"}


class DatasetLocation(NamedTuple):
    """A dataset by its OpenLineage name, and what Spark calls the place."""

    namespace: str
    name: str
    #: A path with its scheme, a table of a catalog, or a table of a database.
    location: str

    @property
    def live(self) -> bool:
        """Tell whether it is changed where it lies, so that no version of it stays readable."""
        return updates_in_place(self.namespace)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name.lstrip('/')}" if "://" in self.namespace else self.name


def location_from_path(path: str) -> DatasetLocation:
    """Address a folder or file by its path."""
    parts = urlsplit(path)
    if parts.scheme in {"", "file"}:
        if not parts.path.startswith("/"):
            raise ConfigError(f"{path}: is no absolute path: write it from / on, or with a scheme such as s3a://")
        plain = parts.path.rstrip("/") or "/"
        return DatasetLocation("file", plain, plain)
    name = parts.path.strip("/") if parts.scheme in _OBJECT_STORES else parts.path.rstrip("/")
    return DatasetLocation(f"{parts.scheme}://{parts.netloc}", name, path.rstrip("/"))


def location_from_jdbc(url: str, table: str) -> DatasetLocation:
    """Address a table of a database as the listener does; a password in the URL has no place in it."""
    found = parse_jdbc_url(url)
    if found is None:
        raise ConfigError(f"options.url: {redact_url(url.split('?', maxsplit=1)[0])[:80]} is no JDBC address")
    return DatasetLocation(found.namespace, found.qualify(table), table)


def locate_dataset(
    dataset: str, namespace: str | None, form: str, url: str | None, lake: str | None
) -> DatasetLocation:
    """Find where a dataset lies: by its namespace, its own path, its database, or as a word beneath the lake."""
    if form == "jdbc":
        if url is None:
            raise ConfigError(f"{dataset}: format jdbc needs options.url")
        found = location_from_jdbc(url, dataset)
        return found if namespace is None else found._replace(namespace=namespace)
    if form == "iceberg":
        if namespace is None:
            raise ConfigError(f"{dataset}: format iceberg needs namespace, which is that of the warehouse's tables")
        # So the listener calls a table beside its path: without the catalog, whose name is each application's own.
        parts = dataset.split(".")
        return DatasetLocation(namespace, ".".join(parts[1:] if len(parts) > 2 else parts), dataset)
    if namespace is not None:
        return location_from_path(f"{namespace.rstrip('/')}/{dataset.lstrip('/')}" if "://" in namespace else dataset)
    if dataset.startswith(("/", "file:")) or "://" in dataset:
        return location_from_path(dataset)
    if lake is None:
        raise ConfigError(
            f"{dataset}: nobody says where it lies: set process.lake in the file or the settings, or write its path"
        )
    return location_from_path(f"{lake.rstrip('/')}/{dataset}")
