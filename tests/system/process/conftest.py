"""A Spark session with all table formats and the listener, shared by the process tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors.errors import MissingDependency
from connectors.spark.conf import ConfOptions, ListenerTransport
from connectors.spark.releases import TableFormat, find_release
from connectors.spark.session import open_session, process_conf
from tests.stores import Store
from tests.system.process.spark_harness import SparkHarness
from tests.system.spark.conftest import _packages  # noqa: F401 - autouse fixture
from tests.system.spark.job import POSTGRES_DRIVER


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One session for all tests; its listener writes to a file."""
    pyspark = pytest.importorskip("pyspark")
    events = tmp_path_factory.mktemp("spool") / "events.ndjson"
    options = ConfOptions(
        find_release(pyspark.__version__), ListenerTransport.file, location=str(events), namespace="processes"
    )
    conf = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.catalog.lake.warehouse": str(tmp_path_factory.mktemp("warehouse")),
        "spark.jars.packages": POSTGRES_DRIVER,
    }
    try:
        session = open_session("tests.spark", process_conf(options, list(TableFormat), conf))
    except MissingDependency as missing:
        pytest.skip(str(missing))
    yield session
    session.stop()


@pytest.fixture
def harness(tmp_path: Path, sqlite_store: Store, spark: Any) -> SparkHarness:
    return SparkHarness(tmp_path, sqlite_store, spark)
