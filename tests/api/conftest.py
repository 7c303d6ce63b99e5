"""Fixtures of the API tests."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.api.service import RunningService, settings_for


@pytest.fixture
def api(tmp_path: Path) -> Iterator[RunningService]:
    with RunningService(settings_for(tmp_path)) as running:
        yield running


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    """Undo logging configuration by commands run in this process."""
    handlers = list(logging.root.handlers)
    yield
    structlog.reset_defaults()
    logging.root.handlers[:] = handlers
