"""One call of an OpenMetadata server: its token, its pace, its tries, and what its answer means."""

import time
from collections.abc import Callable, Iterator, Mapping
from threading import BoundedSemaphore, Lock
from typing import Any

import msgspec

from connectors.http import HttpAnswer, HttpSession
from connectors.openmetadata.features import Features, features
from connectors.openmetadata.refusal import refusal
from connectors.openmetadata.token import Token
from connectors.pace import Pace
from connectors.tries import tries
from mappers.errors import LineageBridgeError, TargetLocked, TargetRefused, Unreachable

Entity = dict[str, Any]

JSON = {"Content-Type": "application/json"}
_READ_SECONDS = 30.0
_UNAUTHORIZED, _NOT_FOUND = 401, 404


class Calls:
    """Asks one server, no more at once than it may be, and again when that can help. Several threads may share it."""

    def __init__(
        self,
        session: HttpSession,
        token: Token,
        counted: Callable[[str], None] = lambda _: None,
        failed: Callable[[str], None] = lambda _: None,
        *,
        attempts: int = 1,
        concurrency: int = 8,
        pace: Pace | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = session.url
        self._session = session
        self._token = token
        self._counted = counted
        self._failed = failed
        self._pace = pace or Pace()
        self._free = BoundedSemaphore(concurrency)
        self._tries = tries(attempts, sleep)
        self._tries_of_writes = tries(attempts, sleep, again_unanswered=False)
        self._features: Features | None = None
        self._learning = Lock()

    def close(self) -> None:
        """Close the connections."""
        self._session.close()
        self._token.close()

    def about(self, *, again: bool = True) -> HttpAnswer:
        """Ask for the version, for which no token is needed."""
        return self.ask("version", "GET", "/system/version", with_token=False, again=again)

    def features(self) -> Features:
        """Tell what the server can do: asked once, and again after it was away, when it may be another one."""
        with self._learning:
            return self._features or self.learn_features(again=True)

    def learn_features(self, *, again: bool = False) -> Features:
        """Ask what the server can do; something that has no version is no OpenMetadata."""
        try:
            answer = self.about(again=again)
        except TargetRefused as error:
            raise TargetLocked(f"{error}: is it OpenMetadata?") from error
        found = self._features = features(str(decoded(answer, self.url).get("version", "")))
        return found

    def read(self, kind: str, path: str, asked: Mapping[str, str] | None = None) -> Entity:
        """Read what must be there."""
        return decoded(self.ask(kind, "GET", path, asked=asked), self.url)

    def find(self, kind: str, path: str, asked: Mapping[str, str]) -> Entity | None:
        """Read what may be there; whoever says that it is not must be OpenMetadata."""
        self.features()
        answer = self.ask(kind, "GET", path, asked=asked, absent=True)
        return None if answer.status == _NOT_FOUND else decoded(answer, self.url)

    def remove(self, kind: str, path: str, asked: Mapping[str, str] | None = None) -> Entity | None:
        """Delete what may be there; gives what the server says of it then, None when it was not there."""
        answer = self.ask(kind, "DELETE", path, asked=asked, absent=True)
        return None if answer.status == _NOT_FOUND else decoded(answer, self.url)

    def ask(
        self,
        kind: str,
        method: str,
        path: str,
        *,
        body: Any = None,
        asked: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float = _READ_SECONDS,
        with_token: bool = True,
        absent: bool = False,
        again: bool = True,
        again_unanswered: bool = True,
    ) -> HttpAnswer:
        """Ask until the server does it, says that it will not, or was asked often enough."""
        sent = None if body is None else _encoded(body)
        more = {**(headers or JSON if sent is not None else {})}

        def once() -> HttpAnswer:
            try:
                return tried()
            except LineageBridgeError:
                self._failed(kind)
                raise

        def tried() -> HttpAnswer:
            answer = self._once(kind, method, path, sent, asked, more, seconds, with_token)
            if answer.success or (absent and answer.status == _NOT_FOUND):
                return _no_page(answer, self.url)
            raise refusal(answer, f"{self.url}: {method} {_without_names(path)}")

        trying = self._tries if again_unanswered else self._tries_of_writes
        try:
            return trying(once) if again else once()
        except Unreachable:
            self._features = None
            raise

    def _once(
        self,
        kind: str,
        method: str,
        path: str,
        body: bytes | None,
        asked: Mapping[str, str] | None,
        headers: Mapping[str, str],
        seconds: float,
        with_token: bool,
    ) -> HttpAnswer:
        """Ask once; with a token that is refused, once more with another, if there is one."""
        for token in self._tokens() if with_token else [""]:
            proof = {"Authorization": f"Bearer {_sendable(token)}"} if with_token else {}
            self._pace.take()
            with self._free:
                self._counted(kind)
                answer = self._session.request(
                    method,
                    f"/api/v1{path}",
                    body=body,
                    parameters=asked,
                    headers={**headers, **proof},
                    read_seconds=seconds,
                )
            if answer.status != _UNAUTHORIZED:
                break
        return answer

    def _tokens(self) -> Iterator[str]:
        """Give the token, and another one once if this is not taken and there is another."""
        token = self._token.give()
        yield token
        if self._token.renew(token):
            yield self._token.give()


def decoded(answer: HttpAnswer, url: str) -> Entity:
    """Read an answer."""
    try:
        return msgspec.json.decode(answer.body, type=Entity) if answer.body else {}
    except msgspec.DecodeError as error:
        raise _strange(answer, url) from error


def _no_page(answer: HttpAnswer, url: str) -> HttpAnswer:
    """Refuse a page of HTML: it comes from something in between, however good its status is."""
    if answer.body.lstrip()[:1] == b"<":
        raise _strange(answer, url)
    return answer


def _strange(answer: HttpAnswer, url: str) -> TargetLocked:
    said = " ".join(answer.text.split())[:100]
    return TargetLocked(f"{url} answers {said!r} where JSON was expected: is it OpenMetadata?")


def _without_names(path: str) -> str:
    """Cut a path to the kind of thing that it asks for: what is called how is not for logs."""
    return "/".join(path.split("/")[: 3 if path.startswith("/services/") else 2])


def _sendable(token: str) -> str:
    """Refuse a token that no request can carry, before a message repeats it."""
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise TargetLocked("the token holds spaces, line ends or letters that no token has: copy it again")
    return token


def _encoded(body: Any) -> bytes:
    try:
        return msgspec.json.encode(body)
    except (TypeError, UnicodeEncodeError) as error:
        raise TargetRefused(f"cannot be sent: {error}", 0) from error
