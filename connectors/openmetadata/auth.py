"""Provides tokens from the configuration, a file, a login, or OAuth client credentials."""

import base64
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from urllib.parse import urlencode

import msgspec

from connectors.errors import TargetMisconfigured, TargetUnavailable
from connectors.http import HttpSession
from connectors.openmetadata.response_errors import response_error
from connectors.session import TokenProvider


class _CachedToken:
    """A token that is fetched on first use and cached until the server rejects it."""

    def __init__(self, fetch: Callable[[], str], close: Callable[[], None] = lambda: None) -> None:
        self._fetch = fetch
        self.close = close
        self._lock = Lock()
        self._token: str | None = None

    def get(self) -> str:
        """Return the cached token, or fetch it on first use."""
        with self._lock:
            if self._token is None:
                self._token = self._fetch()
            return self._token

    def refresh(self, rejected_token: str) -> bool:
        """Fetch a new token unless another thread already has; returns False if the new token is the same."""
        with self._lock:
            if self._token == rejected_token:
                self._token = self._fetch()
            return self._token != rejected_token


def file_token_provider(path: Path) -> TokenProvider:
    """Provide the token in a file; a rejected token is read again, because the file may contain a rotated token."""

    def read_token() -> str:
        try:
            token = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise TargetMisconfigured(f"cannot read the token in {path}: {error}") from error
        if not token:
            raise TargetMisconfigured(f"{path} contains no token")
        return token

    return _CachedToken(read_token)


class _TokenResponse(msgspec.Struct):
    accessToken: str = ""  # noqa: N815 - the server's spelling
    access_token: str = ""


def login_token_provider(session: HttpSession, email: str, password: str) -> TokenProvider:
    """Provide a token by logging in with email and password; the server expects the password in base64."""
    encoded_password = base64.b64encode(password.encode()).decode()
    body = msgspec.json.encode({"email": email, "password": encoded_password})

    def login() -> str:
        return _request_token(session, "/api/v1/users/login", body, "application/json", "the login")

    return _CachedToken(login, session.close)


def oauth_token_provider(
    session: HttpSession, client_id: str, client_secret: str, scope: str | None = None
) -> TokenProvider:
    """Provide a token by the OAuth client credentials grant; the URL of the session is the token URL."""
    form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": client_secret}
    if scope:
        form["scope"] = scope
    body = urlencode(form).encode()

    def request_token() -> str:
        return _request_token(session, "", body, "application/x-www-form-urlencoded", "the token URL")

    return _CachedToken(request_token, session.close)


def _request_token(session: HttpSession, path: str, body: bytes, content_type: str, issuer: str) -> str:
    response = session.request("POST", path, body=body, headers={"Content-Type": content_type})
    if not response.success:
        error = response_error(response, f"{issuer} at {session.url}")
        if isinstance(error, TargetUnavailable):
            raise error
        raise TargetMisconfigured(
            f"{issuer} at {session.url} responded with {response.status}: {response.text[:200]}"
        )
    try:
        decoded = msgspec.json.decode(response.body, type=_TokenResponse)
    except msgspec.DecodeError as error:
        raise TargetMisconfigured(
            f"{issuer} at {session.url} returned no token, but {response.text[:100]!r}"
        ) from error
    token = decoded.accessToken or decoded.access_token
    if not token:
        raise TargetMisconfigured(f"{issuer} at {session.url} returned no token")
    return token
