"""A webhook receiver that stores notifications by idempotency key."""

from collections import Counter
from typing import Any, Self

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tests.standins.fault_responses import abort_connection, delay, fault_response
from tests.standins.faults import Faults
from tests.standins.journal import Journal
from tests.standins.server import Server


class Webhook:
    """Server for one test, running inside `with`."""

    def __init__(self) -> None:
        self.faults = Faults()
        self.journal = Journal()
        #: Notifications by idempotency key, in order of first arrival.
        self.received: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self._server = Server(self, name="webhook stand-in")
        self.url = f"http://127.0.0.1:{self._server.port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def calls(self) -> Counter[tuple[str, str]]:
        return self.journal.calls()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        recorded = self.journal.begin(scope["method"], scope["path"], "")
        recorded.body = await request.body()
        fault = self.faults.fault_for(recorded.number, recorded.method, scope["path"])
        await delay(fault)
        if recorded.method == "POST" and (fault.applied or not (fault.reset or fault.status)):
            self.received.setdefault(request.headers["idempotency-key"], msgspec.json.decode(recorded.body))
        if fault.reset:
            await abort_connection(scope, receive)
            return
        await (fault_response(fault) if fault.status else Response(status_code=204))(scope, receive, send)
