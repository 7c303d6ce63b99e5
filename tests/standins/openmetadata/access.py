"""Who asks: tokens, and what the ingestion bot may not do."""

from dataclasses import dataclass

from tests.standins.openmetadata.errors import ApiError


@dataclass(frozen=True)
class Principal:
    """A user of the server."""

    name: str
    bot: bool
    #: Whether it may do nothing but read.
    reader: bool = False


BOT = Principal("ingestion-bot", bot=True)
ADMIN = Principal("admin", bot=False)
READER = Principal("reader", bot=False, reader=True)
_NO_SIGNATURE = (
    "Not Authorized! Invalid token. Token verification failed. Public key mismatch. due to "
    "com.auth0.jwt.exceptions.SignatureVerificationException: The Token's Signature resulted invalid when verified using "
    "the Algorithm: SHA256withRSA"
)


class Access:
    """The tokens that are good, and those that were."""

    def __init__(self, bot_token: str, admin_token: str, expired_token: str, reader_token: str) -> None:
        self.tokens = {bot_token: BOT, admin_token: ADMIN, reader_token: READER}
        self.expired = {expired_token}

    def who(self, header: str | None) -> Principal:
        """Tell who asks, by the Authorization header."""
        scheme, _, token = (header or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise ApiError(401, "Not Authorized! Token not present")
        if token in self.expired:
            raise ApiError(401, "Expired token!")
        if token in self.tokens:
            return self.tokens[token]
        raise ApiError(401, _NO_SIGNATURE if token.count(".") == 2 else "Not Authorized! Invalid token.")

    def add(self, who: Principal) -> str:
        """Give somebody a token."""
        token = f"{who.name}.standin.token"
        self.tokens[token] = who
        return token

    def expire(self, token: str) -> None:
        """Let a token be expired from now on."""
        self.expired.add(token)

    def renew(self, old: str, new: str) -> None:
        """Give a principal another token, as after a rotation."""
        self.tokens[new] = self.tokens.pop(old)


def check_method(who: Principal, method: str) -> None:
    """Refuse what is more than reading to those who may only read."""
    if who.reader and method not in {"GET", "HEAD"}:
        raise ApiError(403, f"Principal: CatalogPrincipal{{name='{who.name}'}} operations [{method}] not allowed")


def check_patch(who: Principal, paths: list[str]) -> None:
    """Refuse a PATCH that touches what the bot's policy denies; one denied property refuses all of it."""
    if who.bot and any(path.split("/")[1:2] == ["displayName"] for path in paths):
        raise ApiError(
            403,
            f"Principal: CatalogPrincipal{{name='{who.name}'}} operation EditDisplayName denied by role "
            "IngestionBotRole, policy DefaultBotPolicy, rule DisplayName-Deny",
        )
