"""A shelf of versions for every test that asks for one."""

import pytest

from tests.stores import Store
from tests.versions.version_store import Shelf, version


@pytest.fixture
def shelf(store: Store) -> Shelf:
    """Two datasets of three versions each, the last of `orders` by a run that failed."""
    shelf = Shelf(store)
    shelf.write(*(version("orders", f"o{n}", n) for n in (1, 2)), version("orders", "o3", 3, "FAIL"))
    shelf.write(*(version("items", f"i{n}", 10 + n) for n in (1, 2, 3)))
    return shelf
