"""API key authentication and scope checks."""

import hashlib
from collections.abc import Sequence

from starlette.responses import Response

from bridge.api.problem import problem
from bridge.settings.model import ApiKey, ApiScope


class Authorizer:
    """Checks the bearer key of a request. If no keys are configured, loopback clients have all permissions."""

    def __init__(self, keys: Sequence[ApiKey]) -> None:
        self._scopes = {key.sha256: frozenset(key.scopes) for key in keys}
        self._names = {key.sha256: key.name for key in keys}

    def authorize(self, authorization: str | None, scope: ApiScope) -> Response | None:
        """Return a denial, or None if the request is allowed.

        Keys consist of 256 random bits and are looked up by hash, so the lookup time reveals nothing about a key.
        """
        if not self._scopes:
            return None
        auth_scheme, _, key = (authorization or "").partition(" ")
        if auth_scheme.lower() != "bearer" or not key:
            return problem(401, "Key required", "send an API key as `Authorization: Bearer <key>`")
        digest = _digest(key)
        scopes = self._scopes.get(digest)
        if scopes is None:
            return problem(401, "Unknown key", "this API key is not in server.api_keys")
        if scope not in scopes:
            return problem(403, "Not allowed", f"the key {self._names[digest]} lacks the scope {scope}")
        return None

    def principal(self, authorization: str | None) -> str | None:
        """Return the author to record for a command: the name of the API key, or None if no keys are configured."""
        if not self._names:
            return None
        digest = _digest((authorization or "").partition(" ")[2])
        return f"key {self._names[digest]}" if digest in self._names else None


def _digest(key: str) -> str:
    return hashlib.sha256(key.strip().encode("utf-8", "replace")).hexdigest()
