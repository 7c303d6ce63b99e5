"""Tokens: configured, from a file, by login, by OAuth client credentials."""

import base64
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Protocol
from urllib.parse import urlencode

import msgspec

from connectors.errors import TargetMisconfigured, TargetUnavailable
from connectors.http import HttpSession
from connectors.openmetadata.response_errors import response_error


class TokenProvider(Protocol):
    """Where the token of a request comes from."""

    def get(self) -> str:
        """Give the token that is held to be valid."""

    def refresh(self, refused: str) -> bool:
        """Get another one after a server refused this; False when there is none."""

    def close(self) -> None:
        """Close the connections to where it comes from."""


class StaticToken(NamedTuple):
    """A token that was configured."""

    value: str

    def __repr__(self) -> str:
        return "FixedToken(***)"

    def get(self) -> str:
        """Give it."""
        return self.value

    def refresh(self, refused: str) -> bool:  # noqa: ARG002 - the signature is the protocol's
        """There is no other."""
        return False

    def close(self) -> None:
        """Nothing is open."""


class _CachedToken:
    """A token that is got when it is needed and kept until a server refuses it."""

    def __init__(self, get: Callable[[], str], close: Callable[[], None] = lambda: None) -> None:
        self._get = get
        self.close = close
        self._lock = Lock()
        self._value: str | None = None

    def get(self) -> str:
        """Give the token, got when it is first needed."""
        with self._lock:
            if self._value is None:
                self._value = self._get()
            return self._value

    def refresh(self, refused: str) -> bool:
        """Get it anew, unless another thread has done so by now."""
        with self._lock:
            if self._value == refused:
                self._value = self._get()
            return self._value != refused


def file_token(path: Path) -> TokenProvider:
    """Read the token from a file, anew when a server refuses it: whoever rotates it writes it there."""

    def read() -> str:
        try:
            text = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise TargetMisconfigured(f"cannot read the token in {path}: {error}") from error
        if not text:
            raise TargetMisconfigured(f"{path} holds no token")
        return text

    return _CachedToken(read)


class _TokenResponse(msgspec.Struct):
    accessToken: str = ""  # noqa: N815 - the server's spelling
    access_token: str = ""


def login_token(session: HttpSession, email: str, password: str) -> TokenProvider:
    """Log in as a person does; the server wants the password in base64."""
    encoded = base64.b64encode(password.encode()).decode()
    body = msgspec.json.encode({"email": email, "password": encoded})

    def login() -> str:
        return _issued(session, "/api/v1/users/login", body, "application/json", "the login")

    return _CachedToken(login, session.close)


def oauth_client_token(
    session: HttpSession, client_id: str, client_secret: str, scope: str | None = None
) -> TokenProvider:
    """Get a token for a client from the token URL that the session speaks to."""
    form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": client_secret}
    body = urlencode(form | ({"scope": scope} if scope else {})).encode()

    def ask() -> str:
        return _issued(session, "", body, "application/x-www-form-urlencoded", "the token URL")

    return _CachedToken(ask, session.close)


def _issued(session: HttpSession, path: str, body: bytes, content_type: str, who: str) -> str:
    answer = session.request("POST", path, body=body, headers={"Content-Type": content_type})
    if not answer.success:
        error = response_error(answer, f"{who} at {session.url}")
        if isinstance(error, TargetUnavailable):
            raise error
        raise TargetMisconfigured(f"{who} at {session.url} answers {answer.status}: {answer.text[:200]}")
    try:
        issued = msgspec.json.decode(answer.body, type=_TokenResponse)
    except msgspec.DecodeError as error:
        raise TargetMisconfigured(f"{who} at {session.url} gives no token, but {answer.text[:100]!r}") from error
    token = issued.accessToken or issued.access_token
    if not token:
        raise TargetMisconfigured(f"{who} at {session.url} gives no token")
    return token
