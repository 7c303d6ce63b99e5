"""A synced store and stand-in, without pushed assets."""

from collections.abc import Iterator

import pytest

from tests.governance.asset_harness import write_event
from tests.stores import Store
from tests.sync.openmetadata_harness import OpenMetadataHarness
from tests.sync.other_writers import Person


@pytest.fixture
def synced(store: Store) -> Iterator[OpenMetadataHarness]:
    with OpenMetadataHarness(db=store.db) as harness:
        person = Person(harness.standin)
        person.request("POST", "users", {"name": "ann", "email": "ann@example.com"})
        person.request("POST", "users", {"name": "bob", "email": "robert@example.com"})
        harness.apply(write_event("t")).converge()
        yield harness
