"""Builds the Spark conf of the listener from a few options."""

from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlsplit

from connectors.spark.releases import SparkRelease, TableFormat

#: Prefix of all listener keys.
PREFIX = "spark.openlineage."
DEFAULT_URL = "http://127.0.0.1:8090"
DEFAULT_LOCATION = "/var/spool/lineage/events.ndjson"
DEFAULT_WAREHOUSE = "warehouse"
LISTENER_CLASS = "io.openlineage.spark.agent.OpenLineageSparkListener"

_CATALOGS = {
    TableFormat.iceberg: {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
    },
    TableFormat.delta: {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
}


class ListenerTransport(StrEnum):
    """Transport with which the driver sends events."""

    http = "http"
    file = "file"
    composite = "composite"


class ParentRun(NamedTuple):
    """The run that starts the application, for example in a scheduler."""

    namespace: str
    name: str
    run_id: str


class ConfOptions(NamedTuple):
    """Options from which a conf is built."""

    release: SparkRelease
    transport: ListenerTransport = ListenerTransport.http
    url: str = DEFAULT_URL
    location: str = DEFAULT_LOCATION
    namespace: str = "spark"
    api_key: str | None = None
    parent: ParentRun | None = None
    catalog: TableFormat | None = None
    warehouse: str = DEFAULT_WAREHOUSE


def build_conf(options: ConfOptions) -> dict[str, str]:
    """Build the conf; its keys are in a readable order."""
    packages = [options.release.listener]
    if options.catalog:
        packages.append(options.release.required_package(options.catalog))
    conf = {
        "spark.jars.packages": ",".join(packages),
        "spark.extraListeners": LISTENER_CLASS,
        f"{PREFIX}namespace": options.namespace,
        **_transport_conf(options),
        f"{PREFIX}filter.rddEventsDisabled": "true",
        f"{PREFIX}columnLineage.datasetLineageEnabled": "true",
    }
    if options.parent:
        conf[f"{PREFIX}parentJobNamespace"] = options.parent.namespace
        conf[f"{PREFIX}parentJobName"] = options.parent.name
        conf[f"{PREFIX}parentRunId"] = options.parent.run_id
    if options.catalog:
        conf |= _CATALOGS[options.catalog]
    if options.catalog is TableFormat.iceberg:
        conf["spark.sql.catalog.lake.warehouse"] = options.warehouse
    return conf


def _transport_conf(options: ConfOptions) -> dict[str, str]:
    """Build the keys of the transport: HTTP, a file, or both."""
    prefix = f"{PREFIX}transport."
    if options.transport is ListenerTransport.http:
        return {f"{prefix}type": "http", **_http_conf(prefix, options)}
    if options.transport is ListenerTransport.file:
        return {f"{prefix}type": "file", f"{prefix}location": options.location}
    # Transports are called in the order of their names, so each event is in the file before HTTP is tried.
    return {
        f"{prefix}type": "composite",
        f"{prefix}withThreadPool": "false",
        f"{prefix}transports.a_file.type": "file",
        f"{prefix}transports.a_file.location": options.location,
        f"{prefix}transports.b_http.type": "http",
        **_http_conf(f"{prefix}transports.b_http.", options),
    }


def _http_conf(prefix: str, options: ConfOptions) -> dict[str, str]:
    # The listener either ignores a path in the URL or uses it as the complete path, so it belongs in the endpoint.
    url = urlsplit(options.url)
    path = url.path.rstrip("/")
    conf = {f"{prefix}url": f"{url.scheme}://{url.netloc}" if url.netloc else options.url}
    if path and url.netloc:
        conf[f"{prefix}endpoint"] = f"{path}/api/v1/lineage"
    if options.api_key:
        conf |= {f"{prefix}auth.type": "api_key", f"{prefix}auth.apiKey": options.api_key}
    return conf
