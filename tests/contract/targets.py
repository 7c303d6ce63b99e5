"""Sync targets under the contract tests: their state, and how to simulate failures."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

from bridge.store.database import Database
from bridge.sync.marquez.target import MarquezTarget
from bridge.sync.webhook.target import WebhookTarget
from connectors.http import HttpSession
from connectors.marquez.client import MarquezClient
from connectors.session import ThrottledSession
from connectors.webhook.client import WebhookClient
from mappers.logical_job import FoldingRule
from tests.standins.faults import Fault, error, reset
from tests.standins.marquez import Marquez as MarquezStandIn
from tests.standins.webhook import Webhook as WebhookStandIn
from tests.sync.openmetadata_harness import OpenMetadataHarness
from tests.sync.sync_harness import SyncHarness


class Case(SyncHarness):
    """A sync harness whose stand-in can fail on request."""

    #: HTTP method of write requests, for faults.
    method = "POST"
    #: Response that rejects a request permanently.
    rejection: Fault = error(422, "no such thing")
    standin: Any

    @abstractmethod
    def target_state(self) -> Any:
        """Everything that we wrote to the target, in a comparable form."""

    def write_count(self) -> int:
        """Number of write requests."""
        return sum(count for (method, _), count in self.standin.calls().items() if method in {"POST", "PUT", "PATCH"})

    def reject(self, times: int = 1) -> None:
        """Reject the next write requests permanently."""
        self.standin.faults.next(self.rejection, method=self.method, times=times)

    def lose_response(self) -> None:
        """Apply the next write request, but drop the response."""
        self.standin.faults.next(reset(applied=True), method=self.method)

    def stop_responding(self) -> None:
        """Fail every request with 503."""
        self.standin.faults.plan = lambda *_: error(503, "away")

    def respond_again(self) -> None:
        self.standin.faults.clear()


class OpenMetadataCase(OpenMetadataHarness, Case):
    method = "PUT"
    rejection = error(400, "no such thing")

    def target_state(self) -> Any:
        state = self.standin.state()
        entities = {key for key in state["entities"] if key[0] in {"table", "pipeline"}}
        return entities, set(self.edges()), set(state.get("statuses", ()))


class StandInCase(Case):
    """A target that starts its own stand-in."""

    standin_class: Callable[[], Any]

    def __enter__(self) -> Self:
        self.standin = type(self).standin_class()
        self.standin.__enter__()
        return super().__enter__()

    def __exit__(self, *exc_info: object) -> None:
        super().__exit__(*exc_info)
        self.standin.__exit__(*exc_info)

    @property
    def url(self) -> str:
        return self.standin.url


class MarquezCase(StandInCase):
    name = "marquez"
    standin_class = MarquezStandIn

    def make_target(self, db: Database, session: HttpSession) -> MarquezTarget:
        client = MarquezClient(ThrottledSession(session, self.count_call), sleep=lambda _: None)
        return MarquezTarget(db, "default", client, self.items)

    def target_state(self) -> Any:
        state = self.standin.state()
        return state | {
            "log": set(map(repr, state["log"]))
        }  # the end of the newest run is repeated after an older run


class WebhookCase(StandInCase):
    name = "webhook"
    standin_class = WebhookStandIn

    def __enter__(self) -> Self:
        self.clock.now = 0  # notifications start here
        return super().__enter__()

    def make_target(self, db: Database, session: HttpSession) -> WebhookTarget:
        client = WebhookClient(ThrottledSession(session, self.count_call))
        states = ("SUCCESS", "FAILED", "CANCELLED")
        return WebhookTarget(db, "default", client, self.items, FoldingRule(), states)

    def target_state(self) -> Any:
        return sorted((notification["run"], notification["state"]) for notification in self.standin.received.values())


TARGETS = (OpenMetadataCase, MarquezCase, WebhookCase)
