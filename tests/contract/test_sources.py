"""What every source does, whatever happens: killed, stalled, told twice, out of order, left and refused."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from mappers.errors import TransientError
from tests.contract.sources import SOURCES, Case
from tests.sync.crashes import Killed

MANY = list(range(1, 41))


@pytest.fixture(params=SOURCES, ids=lambda case: case.name)
def make(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Case]:
    return lambda: request.param(tmp_path_factory.mktemp("source"))


@pytest.fixture
def case(make: Callable[[], Case]) -> Iterator[Case]:
    with make() as made:
        yield made


def test_what_is_there_is_taken(case: Case) -> None:
    case.put(MANY)
    report = case.source.poll()
    assert (report.accepted, report.rejected) == (len(MANY), 0)
    assert len(case.runs()) == len(MANY)


def test_duplicate_what_was_taken_changes_nothing(case: Case) -> None:
    case.put(MANY)
    case.source.poll()
    before = case.store.export()
    case.put(MANY[:5])
    case.source.poll()
    case.source.poll()
    assert case.store.export() == before


def test_reorder_any_order_gives_the_same_store(make: Callable[[], Case]) -> None:
    stores = []
    for numbers in (MANY, MANY[::-1]):
        with make() as case:
            case.put(numbers)
            case.source.poll()
            stores.append(case.store.export())
    assert stores[0] == stores[1]


def test_kill_whenever_it_dies_nothing_is_lost(make: Callable[[], Case]) -> None:
    died = 0
    for step in range(1, 60):
        with make() as case:
            case.put(MANY)
            case.mortality.die_after(step)
            try:
                case.source.poll()
            except Killed:
                died += 1
            else:
                break
            case.connect()
            case.source.poll()
            assert len(case.runs()) == len(MANY), f"it died at step {step}"
    assert died


def test_stall_one_that_does_not_answer_is_asked_again_from_there(case: Case) -> None:
    case.put(MANY[:20])
    case.source.poll()
    case.go_away()
    with suppress(TransientError):  # what does not answer is told so
        assert case.source.poll().unreadable, "and so is what cannot be read"
    case.come_back()
    case.put(MANY[20:])
    case.source.poll()
    assert len(case.runs()) == len(MANY)


def test_resume_it_goes_on_where_it_was_left(case: Case) -> None:
    case.put(MANY[:30])
    case.source.poll()
    case.connect()
    case.put(MANY[30:])
    report = case.source.poll()
    assert len(case.runs()) == len(MANY)
    assert report.accepted < len(MANY) or case.name == "marquez", "what was taken is not read again"


def test_refuse_what_is_no_event_is_kept_with_the_reason_and_stops_nothing(case: Case) -> None:
    case.put(MANY[:3])
    case.put_nonsense()
    case.put(MANY[3:6])
    case.source.poll()
    assert len(case.runs()) >= 6
    assert case.rejected() or case.name == "marquez", "Marquez lists nothing that is no event"
