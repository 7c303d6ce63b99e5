"""Reachability, version and clock of OpenMetadata, and validity of the token."""

from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Any

from bridge.doctor.finding import Finding, Level
from connectors.errors import NoResponse, TargetMisconfigured, TargetUnavailable, Unreachable
from connectors.openmetadata.compatibility import server_features, version_numbers

#: Remedies by a part of the error message; the first match applies.
_TOKEN_REMEDIES = {
    "the login at": "correct openmetadata.auth.username (an e-mail address) and password (not for single sign-on)",
    "the token URL at": "correct openmetadata.auth.token_url, client_id, client_secret and scope",
    "Expired token": "create a new token for the bot (Settings, Bots) and replace the old one",
    "Token not present": "pass the Authorization header through: a proxy removes it",
    "Invalid token": "copy the complete token of a bot of this server (Settings, Bots)",
    "cannot process the token": "copy the complete token of a bot of this server (Settings, Bots)",
    "cannot read the token": "create the file, readable for the user of the service",
    "contains no token": "write the bot's token to it",
    "the token contains": "copy it again, on one line",
    "instead of the documented JSON": (
        "set openmetadata.server.host to OpenMetadata itself: a proxy or login page responds"
    ),
}
_SERVER_DOWN = "the server answered an earlier request: check its log, then run the checks again"
_LOGIN_SERVER_DOWN = "check openmetadata.auth.token_url and that this machine can reach it"
_DEFAULT_REMEDY = "check that it is a token of this server (see docs/guides/openmetadata.md)"


def report_failed_login(error: Exception, host: str) -> Finding:
    """Report a rejected token, or the server that did not respond to the login."""
    message = str(error)
    if isinstance(error, Unreachable | TargetUnavailable):
        remedy = _SERVER_DOWN if message.startswith(host) else _LOGIN_SERVER_DOWN
    else:
        matching_remedies = (remedy for fragment, remedy in _TOKEN_REMEDIES.items() if fragment in message)
        remedy = next(matching_remedies, _DEFAULT_REMEDY)
    return Finding(Level.error, "token", message, remedy)


def check_user(user: dict[str, Any]) -> Finding:
    """Check that the user is a bot: OpenMetadata protects descriptions written by people from bots only."""
    name = user.get("name")
    if user.get("isBot"):
        return Finding(Level.ok, "user", f"{name}, a bot")
    kind = "an admin" if user.get("isAdmin") else "a person"
    message = f"{name} is {kind}, not a bot: OpenMetadata protects descriptions written by people from bots only"
    return Finding(Level.warning, "user", message, "use the token of a bot (see docs/guides/openmetadata.md)")


_MIN_VERSION = (1, 9)
_MAX_SKEW_SECONDS = 60.0
#: Remedies for TLS errors, by a part of the message.
_TLS_REMEDIES = {
    "certificate": "set SSL_CERT_FILE to the certificate of its authority, or use the host name it was issued for",
    "ssl": "the port does not use TLS: try http:// in openmetadata.server.host",
}
_CHECK_HOST = "check openmetadata.server.host, that the server is up, and that this machine can reach its port"
_WRONG_SERVER = (
    "set openmetadata.server.host to OpenMetadata itself: a proxy, a login page or another server responds"
)
_CONNECTION_REMEDIES: dict[type[Exception], str] = {
    TargetUnavailable: "wait until it is up, and check its log",
    NoResponse: "it accepted the connection but did not respond: it may be overloaded, or the host may need https://",
    Unreachable: _CHECK_HOST,
    TargetMisconfigured: _WRONG_SERVER,
}


def report_unreachable(error: Exception) -> Finding:
    return Finding(Level.error, "server", str(error), _connection_remedy(error))


def _connection_remedy(error: Exception) -> str:
    """Choose the remedy by the type of the error and, for TLS errors, by the message."""
    if isinstance(error, Unreachable):
        message = str(error).lower()
        for fragment, remedy in _TLS_REMEDIES.items():
            if fragment in message:
                return remedy
    for error_type, remedy in _CONNECTION_REMEDIES.items():
        if isinstance(error, error_type):
            return remedy
    return _WRONG_SERVER


def check_version(version: str) -> Finding:
    """Check that the server version is supported, and list its limitations."""
    numbers, features = version_numbers(version), server_features(version)
    if numbers == (0, 0):
        return Finding(
            Level.error, "version", f"the server does not report a version, but {version[:50]!r}", _WRONG_SERVER
        )
    if features.verified:
        return Finding(Level.ok, "version", f"{version}, which lineage-bridge is tested with")
    if numbers < _MIN_VERSION:
        message = f"{version} is older than 1.9, the oldest known version"
        return Finding(Level.error, "version", message, "upgrade OpenMetadata, preferably to 2.0")
    supported_by_limitation = {
        "entities are sent individually, not in bulk": features.bulk,
        "run statuses are sent individually": features.status_bulk,
        "run statuses lack inputs, outputs and errors": features.rich_statuses,
        "edges are written by ID only": features.edges_by_name,
    }
    limitations = [limitation for limitation, is_supported in supported_by_limitation.items() if not is_supported]
    message = "; ".join([f"{version} is supported, but lineage-bridge is tested with 2.0", *limitations])
    return Finding(Level.warning, "version", message, "check the synced entities, or use OpenMetadata 2.0")


def check_clock(date: str | None, now: float) -> Iterator[Finding]:
    """Compare the clock of this machine with the server's, if the server sends the time."""
    try:
        server_time = parsedate_to_datetime(date or "").timestamp()
    except ValueError:
        yield Finding(Level.ok, "clock", "the server does not send the time")
        return
    skew = abs(now - server_time)
    if skew > _MAX_SKEW_SECONDS:
        message = f"the clocks of this machine and the server differ by {skew:,.0f} s"
        yield Finding(Level.warning, "clock", message, "synchronize both with NTP: tokens and run times depend on it")
    else:
        yield Finding(Level.ok, "clock", "this machine's clock agrees with the server's")
