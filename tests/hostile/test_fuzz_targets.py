"""Mutated events through the mappers of every target: no sync stops, and every dead letter has a reason."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.store.event_log import IncomingEvent
from bridge.sync.sync_item import Outcome
from tests.contract.targets import TARGETS, Case
from tests.factories import Json, dataset, run_event, run_uuid, schema
from tests.fuzz.mutations import mutated
from tests.hostile.trials import TIMEOUT, repeat, trial_settings
from tests.stores import Store

_BATCHES = 8
_GOOD_RUNS = 1_000

batches = st.lists(st.lists(mutated(), min_size=1, max_size=4), min_size=1, max_size=_BATCHES)


def good_event(number: int) -> Json:
    """A valid event of its own job and dataset."""
    return run_event(
        "COMPLETE", number, run=_GOOD_RUNS + number, job=f"good{number}",
        outputs=[dataset(f"good{number}", schema=schema("k"))],
    )  # fmt: skip


def apply_batch(case: Case, bodies: list[bytes], number: int) -> None:
    """Write events as one group, including those that are rejected or not merged."""
    store = case.store
    store.writer.write([*(store.read(body) for body in bodies), store.read(good_event(number))])


def assert_delivered(case: Case, number: int) -> None:
    state = repr(case.target_state())
    assert run_uuid(_GOOD_RUNS + number) in state or f"good{number}" in state


@pytest.mark.timeout(TIMEOUT)
@pytest.mark.parametrize("make_case", TARGETS, ids=lambda case: case.name)
def test_mutated_events_do_not_stop_a_target(make_case: type[Case]) -> None:
    @trial_settings(examples=15)
    @given(batches)
    def check(drawn_batches: list[list[bytes]]) -> None:
        with make_case() as case:
            for number, bodies in enumerate(drawn_batches):
                apply_batch(case, bodies, number)
                case.converge()
                assert_delivered(case, number)
            for item in case.items_by(Outcome.DEAD):
                assert item.reason
                assert "cannot be mapped" not in item.reason

    repeat(check)


def test_mutated_events_reach_the_mappers(sqlite_store: Store) -> None:
    merged = []

    @settings(max_examples=100, database=None)
    @given(mutated())
    def read(body: bytes) -> None:
        item = sqlite_store.read(body)
        merged.append(isinstance(item, IncomingEvent) and item.failure is None)

    read()
    assert sum(merged) > len(merged) / 5
