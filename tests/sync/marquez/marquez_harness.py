"""A store and a stand-in for Marquez that a reconciler keeps alike, and what can be read there."""

from typing import Any, Self

from connectors.http import HttpSession
from connectors.marquez.client import MarquezClient
from connectors.session import ThrottledSession
from mappers.timestamps import format_timestamp
from tests.contract.targets import MarquezCase
from tests.factories import run_uuid


class MarquezSynced(MarquezCase):
    """A store, a stand-in and what keeps them alike; rounds run when a test says so."""

    def __enter__(self) -> Self:
        super().__enter__()
        #: Asks the server as anybody could.
        self.client = MarquezClient(ThrottledSession(HttpSession(self.standin.url)))
        return self

    def __exit__(self, *failed: object) -> None:
        self.client.close()
        super().__exit__(*failed)

    def forget(self) -> None:
        """Let the server be one that nothing was ever told."""
        self.standin.store.__init__(self.standin.store.now)

    def log(self) -> list[dict[str, Any]]:
        """Give the events of runs in the order in which they arrived."""
        sent = [seen.json() for seen in self.standin.journal.requests if seen.path.endswith("/lineage") and seen.body]
        return [event for event in sent if "run" in event]

    def arrived(self) -> list[tuple[int, str]]:
        """Name the events of runs in the order in which they arrived: the number of the run, and the type."""
        return [(int(event["run"]["runId"][-12:], 16), event["eventType"]) for event in self.log()]

    def listed(self) -> list[dict[str, Any]]:
        """Give the log as the server lists it."""
        return self.client.list_events(format_timestamp(0), "2100-01-01T00:00:00Z", 10_000)

    def state_of(self, number: int) -> str | None:
        """Give the state of a run."""
        found = self.client.get_run(run_uuid(number))
        return found["state"] if found else None

    def graph(self, job: str = "job") -> tuple[list[str], list[str]]:
        """Name what a job reads and writes."""
        found = self.client.get_job("jobs", job) or {}
        inputs, outputs = (sorted(one["name"] for one in found.get(side) or ()) for side in ("inputs", "outputs"))
        return inputs, outputs
