"""Commands asked in this process, on a store of the events that a test names, and the files that a test writes."""

import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import structlog
from typer.testing import CliRunner, Result

from bridge.cli.main import app as command
from bridge.store.database import Database
from bridge.store.sqlite import SqliteDatabase
from tests.api.service import store_file
from tests.bridge.following import Following
from tests.bridge.settings_files import Write
from tests.factories import Json
from tests.stores import Store

Ask = Callable[..., Result]


def url_of(folder: Path, *events: Json, then: Callable[[Database], None] = lambda _: None) -> str:
    """Make a store of events, and do something to it then; gives its address."""
    path = store_file(folder)
    with closing(SqliteDatabase.writing(path)) as db:
        Store(db=db).apply_each(*events)
        then(db)
    return f"sqlite:///{path}"


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


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.ndjson"


@pytest.fixture
def following(store: Store, path: Path) -> Iterator[Following]:
    made = Following(store, path)
    yield made
    made.close()


@pytest.fixture
def folder(store: Store, tmp_path: Path) -> Iterator[Following]:
    made = Following(store, tmp_path)
    yield made
    made.close()
