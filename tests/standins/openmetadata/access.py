"""Authentication by token, and permissions of the ingestion bot."""

import base64
import json
from contextlib import suppress
from dataclasses import dataclass

from tests.standins.openmetadata.errors import ApiError


@dataclass(frozen=True)
class Principal:
    """A user of the server."""

    name: str
    bot: bool
    #: Read-only user.
    reader: bool = False


BOT = Principal("ingestion-bot", bot=True)
ADMIN = Principal("admin", bot=False)
READER = Principal("reader", bot=False, reader=True)
_NO_SIGNATURE = (
    "Not Authorized! Invalid token. Token verification failed. Public key mismatch. due to "
    "com.auth0.jwt.exceptions.SignatureVerificationException: The Token's Signature resulted invalid when verified using "
    "the Algorithm: SHA256withRSA"
)


def _has_key_id(token: str) -> bool:
    """Whether the header of a JSON web token names a key; a header that is not JSON counts as one that does."""
    header = token.partition(".")[0]
    with suppress(ValueError):
        return "kid" in json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    return True


class Access:
    """Valid and expired tokens."""

    def __init__(self, bot_token: str, admin_token: str, expired_token: str, reader_token: str) -> None:
        self.tokens = {bot_token: BOT, admin_token: ADMIN, reader_token: READER}
        self.expired = {expired_token}

    def authenticate(self, header: str | None) -> Principal:
        """Return the principal of an Authorization header."""
        scheme, _, token = (header or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise ApiError(401, "Not Authorized! Token not present")
        if token in self.expired:
            raise ApiError(401, "Expired token!")
        if token in self.tokens:
            return self.tokens[token]
        if token.count(".") == 2 and not _has_key_id(token):
            raise ApiError(500, "An exception with message [null] was thrown while processing request.")
        raise ApiError(401, _NO_SIGNATURE if token.count(".") == 2 else "Not Authorized! Invalid token.")

    def add(self, principal: Principal) -> str:
        """Create a token for a principal."""
        token = f"{principal.name}.standin.token"
        self.tokens[token] = principal
        return token

    def expire(self, token: str) -> None:
        """Expire a token."""
        self.expired.add(token)

    def renew(self, old: str, new: str) -> None:
        """Replace a token, as a rotation does."""
        self.tokens[new] = self.tokens.pop(old)


def check_method(principal: Principal, method: str) -> None:
    """Reject writes of read-only users."""
    if principal.reader and method not in {"GET", "HEAD"}:
        raise ApiError(
            403, f"Principal: CatalogPrincipal{{name='{principal.name}'}} operations [{method}] not allowed"
        )


def check_patch(principal: Principal, paths: list[str]) -> None:
    """Reject a PATCH of the bot that changes a property denied by its policy; one such property rejects the whole PATCH."""
    if principal.bot and any(path.split("/")[1:2] == ["displayName"] for path in paths):
        raise ApiError(
            403,
            f"Principal: CatalogPrincipal{{name='{principal.name}'}} operation EditDisplayName denied by role "
            "IngestionBotRole, policy DefaultBotPolicy, rule DisplayName-Deny",
        )
