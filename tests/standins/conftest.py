"""A furnished stand-in for each test."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.standins.client import furnished


@pytest.fixture
def standin() -> Iterator[tuple[Any, Any]]:
    with furnished() as both:
        yield both
