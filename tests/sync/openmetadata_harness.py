"""A store and a stand-in for OpenMetadata that a reconciler keeps alike, with a clock of their own."""

from typing import Any, Self

from bridge.store.database import Database
from bridge.sync.openmetadata.options import OpenMetadataOptions
from bridge.sync.openmetadata.target import OpenMetadataTarget
from connectors.http import HttpSession
from connectors.openmetadata.auth import StaticToken, TokenProvider
from connectors.openmetadata.client import OpenMetadataClient
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping
from tests.standins.openmetadata import OpenMetadata as StandIn
from tests.sync.sync_harness import Kept

HOME = "lineage_bridge"
#: `db` is the namespace that the factories of events name.
LAYOUT = ServiceLayout((ServiceMapping("db", "warehouse", "d", "s"), ServiceMapping("jobs", "runs")))


class Synced(Kept):
    """A store, a stand-in and what keeps them alike; rounds run when a test says so."""

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
        """Start anew, as after the death of a process."""
        self.rules, self._token = rules or self.rules, token
        super().connect(url)

    def make_target(self, db: Database, session: HttpSession) -> OpenMetadataTarget:
        given = self._token or self.standin.bot_token
        token = StaticToken(given) if isinstance(given, str) else given
        client = OpenMetadataClient(session, token, self.counted, attempts=2, sleep=lambda _: None)
        return OpenMetadataTarget(db, "default", client, self.rules, self.items, self.clock)

    def entities(self, type_: str) -> dict[str, Any]:
        """Give the entities of a type that are not deleted, by name."""
        found = self.standin.state()["entities"]
        return {name: entity for (kind, name), entity in found.items() if kind == type_ and not entity.get("deleted")}

    def edges(self) -> dict[tuple[str, str], Any]:
        return self.standin.state()["edges"]
