"""A store that a reconciler syncs to the Marquez stand-in, with readers for the state of Marquez."""

from contextlib import closing
from typing import Any, Self

from connectors.http import HttpSession
from connectors.marquez.client import MarquezClient
from connectors.session import ThrottledSession
from mappers.timestamps import format_timestamp
from tests.contract.targets import MarquezCase
from tests.factories import run_uuid


class MarquezHarness(MarquezCase):
    """Store, reconciler and Marquez stand-in; tests run the rounds."""

    def __enter__(self) -> Self:
        super().__enter__()
        self.client = MarquezClient(ThrottledSession(HttpSession(self.standin.url)))
        return self

    def __exit__(self, *error: object) -> None:
        self.client.close()
        super().__exit__(*error)

    def clear_standin(self) -> None:
        """Delete everything in the stand-in."""
        self.standin.store.__init__(self.standin.store.now)

    def request(self, method: str, path: str) -> None:
        """Change the stand-in as another client does."""
        with closing(HttpSession(self.standin.url)) as session:
            assert session.request(method, f"/api/v1{path}").success

    def run_events(self) -> list[dict[str, Any]]:
        """List the run events in order of arrival."""
        sent = [
            request.json()
            for request in self.standin.journal.requests
            if request.path.endswith("/lineage") and request.body
        ]
        return [event for event in sent if "run" in event]

    def received_runs(self) -> list[tuple[int, str]]:
        """List number and event type of the run events in order of arrival."""
        return [(int(event["run"]["runId"][-12:], 16), event["eventType"]) for event in self.run_events()]

    def list_events(self) -> list[dict[str, Any]]:
        return self.client.list_events(format_timestamp(0), "2100-01-01T00:00:00Z", 10_000)

    def run_state(self, number: int) -> str | None:
        run = self.client.get_run(run_uuid(number))
        return run["state"] if run else None

    def job_io(self, job: str = "job") -> tuple[list[str], list[str]]:
        """List the names of the inputs and outputs of a job."""
        job_info = self.client.get_job("jobs", job) or {}
        inputs, outputs = (
            sorted(dataset["name"] for dataset in job_info.get(side) or ()) for side in ("inputs", "outputs")
        )
        return inputs, outputs
