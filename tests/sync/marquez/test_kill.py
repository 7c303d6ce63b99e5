"""Crashes during a sync to Marquez."""

from typing import Any

import pytest

from tests.factories import dataset, dataset_event, facet, job_event, run_event, schema
from tests.sync.crashes import Crash
from tests.sync.marquez.marquez_harness import MarquezHarness

GOVERNANCE = facet(description="all", tags=["GOLD"], columns=[{"name": "a", "sensitive": True}])
EVENTS = [
    job_event(1, job="declared", inputs=[dataset("out")], documentation=facet(description="x")),
    job_event(1, job="job", documentation=facet(description="y")),
    run_event("COMPLETE", 2, run=1, outputs=[dataset("out", schema=schema("a"))]),
    dataset_event(3, dataset("out", lineageBridge_governance=GOVERNANCE)),
]
LATER_EVENT = dataset_event(4, dataset("out", lineageBridge_governance=facet(description="some")))


def server_state(synced: MarquezHarness) -> Any:
    """State of the server without the event log, in which events may be repeated."""
    state = synced.target_state()
    return {key: state[key] for key in ("jobs", "runs", "datasets")}


@pytest.mark.parametrize("with_later_event", [False, True])
def test_crash_at_any_step_does_not_change_result(with_later_event: bool) -> None:
    with MarquezHarness() as undisturbed:
        undisturbed.apply(*EVENTS).converge()
        if with_later_event:
            undisturbed.apply(LATER_EVENT).converge()
        expected = server_state(undisturbed)
    crashes = 0
    for step in range(1, 400):
        with MarquezHarness() as synced:
            synced.apply(*EVENTS)
            if with_later_event:
                synced.converge()
                synced.apply(LATER_EVENT)
            synced.crash_injector.crash_after(step)
            try:
                synced.converge()
            except Crash:
                crashes += 1
            else:
                break
            synced.connect()
            synced.clock.wait(60)
            synced.converge()
            assert server_state(synced) == expected, f"after a crash at step {step}"
    assert crashes > 5
