"""The Spark conf that makes the listener report, made from a few choices instead of typed."""

from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlsplit

from connectors.spark.releases import SparkRelease, TableFormat

#: Every key of the listener begins with this.
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
    """How events leave the driver."""

    http = "http"
    file = "file"
    composite = "composite"


class ParentRun(NamedTuple):
    """The run of a scheduler, or of any other job, that starts the application."""

    namespace: str
    name: str
    run_id: str


class ConfOptions(NamedTuple):
    """What a conf is made from."""

    line: SparkRelease
    transport: ListenerTransport = ListenerTransport.http
    url: str = DEFAULT_URL
    location: str = DEFAULT_LOCATION
    namespace: str = "spark"
    api_key: str | None = None
    parent: ParentRun | None = None
    catalog: TableFormat | None = None
    warehouse: str = DEFAULT_WAREHOUSE


def build_conf(wanted: ConfOptions) -> dict[str, str]:
    """Make the conf, in the order in which people read it."""
    packages = [wanted.line.listener]
    if wanted.catalog:
        packages.append(wanted.line.required_package(wanted.catalog))
    conf = {
        "spark.jars.packages": ",".join(packages),
        "spark.extraListeners": LISTENER_CLASS,
        f"{PREFIX}namespace": wanted.namespace,
        **_transport(wanted),
        f"{PREFIX}filter.rddEventsDisabled": "true",
        f"{PREFIX}columnLineage.datasetLineageEnabled": "true",
    }
    if wanted.parent:
        conf[f"{PREFIX}parentJobNamespace"] = wanted.parent.namespace
        conf[f"{PREFIX}parentJobName"] = wanted.parent.name
        conf[f"{PREFIX}parentRunId"] = wanted.parent.run_id
    if wanted.catalog:
        conf |= _CATALOGS[wanted.catalog]
    if wanted.catalog is TableFormat.iceberg:
        conf["spark.sql.catalog.lake.warehouse"] = wanted.warehouse
    return conf


def _transport(wanted: ConfOptions) -> dict[str, str]:
    at = f"{PREFIX}transport."
    if wanted.transport is ListenerTransport.http:
        return {f"{at}type": "http", **_http(at, wanted)}
    if wanted.transport is ListenerTransport.file:
        return {f"{at}type": "file", f"{at}location": wanted.location}
    # One after the other, by name: the file has every event before HTTP is tried.
    return {
        f"{at}type": "composite",
        f"{at}withThreadPool": "false",
        f"{at}transports.a_file.type": "file",
        f"{at}transports.a_file.location": wanted.location,
        f"{at}transports.b_http.type": "http",
        **_http(f"{at}transports.b_http.", wanted),
    }


def _http(at: str, wanted: ConfOptions) -> dict[str, str]:
    # The listener drops a path of the URL, or takes it for the whole one: it stands in the endpoint.
    url = urlsplit(wanted.url)
    path = url.path.rstrip("/")
    conf = {f"{at}url": f"{url.scheme}://{url.netloc}" if url.netloc else wanted.url}
    if path and url.netloc:
        conf[f"{at}endpoint"] = f"{path}/api/v1/lineage"
    if wanted.api_key:
        conf |= {f"{at}auth.type": "api_key", f"{at}auth.apiKey": wanted.api_key}
    return conf
