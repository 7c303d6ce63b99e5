"""Binary PostgreSQL arrays decode to the values that were encoded."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bridge.errors import UnstorableRow
from bridge.store.postgres_arrays import encode_array
from tests.stores import Store

_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
_VALUES: dict[type, st.SearchStrategy[Any]] = {
    bytes: st.one_of(st.binary(), st.binary(min_size=16, max_size=16)),
    str: _TEXT,
    int: st.integers(-(1 << 63), (1 << 63) - 1),
    bool: st.booleans(),
}


@pytest.mark.parametrize("kind", _VALUES)
def test_encoded_values_are_returned_unchanged(postgres_store: Store, kind: type) -> None:
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(st.one_of(st.none(), _VALUES[kind]), min_size=1))
    def check(values: list[Any]) -> None:
        assert postgres_store.db.fetch_all("SELECT * FROM unnest(?1)", encode_array(kind, values)) == [
            (value,) for value in values
        ]

    check()


@pytest.mark.parametrize(("kind", "value"), [(int, 1 << 63), (str, "\ud800")])
def test_value_outside_the_type_is_rejected(kind: type, value: object) -> None:
    with pytest.raises(UnstorableRow):
        encode_array(kind, [value])
