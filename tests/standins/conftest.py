"""A furnished stand-in for each test."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.standins.client import furnished
from tests.standins.marquez import Marquez


@pytest.fixture
def standin() -> Iterator[tuple[Any, Any]]:
    with furnished() as both:
        yield both


@pytest.fixture
def marquez() -> Iterator[tuple[Marquez, httpx.Client]]:
    """Run a stand-in for Marquez, with a client of its API."""
    with Marquez() as server, httpx.Client(base_url=f"{server.url}/api/v1", timeout=10.0) as client:
        yield server, client
