"""One Spark for all tests of processes that need not start their own: with tables, and a listener that writes a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors.errors import MissingDependency
from connectors.spark.conf import ConfOptions, ListenerTransport
from connectors.spark.releases import TableFormat, find_release
from connectors.spark.session import open_session, process_conf
from tests.stores import Store
from tests.system.process.works import Works
from tests.system.spark.conftest import _packages  # noqa: F401 - all packages are fetched once, for these too
from tests.system.spark.job import POSTGRES_DRIVER


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Start one Spark for all of these, whose listener writes into one file."""
    pyspark = pytest.importorskip("pyspark")
    events = tmp_path_factory.mktemp("spool") / "events.ndjson"
    wanted = ConfOptions(
        find_release(pyspark.__version__), ListenerTransport.file, location=str(events), namespace="processes"
    )
    given = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.catalog.lake.warehouse": str(tmp_path_factory.mktemp("warehouse")),
        "spark.jars.packages": POSTGRES_DRIVER,
    }
    try:
        session = open_session("tests.spark", process_conf(wanted, list(TableFormat), given))
    except MissingDependency as missing:
        pytest.skip(str(missing))
    yield session
    session.stop()


@pytest.fixture
def works(tmp_path: Path, sqlite_store: Store, spark: Any) -> Works:
    return Works(tmp_path, sqlite_store, spark)
