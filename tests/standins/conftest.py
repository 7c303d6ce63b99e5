from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.standins.client import running_standin
from tests.standins.marquez import Marquez


@pytest.fixture
def standin() -> Iterator[tuple[Any, Any]]:
    with running_standin() as server_and_client:
        yield server_and_client


@pytest.fixture
def marquez() -> Iterator[tuple[Marquez, httpx.Client]]:
    """A Marquez stand-in and a client of its API."""
    with Marquez() as server, httpx.Client(base_url=f"{server.url}/api/v1", timeout=10.0) as client:
        yield server, client
