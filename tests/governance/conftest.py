"""A stand-in of which a steward has pushed nothing yet."""

from collections.abc import Iterator

import pytest

from tests.governance.asset_harness import wrote
from tests.stores import Store
from tests.sync.openmetadata_harness import Synced
from tests.sync.other_writers import Person


@pytest.fixture
def synced(store: Store) -> Iterator[Synced]:
    with Synced(db=store.db) as made:
        person = Person(made.standin)
        person.ask("POST", "users", {"name": "ann", "email": "ann@example.com"})
        person.ask("POST", "users", {"name": "bob", "email": "robert@example.com"})
        made.apply(wrote("t")).converge()
        yield made
