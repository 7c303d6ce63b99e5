"""Large JSON is encoded in parts, with the same result."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappers import canonical_json as module
from mappers.canonical_json import canonical_json, decode_for_encoding
from mappers.openlineage.event import parse_event
from tests.factories import dataset, facet, run_event
from tests.stores import as_bytes

texts = st.text(max_size=5)
scalars = st.one_of(st.none(), st.booleans(), st.integers(-(1 << 53), 1 << 53), st.floats(allow_nan=False), texts)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=20,
)


@given(values, st.integers(0, 40))
def test_parts_are_encoded_like_the_whole(value: object, part_size: int) -> None:
    raw = msgspec.json.format(msgspec.json.encode(value), indent=2)
    whole = canonical_json(msgspec.json.decode(raw))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LARGE_BYTES", part_size)
        assert canonical_json(decode_for_encoding(raw)) == whole


@pytest.mark.parametrize("time", ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00.000+01:00"])
def test_hash_of_a_large_event_is_that_of_the_same_small_event(monkeypatch: pytest.MonkeyPatch, time: str) -> None:
    nominal_time = facet(nominalStartTime=time, nominalEndTime=None)
    event = run_event(run_facets={"nominalTime": nominal_time}, outputs=[dataset("t", raw=facet(text="x" * 500))])
    parsed = parse_event(as_bytes(event))
    monkeypatch.setattr(module, "LARGE_BYTES", 100)
    assert parse_event(as_bytes(event))._replace(redacted_body=None) == parsed
