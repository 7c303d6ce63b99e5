"""Reachability, version and clock of OpenMetadata, and its answer to our token."""

from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Any

from bridge.doctor.finding import Finding, Level
from connectors.errors import NoResponse, TargetMisconfigured, TargetUnavailable, Unreachable
from connectors.openmetadata.compatibility import server_features, version_numbers

#: What to do, by what is said; the first that fits.
_TOKEN_REMEDIES = {
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
_OTHER = "is it a token of this server? docs/guides/openmetadata.md says how to make one"


def token_rejected(error: Exception, host: str) -> Finding:
    """Tell why nobody is known to the server."""
    said = str(error)
    if isinstance(error, Unreachable | TargetUnavailable):
        return Finding(Level.error, "token", said, _AWAY if said.startswith(host) else _AWAY_FOR_TOKENS)
    return Finding(
        Level.error, "token", said, next((do for words, do in _TOKEN_REMEDIES.items() if words in said), _OTHER)
    )


def check_user(user: dict[str, Any]) -> Finding:
    """Tell whose token it is: what people wrote is kept from bots only."""
    name = user.get("name")
    if user.get("isBot"):
        return Finding(Level.ok, "user", f"{name}, a bot")
    kind = "an admin" if user.get("isAdmin") else "a person"
    found = (
        f"{name} is {kind}, no bot: OpenMetadata keeps descriptions that people wrote from being overwritten by bots"
    )
    return Finding(Level.warning, "user", f"{found} only", "use the token of a bot, as docs/guides/openmetadata.md says")


_OLDEST = (1, 9)
_MAX_SKEW_SECONDS = 60.0
#: What to do about errors of TLS, by what they say.
_OF_TLS = {
    "certificate": "name the file with its authority's certificate in SSL_CERT_FILE, or use the name it was made for",
    "ssl": "the port does not speak TLS: should openmetadata.server.host begin with http://?",
}
_HOST = "is openmetadata.server.host right, the server up, and its port open from this machine?"
_IN_BETWEEN = "name OpenMetadata itself in openmetadata.server.host: a proxy, a login page or something else answers"
_REMEDIES: dict[type[Exception], str] = {
    TargetUnavailable: "wait until it is up, and look into its log",
    NoResponse: "it took the connection and said nothing: is it overloaded, or should the host begin with https://?",
    Unreachable: _HOST,
    TargetMisconfigured: _IN_BETWEEN,
}


def unreachable(error: Exception) -> Finding:
    """Tell why a server cannot be asked."""
    said = str(error)
    of_tls = (do for words, do in _OF_TLS.items() if isinstance(error, Unreachable) and words in said.lower())
    of_kind = (do for kind, do in _REMEDIES.items() if isinstance(error, kind))
    return Finding(Level.error, "server", said, next(of_tls, None) or next(of_kind, _IN_BETWEEN))


def check_version(told: str) -> Finding:
    """Tell how well a version is served."""
    numbers, can = version_numbers(told), server_features(told)
    if numbers == (0, 0):
        return Finding(Level.error, "version", f"the server tells no version, but {told[:50]!r}", _IN_BETWEEN)
    if can.verified:
        return Finding(Level.ok, "version", f"{told}, the version that lineage-bridge was held against")
    if numbers < _OLDEST:
        found = f"{told} is older than all that is known of (1.9)"
        return Finding(Level.error, "version", found, "upgrade OpenMetadata, best to 2.0")
    missing = {
        "entities are sent one by one, not in bulk": can.bulk,
        "statuses of runs are sent one by one": can.status_bulk,
        "statuses without inputs, outputs and errors": can.rich_statuses,
        "edges are written by ids only": can.edges_by_name,
    }
    lacking = "; ".join(said for said, there in missing.items() if not there)
    found = f"{told} is served as well as it can be: 2.0 is what was verified" + (f"; {lacking}" if lacking else "")
    return Finding(Level.warning, "version", found, "look whether what was sent is right, or use OpenMetadata 2.0")


def check_clock(date: str | None, now: float) -> Iterator[Finding]:
    """Compare this machine's clock with the server's, as far as it tells the time."""
    try:
        server = parsedate_to_datetime(date or "").timestamp()
    except ValueError:
        yield Finding(Level.ok, "clock", "the server does not tell the time")
        return
    apart = abs(now - server)
    if apart > _MAX_SKEW_SECONDS:
        found = f"this machine's clock and the server's are {apart:,.0f} s apart"
        yield Finding(Level.warning, "clock", found, "let both be set by NTP: tokens and times of runs depend on it")
    else:
        yield Finding(Level.ok, "clock", "this machine's clock agrees with the server's")
