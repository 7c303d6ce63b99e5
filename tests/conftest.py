"""Fixtures of all tests: a clean environment, stores and a CLI runner."""

import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings
from typer.testing import CliRunner, Result

from bridge.cli.main import app as command
from bridge.store.database import Database
from connectors.openmetadata import body_validation
from tests.commands import RunCli, create_store
from tests.factories import Json
from tests.postgres import bin_folder, stop_server
from tests.settings.config_files import WriteConfig
from tests.stores import Store, empty_postgres, shared_postgres, template_connection

for name in [n for n in os.environ if n.startswith("LINEAGE_BRIDGE")]:
    del os.environ[name]

settings.register_profile("ci", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci")

#: How to find requirements that are not a program of the same name.
_FINDERS: dict[str, Callable[[str], object]] = {
    "postgres": lambda _: bin_folder(),
    "spark": lambda _: find_spec("pyspark"),
    "systemd": lambda _: shutil.which("systemd-analyze"),
    "ibm_db_sa": find_spec,
    "teradatasqlalchemy": find_spec,
    "openmetadata-ingestion": lambda _: find_spec("metadata"),
}


def _skip_without(part: str) -> None:
    """Skip the test; in CI, fail instead."""
    if os.environ.get("CI"):
        pytest.fail(f"{part} is not installed: in CI a skipped system test is a failure")
    pytest.skip(f"{part} is not installed")


@pytest.fixture
def sqlite_store() -> Iterator[Store]:
    with Store() as store:
        yield store


@pytest.fixture
def postgres_store() -> Store:
    if bin_folder() is None:
        _skip_without("PostgreSQL")
    return Store(db=empty_postgres())


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> Store:
    """An empty store, once on SQLite and once on PostgreSQL."""
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
            if _FINDERS.get(part, shutil.which)(part) is None:
                _skip_without(part)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Let stand-ins validate request bodies with the models of OpenMetadata, if installed."""
    standin = sys.modules.get("tests.standins.openmetadata")
    if standin is not None and body_validation.is_available():
        standin.OpenMetadata.check = staticmethod(body_validation.validation_error)


@pytest.fixture
def events_dir() -> Path:
    return Path(__file__).parent / "data" / "events"


@pytest.fixture(autouse=True)
def restore_logging() -> Iterator[None]:
    """Undo a command's logging configuration: its stream is closed in later tests."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:], root.level = before


@pytest.fixture
def run_cli(tmp_path: Path, restore_logging: None) -> RunCli:
    """Run a command on a new store of events."""

    def run(args: str | list[str], *events: Json, prepare: Callable[[Database], None] = lambda _: None) -> Result:
        env = {"LINEAGE_BRIDGE__STORE__URL": create_store(tmp_path, *events, prepare=prepare)}
        arguments = args.split() if isinstance(args, str) else args
        return CliRunner(env=env).invoke(command, arguments, catch_exceptions=False)

    return run


@pytest.fixture
def write_config(tmp_path: Path) -> WriteConfig:
    """Write a new configuration file per call."""
    written: list[Path] = []

    def write(text: str) -> Path:
        path = tmp_path / f"{len(written)}.yaml"
        path.write_text(text, encoding="utf-8")
        written.append(path)
        return path

    return write
