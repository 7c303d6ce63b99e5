"""A stand-in for whoever wants to be told: it remembers what it heard, by the key that came with it."""

from collections import Counter
from typing import Any, Self

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tests.standins.faults import Faults
from tests.standins.journal import Journal
from tests.standins.server import Server
from tests.standins.trouble import close, faulty, wait


class Webhook:
    """A server of its own for each test, inside `with`."""

    def __init__(self) -> None:
        self.faults = Faults()
        self.journal = Journal()
        #: What was heard, by its key, in the order in which it came first.
        self.heard: dict[str, Any] = {}

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
        seen = self.journal.begin(scope["method"], scope["path"], "")
        seen.body = await request.body()
        fault = self.faults.of(seen.number, seen.method, scope["path"])
        await wait(fault)
        if seen.method == "POST" and (fault.applied or not (fault.reset or fault.status)):
            self.heard.setdefault(request.headers["idempotency-key"], msgspec.json.decode(seen.body))
        if fault.reset:
            await close(scope, receive)
            return
        await (faulty(fault) if fault.status else Response(status_code=204))(scope, receive, send)
