"""How a client proves who it is: a token, a token that a file holds, a login, an OAuth client."""

import base64
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Protocol
from urllib.parse import urlencode

import msgspec

from connectors.http import HttpSession
from connectors.openmetadata.refusal import refusal
from mappers.errors import TargetBusy, TargetLocked


class Token(Protocol):
    """Where the token of a request comes from."""

    def give(self) -> str:
        """Give the token that is held to be valid."""

    def renew(self, refused: str) -> bool:
        """Get another one after a server refused this; False when there is none."""

    def close(self) -> None:
        """Close the connections to where it comes from."""


class FixedToken(NamedTuple):
    """A token that was configured."""

    value: str

    def __repr__(self) -> str:
        return "FixedToken(***)"

    def give(self) -> str:
        """Give it."""
        return self.value

    def renew(self, refused: str) -> bool:  # noqa: ARG002 - the signature is the protocol's
        """There is no other."""
        return False

    def close(self) -> None:
        """Nothing is open."""


class _Kept:
    """A token that is got when it is needed and kept until a server refuses it."""

    def __init__(self, get: Callable[[], str], close: Callable[[], None] = lambda: None) -> None:
        self._get = get
        self.close = close
        self._lock = Lock()
        self._value: str | None = None

    def give(self) -> str:
        """Give the token, got when it is first needed."""
        with self._lock:
            if self._value is None:
                self._value = self._get()
            return self._value

    def renew(self, refused: str) -> bool:
        """Get it anew, unless another thread has done so by now."""
        with self._lock:
            if self._value == refused:
                self._value = self._get()
            return self._value != refused


def file_token(path: Path) -> Token:
    """Read the token from a file, anew when a server refuses it: whoever rotates it writes it there."""

    def read() -> str:
        try:
            text = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise TargetLocked(f"cannot read the token in {path}: {error}") from error
        if not text:
            raise TargetLocked(f"{path} holds no token")
        return text

    return _Kept(read)


class _Issued(msgspec.Struct):
    accessToken: str = ""  # noqa: N815 - the server's spelling
    access_token: str = ""


def login_token(session: HttpSession, email: str, password: str) -> Token:
    """Log in as a person does; the server wants the password in base64."""
    encoded = base64.b64encode(password.encode()).decode()
    body = msgspec.json.encode({"email": email, "password": encoded})

    def login() -> str:
        return _issued(session, "/api/v1/users/login", body, "application/json", "the login")

    return _Kept(login, session.close)


def client_token(session: HttpSession, client_id: str, client_secret: str, scope: str | None = None) -> Token:
    """Get a token for a client from the token URL that the session speaks to."""
    form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": client_secret}
    body = urlencode(form | ({"scope": scope} if scope else {})).encode()

    def ask() -> str:
        return _issued(session, "", body, "application/x-www-form-urlencoded", "the token URL")

    return _Kept(ask, session.close)


def _issued(session: HttpSession, path: str, body: bytes, content_type: str, who: str) -> str:
    answer = session.request("POST", path, body=body, headers={"Content-Type": content_type})
    if not answer.success:
        error = refusal(answer, f"{who} at {session.url}")
        if isinstance(error, TargetBusy):
            raise error
        raise TargetLocked(f"{who} at {session.url} answers {answer.status}: {answer.text[:200]}")
    try:
        issued = msgspec.json.decode(answer.body, type=_Issued)
    except msgspec.DecodeError as error:
        raise TargetLocked(f"{who} at {session.url} gives no token, but {answer.text[:100]!r}") from error
    token = issued.accessToken or issued.access_token
    if not token:
        raise TargetLocked(f"{who} at {session.url} gives no token")
    return token
