"""Random sequences of faults, clock steps and restarts: afterwards everything is delivered, without dead letters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.sync.sync_item import Outcome
from tests.contract.targets import TARGETS, Case
from tests.hostile.test_target_faults import FAULTS, run_for, runs
from tests.hostile.trials import TIMEOUT, repeat, trial_settings

_STEPS = 6
_HOUR = 3_600


class Fail:
    """A fault of the target for some seconds."""

    def __init__(self, fault: str, seconds: int) -> None:
        self.fault = fault
        self.seconds = seconds

    def __repr__(self) -> str:
        return f"Fail({self.fault!r}, {self.seconds})"

    def __call__(self, case: Case) -> None:
        case.standin.faults.plan = FAULTS[self.fault]
        run_for(case, self.seconds)


class SetClock:
    """A step of the clock."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds

    def __repr__(self) -> str:
        return f"SetClock({self.seconds})"

    def __call__(self, case: Case) -> None:
        case.clock.wait(self.seconds)


def restart(case: Case) -> None:
    case.connect()
    case.reconciler.enable()


def recover(case: Case) -> None:
    case.standin.faults.clear()
    run_for(case, 3)


def steps(make_case: type[Case]) -> st.SearchStrategy[list[object]]:
    faults = [name for name in FAULTS if make_case.name != "webhook" or name not in {"HTML", "empty 200"}]
    step = st.one_of(
        st.builds(Fail, st.sampled_from(faults), st.integers(1, 240)),
        st.builds(SetClock, st.sampled_from([-_HOUR, -300, 60, _HOUR])),
        st.just(restart),
        st.just(recover),
    )
    return st.lists(step, min_size=1, max_size=_STEPS)


@pytest.mark.timeout(TIMEOUT)
@pytest.mark.parametrize("make_case", TARGETS, ids=lambda case: case.name)
def test_everything_is_delivered_after_random_faults(make_case: type[Case]) -> None:
    events = runs(2 * _STEPS)
    expected = {}
    for count in range(2, 2 * _STEPS + 1, 2):
        with make_case() as undisturbed:
            undisturbed.apply(*events[:count]).converge()
            expected[count] = undisturbed.target_state()

    @trial_settings(examples=5)
    @given(steps(make_case))
    def check(drawn_steps: list[object]) -> None:
        with make_case() as case:
            case.clock.wait(_STEPS * _HOUR)
            for number, step in enumerate(drawn_steps):
                case.apply(*events[2 * number : 2 * number + 2])
                step(case)  # type: ignore[operator]
            case.standin.faults.clear()
            case.clock.wait(61)
            case.converge()
            assert case.items_by(Outcome.DEAD) == []
            assert case.target_state() == expected[2 * len(drawn_steps)]

    repeat(check)
