"""A store that a reconciler syncs to the OpenMetadata stand-in, with a manual clock."""

from typing import Any, Self

from bridge.store.database import Database
from bridge.sync.openmetadata.context import OpenMetadataOptions
from bridge.sync.openmetadata.target import OpenMetadataTarget
from connectors.http import HttpSession
from connectors.openmetadata.client import OpenMetadataClient
from connectors.session import StaticToken, TokenProvider
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping
from tests.standins.openmetadata import OpenMetadata as StandIn
from tests.sync.sync_harness import SyncHarness

HOME = "lineage_bridge"
#: `db` and `jobs` are the namespaces used by the event factories.
LAYOUT = ServiceLayout((ServiceMapping("db", "warehouse", "d", "s"), ServiceMapping("jobs", "runs")))


class OpenMetadataHarness(SyncHarness):
    """Store, reconciler and OpenMetadata stand-in; tests run the rounds."""

    name = "openmetadata"

    def __init__(
        self,
        rules: OpenMetadataOptions = OpenMetadataOptions(LAYOUT),
        standin: StandIn | None = None,
        db: Database | None = None,
    ) -> None:
        super().__init__(db)
        self.standin = standin or StandIn()
        self._own_standin = standin is None
        self.rules = rules
        self._token: str | TokenProvider | None = None

    def __enter__(self) -> Self:
        if self._own_standin:
            self.standin.__enter__()
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        if self._own_standin:
            self.standin.__exit__(*error)

    @property
    def url(self) -> str:
        return self.standin.url

    def connect(
        self,
        rules: OpenMetadataOptions | None = None,
        token: str | TokenProvider | None = None,
        url: str | None = None,
    ) -> None:
        """Replace reconciler, target and session, as a restarted process does."""
        self.rules, self._token = rules or self.rules, token
        super().connect(url)

    def make_target(self, db: Database, session: HttpSession) -> OpenMetadataTarget:
        token = self._token or self.standin.bot_token
        if isinstance(token, str):
            token = StaticToken(token)
        self.client = OpenMetadataClient(session, token, self.count_call, attempts=2, sleep=lambda _: None)
        return OpenMetadataTarget(db, "default", self.client, self.rules, self.items, self.clock)

    def entities(self, type_: str) -> dict[str, Any]:
        """Entities of a type that are not deleted, by name."""
        all_entities = self.standin.state()["entities"]
        return {
            name: entity
            for (kind, name), entity in all_entities.items()
            if kind == type_ and not entity.get("deleted")
        }

    def edges(self) -> dict[tuple[str, str], Any]:
        return self.standin.state()["edges"]
