"""Sync from a PostgreSQL store to Marquez."""

import pytest

from bridge.store.event_log import drop_run_index
from tests.factories import dataset, dataset_event, facet, job_event, run_event
from tests.stores import empty_postgres
from tests.sync.marquez.marquez_harness import MarquezHarness


@pytest.mark.system("postgres")
def test_pushes_and_compares_runs_jobs_and_governance() -> None:
    with MarquezHarness(empty_postgres()) as synced:
        synced.apply(
            job_event(1, job="declared", inputs=[dataset("in")]),
            run_event("START", 1, run=1),
            run_event("COMPLETE", 2, run=1, outputs=[dataset("out")]),
            dataset_event(3, dataset("out", lineageBridge_governance=facet(description="all", tags=["GOLD"]))),
        ).converge()
        synced.apply(run_event("FAIL", 4, run=2, outputs=[dataset("out")])).converge()
        assert (synced.run_state(1), synced.run_state(2)) == ("COMPLETED", "FAILED")
        assert (synced.client.get_dataset("db", "out") or {})["tags"] == ["GOLD"]
        assert synced.job_io("declared") == (["in"], [])
        assert [difference for batch in synced.reconciler.compare() for difference in batch.differences] == []
        assert synced.reconciler.unsynced_items(10) == []
        drop_run_index(synced.store.db)
