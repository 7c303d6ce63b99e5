"""A stand-in for an OpenMetadata 2.0 server, with the observed strictness and quirks of the real one."""

import copy
from collections import Counter
from typing import Any, ClassVar, Self

from tests.standins.faults import Faults
from tests.standins.journal import Journal, RecordedRequest
from tests.standins.openmetadata import builtin_entities, types
from tests.standins.openmetadata.access import Access, Principal
from tests.standins.openmetadata.app import App
from tests.standins.openmetadata.governance import Governance
from tests.standins.openmetadata.invalid_bodies import Check, InvalidBody
from tests.standins.openmetadata.lineage import render_edge
from tests.standins.openmetadata.state import Data, Store
from tests.standins.openmetadata.system import VERSION
from tests.standins.openmetadata.views import REFERENCES
from tests.standins.server import Server

BOT_TOKEN = "bot.standin.token"
ADMIN_TOKEN = "admin.standin.token"
READER_TOKEN = "reader.standin.token"
EXPIRED_TOKEN = "expired.standin.token"
ADMIN_PASSWORD = "admin"


class OpenMetadata:
    """Server for one test: on a port inside `with`, or in-process as the ASGI application `app`.

    with OpenMetadata() as standin:
        standin.faults.next(error(503), method="PUT", times=2)
        sync(standin.url, standin.bot_token)
        assert ("table", "svc.d.s.t") in standin.state()["entities"]
        assert standin.calls()["PUT", "/api/v1/tables/bulk"] == 3
    """

    #: Additional validation of accepted bodies; conftest.py sets it if the models of OpenMetadata are installed.
    check: ClassVar[Check | None] = None

    def __init__(
        self,
        *,
        bot_token: str = BOT_TOKEN,
        admin_token: str = ADMIN_TOKEN,
        expired_token: str = EXPIRED_TOKEN,
        admin_password: str = ADMIN_PASSWORD,
        version: str = VERSION,
        port: int = 0,
    ) -> None:
        self.bot_token = bot_token
        self.admin_token = admin_token
        self.expired_token = expired_token
        #: A token that this server never issued.
        self.invalid_token = "not-a-token"
        #: Token of a read-only user.
        self.reader_token = READER_TOKEN
        self.store = Store()
        types.add_builtin_types(self.store)
        builtin_entities.add_builtin_entities(self.store)
        self.access = Access(bot_token, admin_token, expired_token, READER_TOKEN)
        self.faults = Faults()
        self.journal = Journal()
        self.app = App(self.store, self.access, self.faults, self.journal, "http://localhost:8585", version)
        self.app.logins = {("admin@open-metadata.org", admin_password): admin_token}
        self.app.check = type(self).check
        self._port = port
        self._server: Server | None = None

    def __enter__(self) -> Self:
        self._server = Server(self.app, self._port, "openmetadata stand-in")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    @property
    def url(self) -> str:
        """Base URL, without `/api`."""
        assert self._server is not None, "the stand-in listens inside `with` only"
        return f"http://127.0.0.1:{self._server.port}"

    @property
    def governance(self) -> Governance:
        """Users, teams, domains, products, tags and custom properties that entities may refer to."""
        return self.store.governance

    @property
    def requests(self) -> list[RecordedRequest]:
        return self.journal.requests

    @property
    def invalid_bodies(self) -> list[InvalidBody]:
        """Accepted bodies that the models of OpenMetadata reject."""
        return self.app.invalid_bodies

    def calls(self) -> Counter[tuple[str, str]]:
        """Count the calls by method and route, as ("PUT", "/api/v1/tables/bulk")."""
        return self.journal.calls()

    def add_person(self, name: str) -> str:
        """Add an admin and return the token."""
        self.governance.add("user", name)
        return self.access.add(Principal(name, bot=False))

    def expire_bot(self) -> None:
        """Expire the token of the bot."""
        self.access.expire(self.bot_token)

    def renew_bot(self, token: str) -> None:
        """Replace the token of the bot."""
        self.access.renew(self.bot_token, token)
        self.bot_token = token

    def state(self) -> dict[str, dict[Any, Any]]:
        """Full state.

        Entities by (type, name), edges by (from name, to name), statuses by pipeline, test cases and their results by
        the name of the case, profiles by table.
        """
        with self.store.lock:
            names = {entity.id: entity.fqn for entity in self.store.by_id.values()}
            entities = {(e.kind.name, e.fqn): _plain(e.id, e.data) for e in self.store.assets()}
            edges = {(names[a], names[b]): copy.deepcopy(render_edge(d)) for (a, b), d in self.store.edges.items()}
            statuses = {names[i]: [copy.deepcopy(rows[at]) for at in sorted(rows)] for i, rows in self._runs()}
            quality = self._quality(names)
        return {"entities": entities, "edges": edges, "statuses": statuses, **quality}

    def _quality(self, names: dict[str, str]) -> dict[str, dict[Any, Any]]:
        cases = self.store.checks.cases.values()
        quality: dict[str, dict[Any, Any]] = {
            "cases": {
                case.fqn: {"id": case.id, "testDefinition": case.definition.data["fullyQualifiedName"], **case.data}
                for case in cases
            },
            "results": {
                case.fqn: [case.results[at] for at in sorted(case.results)] for case in cases if case.results
            },
            "profiles": {names[table]: vars(profiles) for table, profiles in self.store.profiles.items()},
        }
        return copy.deepcopy(quality)

    def _runs(self) -> list[tuple[str, dict[int, Data]]]:
        return [(pipeline, rows) for pipeline, rows in self.store.statuses.items() if rows]


def _plain(id_: str, data: Data) -> Data:
    out = {"id": id_, **{name: value for name, value in data.items() if name not in REFERENCES}}
    out = copy.deepcopy(out)
    return out | {name: [entity.reference() for entity in data[name]] for name in REFERENCES if name in data}
