"""What all tests share: a clean environment, and stores that cost a millisecond."""

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
from tests.commands import Ask, url_of
from tests.factories import Json
from tests.postgres import bin_folder, stop_server
from tests.settings.config_files import Write
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
    if standin is not None and body_validation.is_available():
        standin.OpenMetadata.check = staticmethod(body_validation.validation_error)


@pytest.fixture
def events_dir() -> Path:
    return Path(__file__).parent / "data" / "events"


@pytest.fixture
def log() -> Iterator[None]:
    """Take back what a command did to the log of this process."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:], root.level = before


@pytest.fixture
def ask(tmp_path: Path, log: None) -> Ask:
    def asked(words: str | list[str], *events: Json, then: Callable[[Database], None] = lambda _: None) -> Result:
        given = {"LINEAGE_BRIDGE__STORE__URL": url_of(tmp_path, *events, then=then)}
        listed = words.split() if isinstance(words, str) else words
        return CliRunner(env=given).invoke(command, listed, catch_exceptions=False)

    return asked


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write one configuration file a call."""
    written: list[Path] = []

    def to_file(text: str) -> Path:
        path = tmp_path / f"{len(written)}.yaml"
        path.write_text(text, encoding="utf-8")
        written.append(path)
        return path

    return to_file
