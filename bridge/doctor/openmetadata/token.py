"""Whether the token is taken, and whose it is."""

from typing import Any

from bridge.doctor.finding import Finding, Level
from mappers.errors import TargetBusy, Unreachable

#: What to do, by what is said; the first that fits.
_REMEDIES = {
    "the login at": "correct openmetadata.auth.username (an e-mail address) and password; single sign-on has none",
    "the token URL at": "correct openmetadata.auth.token_url, client_id, client_secret and scope",
    "Expired token": "make the bot a new token (Settings, Bots), and put it where the old one is",
    "Token not present": "let the Authorization header pass: a proxy in between takes it away",
    "Invalid token": "copy the whole token of a bot of this very server (Settings, Bots)",
    "cannot read the token": "let the file be there, readable for the user of the service",
    "holds no token": "write the bot's token into it",
    "the token holds": "copy it again, in one line",
    "where JSON was expected": "name OpenMetadata itself in openmetadata.server.host: a proxy or login page answers",
}
_AWAY = "the server has just answered another question: look into its log, then check again"
_AWAY_FOR_TOKENS = "is openmetadata.auth.token_url right, and can it be reached from this machine?"
_OTHER = "is it a token of this server? docs/openmetadata.md says how to make one"


def refused(error: Exception, host: str) -> Finding:
    """Tell why nobody is known to the server."""
    said = str(error)
    if isinstance(error, Unreachable | TargetBusy):
        return Finding(Level.error, "token", said, _AWAY if said.startswith(host) else _AWAY_FOR_TOKENS)
    return Finding(Level.error, "token", said, next((do for words, do in _REMEDIES.items() if words in said), _OTHER))


def of_user(user: dict[str, Any]) -> Finding:
    """Tell whose token it is: what people wrote is kept from bots only."""
    name = user.get("name")
    if user.get("isBot"):
        return Finding(Level.ok, "user", f"{name}, a bot")
    kind = "an admin" if user.get("isAdmin") else "a person"
    found = (
        f"{name} is {kind}, no bot: OpenMetadata keeps descriptions that people wrote from being overwritten by bots"
    )
    return Finding(Level.warning, "user", f"{found} only", "use the token of a bot, as docs/openmetadata.md says")
