"""Contract of event sources: crashes, stalls, duplicates, reordering, resumption and rejections."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from mappers.errors import TransientError
from tests.contract.sources import SOURCES, Case
from tests.sync.crashes import Crash

MANY = list(range(1, 41))


@pytest.fixture(params=SOURCES, ids=lambda case: case.name)
def make_case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Case]:
    return lambda: request.param(tmp_path_factory.mktemp("source"))


@pytest.fixture
def case(make_case: Callable[[], Case]) -> Iterator[Case]:
    with make_case() as source_case:
        yield source_case


def test_imports_all_events(case: Case) -> None:
    case.put(MANY)
    report = case.source.poll()
    assert (report.accepted, report.rejected) == (len(MANY), 0)
    assert len(case.runs()) == len(MANY)


def test_duplicate_events_change_nothing(case: Case) -> None:
    case.put(MANY)
    case.source.poll()
    before = case.store.export()
    case.put(MANY[:5])
    case.source.poll()
    case.source.poll()
    assert case.store.export() == before


def test_reorder_does_not_change_store(make_case: Callable[[], Case]) -> None:
    stores = []
    for numbers in (MANY, MANY[::-1]):
        with make_case() as case:
            case.put(numbers)
            case.source.poll()
            stores.append(case.store.export())
    assert stores[0] == stores[1]


def test_kill_at_any_step_loses_nothing(make_case: Callable[[], Case]) -> None:
    crashes = 0
    for step in range(1, 60):
        with make_case() as case:
            case.put(MANY)
            case.crash_injector.crash_after(step)
            try:
                case.source.poll()
            except Crash:
                crashes += 1
            else:
                break
            case.connect()
            case.source.poll()
            assert len(case.runs()) == len(MANY), f"after a crash at step {step}"
    assert crashes


def test_stall_resumes_where_source_stopped_responding(case: Case) -> None:
    case.put(MANY[:20])
    case.source.poll()
    case.stop_responding()
    with suppress(TransientError):
        assert case.source.poll().unreadable
    case.respond_again()
    case.put(MANY[20:])
    case.source.poll()
    assert len(case.runs()) == len(MANY)


def test_resume_continues_at_watermark(case: Case) -> None:
    case.put(MANY[:30])
    case.source.poll()
    case.connect()
    case.put(MANY[30:])
    report = case.source.poll()
    assert len(case.runs()) == len(MANY)
    assert report.accepted < len(MANY) or case.name == "marquez", "imported events were read again"


def test_refuse_stores_invalid_input_with_reason_and_continues(case: Case) -> None:
    case.put(MANY[:3])
    case.put_invalid_input()
    case.put(MANY[3:6])
    case.source.poll()
    assert len(case.runs()) >= 6
    assert case.rejected() or case.name == "marquez", "only Marquez never lists invalid events"
