"""A service for every test that asks for one."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.api.service import Running, settings_for


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Running]:
    with Running(settings_for(tmp_path)) as running:
        yield running


@pytest.fixture(autouse=True)
def _log() -> Iterator[None]:
    """Undo what a command run in this process did to the log."""
    handlers = list(logging.root.handlers)
    yield
    structlog.reset_defaults()
    logging.root.handlers[:] = handlers
