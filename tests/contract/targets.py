"""Every target, as the contract tries it: what it is told, and how it can be made to fail."""

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
from tests.sync.openmetadata_harness import Synced
from tests.sync.sync_harness import Kept


class Case(Kept):
    """A store and a target that the contract is tried on."""

    #: How a call that writes begins, for faults.
    method = "POST"
    #: How the target refuses something for good.
    refusal: Fault = error(422, "no such thing")
    standin: Any

    @abstractmethod
    def there(self) -> Any:
        """Give all that the target has of us, in a form that can be compared."""

    def writes(self) -> int:
        """Count the calls that write."""
        return sum(count for (method, _), count in self.standin.calls().items() if method in {"POST", "PUT", "PATCH"})

    def refuse(self, times: int = 1) -> None:
        """Let the next calls that write be refused for good."""
        self.standin.faults.next(self.refusal, method=self.method, times=times)

    def lose_answer(self) -> None:
        """Let the next call that writes be done, and not answered."""
        self.standin.faults.next(reset(applied=True), method=self.method)

    def go_away(self) -> None:
        """Let nothing be answered."""
        self.standin.faults.plan = lambda *_: error(503, "away")

    def come_back(self) -> None:
        self.standin.faults.clear()


class OpenMetadataCase(Synced, Case):
    """OpenMetadata."""

    method = "PUT"
    refusal = error(400, "no such thing")

    def there(self) -> Any:
        state = self.standin.state()
        entities = {key for key in state["entities"] if key[0] in {"table", "pipeline"}}
        return entities, set(self.edges()), set(state.get("statuses", ()))


class StandInCase(Case):
    """A target whose stand-in is begun with it."""

    begin: Callable[[], Any]

    def __enter__(self) -> Self:
        self.standin = type(self).begin()
        self.standin.__enter__()
        return super().__enter__()

    def __exit__(self, *failed: object) -> None:
        super().__exit__(*failed)
        self.standin.__exit__(*failed)

    @property
    def url(self) -> str:
        return self.standin.url


class MarquezCase(StandInCase):
    """Marquez."""

    name = "marquez"
    begin = MarquezStandIn

    def make_target(self, db: Database, session: HttpSession) -> MarquezTarget:
        client = MarquezClient(ThrottledSession(session, self.counted), sleep=lambda _: None)
        return MarquezTarget(db, "default", client, self.items)

    def there(self) -> Any:
        state = self.standin.state()
        return state | {"log": set(map(repr, state["log"]))}  # ends are repeated where an older run came after


class WebhookCase(StandInCase):
    """An address that is told."""

    name = "webhook"
    begin = WebhookStandIn

    def __enter__(self) -> Self:
        self.clock.now = 0  # whatever ends from now on is told
        return super().__enter__()

    def make_target(self, db: Database, session: HttpSession) -> WebhookTarget:
        client = WebhookClient(ThrottledSession(session, self.counted))
        states = ("SUCCESS", "FAILED", "CANCELLED")
        return WebhookTarget(db, "default", client, self.items, FoldingRule(), states)

    def there(self) -> Any:
        return sorted((told["run"], told["state"]) for told in self.standin.heard.values())


TARGETS = (OpenMetadataCase, MarquezCase, WebhookCase)
