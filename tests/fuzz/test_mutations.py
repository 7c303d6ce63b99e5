"""Mutated events are merged, or stored with a reason, and never affect other events."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bridge.store.event_log import IncomingEvent, RejectedInput
from tests.factories import dataset, run_event
from tests.fuzz.mutations import mutated, recorded_events
from tests.stores import Store, as_bytes

_FIXTURE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
_FAILURE = "SELECT failure FROM run_event WHERE event_hash = ?"
_REJECTION = "SELECT reason FROM rejected_event WHERE payload_hash = ?"


def assert_stored(store: Store, item: IncomingEvent | RejectedInput) -> None:
    """Check that an input is stored, with a reason if it is not merged."""
    if isinstance(item, RejectedInput):
        assert store.value(_REJECTION, item.payload_hash), item
    else:
        assert store.rows(_FAILURE, item.event.event_hash) == [(item.failure,)], item


def test_recorded_events_exist() -> None:
    assert len(recorded_events()) > 20


@settings(suppress_health_check=_FIXTURE, max_examples=400)
@given(bodies=st.lists(mutated(), min_size=1, max_size=3), second=st.integers(0, 59))
def test_mutated_events_do_not_affect_their_group(store: Store, bodies: list[bytes], second: int) -> None:
    valid = store.read(run_event(second=second, run=7, outputs=[dataset("good")]))
    items = [*(store.read(body) for body in bodies), valid]
    for item in items:
        assert isinstance(item, IncomingEvent) or item.reason
        assert isinstance(item, RejectedInput) or item.failure is None, item.failure
    store.writer.write(items)
    for item in items:
        assert_stored(store, item)


@pytest.mark.parametrize("body", recorded_events()[:3], ids=range(3))
def test_truncated_events_are_rejected(sqlite_store: Store, body: bytes) -> None:
    for end in range(0, len(body.rstrip()), 97):
        assert isinstance(sqlite_store.read(body[:end]), RejectedInput)


def test_arbitrary_bytes_are_rejected() -> None:
    with Store() as store:

        @given(st.binary(max_size=200))
        def check(body: bytes) -> None:
            assert isinstance(store.read(body), RejectedInput)

        check()


def test_name_of_one_megabyte_is_stored_unchanged(store: Store) -> None:
    name = "n" * (1 << 20)
    store.writer.write([store.read(as_bytes(run_event(job=name)))])
    assert store.value("SELECT name FROM ol_job") == name
