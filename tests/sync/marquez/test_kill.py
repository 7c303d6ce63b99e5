"""Whenever the process dies that tells Marquez of jobs, runs and stewards' words, all is there in the end."""

from typing import Any

import pytest

from tests.factories import dataset, dataset_event, facet, job_event, run_event, schema
from tests.sync.crashes import Killed
from tests.sync.marquez.marquez_harness import MarquezSynced

GOVERNANCE = facet(description="all", tags=["GOLD"], columns=[{"name": "a", "sensitive": True}])
TOLD = [
    job_event(1, job="declared", inputs=[dataset("out")], documentation=facet(description="x")),
    job_event(1, job="job", documentation=facet(description="y")),
    run_event("COMPLETE", 2, run=1, outputs=[dataset("out", schema=schema("a"))]),
    dataset_event(3, dataset("out", lineageBridge_governance=GOVERNANCE)),
]
LATER = dataset_event(4, dataset("out", lineageBridge_governance=facet(description="some")))


def there(synced: MarquezSynced) -> Any:
    """Give what the server knows, but for how often it was told."""
    state = synced.there()
    return {key: state[key] for key in ("jobs", "runs", "datasets")}


@pytest.mark.parametrize("later", [False, True])
def test_it_is_in_the_end_as_if_it_had_not(later: bool) -> None:
    with MarquezSynced() as undisturbed:
        undisturbed.apply(*TOLD).converge()
        if later:
            undisturbed.apply(LATER).converge()
        wanted = there(undisturbed)
    died = 0
    for step in range(1, 400):
        with MarquezSynced() as synced:
            synced.apply(*TOLD)
            if later:
                synced.converge()
                synced.apply(LATER)
            synced.mortality.die_after(step)
            try:
                synced.converge()
            except Killed:
                died += 1
            else:
                break
            synced.connect()
            synced.clock.wait(60)
            synced.converge()
            assert there(synced) == wanted, f"it died at step {step}"
    assert died > 5
