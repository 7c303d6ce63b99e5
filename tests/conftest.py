"""What all tests share: a clean environment, and stores that cost a millisecond."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from connectors.openmetadata import models
from tests.postgres import bin_folder, stop_server
from tests.stores import Store, empty_postgres, shared_postgres, template_connection

for name in [n for n in os.environ if n.startswith("LINEAGE_BRIDGE")]:
    del os.environ[name]

settings.register_profile("ci", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci")

#: How parts are found that are no program of their own name.
_NOT_PROGRAMS: dict[str, Callable[[str], object]] = {
    "postgres": lambda _: bin_folder(),
    "spark": lambda _: find_spec("pyspark"),
    "systemd": lambda _: shutil.which("systemd-analyze"),
    "ibm_db_sa": find_spec,
    "teradatasqlalchemy": find_spec,
    "openmetadata-ingestion": lambda _: find_spec("metadata"),
}


def _need(part: str) -> None:
    """Skip what this machine lacks a part for; in CI nothing may be missing."""
    if os.environ.get("CI"):
        pytest.fail(f"{part} is not installed: in CI a skipped system test is a failure")
    pytest.skip(f"{part} is not installed")


@pytest.fixture
def sqlite_store() -> Iterator[Store]:
    with Store() as opened:
        yield opened


@pytest.fixture
def postgres_store() -> Store:
    if bin_folder() is None:
        _need("PostgreSQL")
    return Store(db=empty_postgres())


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> Store:
    """Give an empty store of each kind: what holds of one holds of the other."""
    return request.getfixturevalue(f"{request.param}_store")


@pytest.fixture(scope="session", autouse=True)
def _template() -> Iterator[None]:
    yield
    template_connection().close()
    template_connection.cache_clear()
    if shared_postgres.cache_info().currsize:
        shared_postgres().close()
        shared_postgres.cache_clear()
    stop_server()


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("system"):
        for part in mark.args:
            if _NOT_PROGRAMS.get(part, shutil.which)(part) is None:
                _need(part)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Let every stand-in check what it takes by OpenMetadata's own models, where they are installed."""
    standin = sys.modules.get("tests.standins.openmetadata")
    if standin is not None and models.available():
        standin.OpenMetadata.check = staticmethod(models.refused)


@pytest.fixture
def events_dir() -> Path:
    return Path(__file__).parent / "data" / "events"
