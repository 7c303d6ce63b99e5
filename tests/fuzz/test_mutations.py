"""Whatever comes in is merged, kept with a reason or refused with a reason, and harms nothing that came with it."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bridge.store.event_log import IncomingEvent, RejectedInput
from tests.factories import dataset, run_event
from tests.fuzz.mutations import captured, mutated
from tests.stores import Store, as_bytes

_FIXTURE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
_LOGGED = "SELECT failure FROM run_event WHERE event_hash = ?"
_REFUSED = "SELECT reason FROM rejected_event WHERE payload_hash = ?"


def assert_kept(store: Store, item: IncomingEvent | RejectedInput) -> None:
    """Hold that an input is in the store, with the reason why not when it is not merged."""
    if isinstance(item, RejectedInput):
        assert store.value(_REFUSED, item.payload_hash), item
    else:
        assert store.rows(_LOGGED, item.event.event_hash) == [(item.failure,)], item


def test_there_are_captured_events_to_spoil() -> None:
    assert len(captured()) > 20


@settings(suppress_health_check=_FIXTURE, max_examples=400)
@given(sent=st.lists(mutated(), min_size=1, max_size=3), second=st.integers(0, 59))
def test_a_spoilt_event_never_harms_its_group(store: Store, sent: list[bytes], second: int) -> None:
    good = store.read(run_event(second=second, run=7, outputs=[dataset("good")]))
    items = [*(store.read(body) for body in sent), good]
    for item in items:
        assert isinstance(item, IncomingEvent) or item.reason
        assert isinstance(item, RejectedInput) or item.failure is None, item.failure
    store.writer.write(items)
    for item in items:
        assert_kept(store, item)


@pytest.mark.parametrize("body", captured()[:3], ids=range(3))
def test_an_event_cut_anywhere_is_refused(sqlite_store: Store, body: bytes) -> None:
    for end in range(0, len(body.rstrip()), 97):
        assert isinstance(sqlite_store.read(body[:end]), RejectedInput)


def test_bytes_of_any_kind_are_refused() -> None:
    with Store() as store:

        @given(st.binary(max_size=200))
        def check(body: bytes) -> None:
            assert isinstance(store.read(body), RejectedInput)

        check()


def test_text_of_one_megabyte_is_kept_whole(store: Store) -> None:
    name = "n" * (1 << 20)
    store.writer.write([store.read(as_bytes(run_event(job=name)))])
    assert store.value("SELECT name FROM ol_job") == name
