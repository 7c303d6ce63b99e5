"""What all tests share: a clean environment, and stores that cost a millisecond."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres import stop_server
from tests.stores import Store, shared_postgres, template_connection

for name in [n for n in os.environ if n.startswith("LINEAGE_BRIDGE")]:
    del os.environ[name]

settings.register_profile("ci", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci")


@pytest.fixture
def store() -> Iterator[Store]:
    with Store() as opened:
        yield opened


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
    """Skip what this machine lacks a part for; in CI nothing may be missing."""
    for mark in item.iter_markers("system"):
        for part in mark.args:
            if shutil.which(part) is None:
                reason = f"{part} is not installed"
                if os.environ.get("CI"):
                    pytest.fail(f"{reason}: in CI a skipped system test is a failure")
                pytest.skip(reason)


@pytest.fixture
def events_dir() -> Path:
    return Path(__file__).parent / "data" / "events"
