"""A stand-in of Marquez, and a client."""

from collections.abc import Iterator

import pytest

from connectors.http import HttpSession
from connectors.marquez.client import MarquezClient
from connectors.session import ThrottledSession
from tests.standins.marquez import Marquez as StandIn


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with StandIn() as running:
        yield running


@pytest.fixture
def client(standin: StandIn) -> Iterator[MarquezClient]:
    marquez_client = MarquezClient(ThrottledSession(HttpSession(standin.url)), attempts=3, sleep=lambda _: None)
    yield marquez_client
    marquez_client.close()
