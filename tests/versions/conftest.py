"""The fixture of the version tests."""

import pytest

from tests.stores import Store
from tests.versions.version_store import VersionStore, version


@pytest.fixture
def version_store(store: Store) -> VersionStore:
    """Two datasets with three versions each; the last version of `orders` is of a failed run."""
    version_store = VersionStore(store)
    version_store.write(*(version("orders", f"o{n}", n) for n in (1, 2)), version("orders", "o3", 3, "FAIL"))
    version_store.write(*(version("items", f"i{n}", 10 + n) for n in (1, 2, 3)))
    return version_store
