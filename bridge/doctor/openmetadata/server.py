"""Whether OpenMetadata answers, in which version, and what time it is there."""

from collections.abc import Iterator
from email.utils import parsedate_to_datetime

from bridge.doctor.finding import Finding, Level
from connectors.openmetadata.features import features, version_numbers
from mappers.errors import NoAnswer, TargetBusy, TargetLocked, Unreachable

_OLDEST = (1, 9)
_MOST_APART = 60.0
#: What to do about errors of TLS, by what they say.
_OF_TLS = {
    "certificate": "name the file with its authority's certificate in SSL_CERT_FILE, or use the name it was made for",
    "ssl": "the port does not speak TLS: should openmetadata.server.host begin with http://?",
}
_HOST = "is openmetadata.server.host right, the server up, and its port open from this machine?"
_IN_BETWEEN = "name OpenMetadata itself in openmetadata.server.host: a proxy, a login page or something else answers"
_REMEDIES: dict[type[Exception], str] = {
    TargetBusy: "wait until it is up, and look into its log",
    NoAnswer: "it took the connection and said nothing: is it overloaded, or should the host begin with https://?",
    Unreachable: _HOST,
    TargetLocked: _IN_BETWEEN,
}


def away(error: Exception) -> Finding:
    """Tell why a server cannot be asked."""
    said = str(error)
    of_tls = (do for words, do in _OF_TLS.items() if isinstance(error, Unreachable) and words in said.lower())
    of_kind = (do for kind, do in _REMEDIES.items() if isinstance(error, kind))
    return Finding(Level.error, "server", said, next(of_tls, None) or next(of_kind, _IN_BETWEEN))


def version(told: str) -> Finding:
    """Tell how well a version is served."""
    numbers, can = version_numbers(told), features(told)
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


def clock(date: str | None, now: float) -> Iterator[Finding]:
    """Compare this machine's clock with the server's, as far as it tells the time."""
    try:
        server = parsedate_to_datetime(date or "").timestamp()
    except ValueError:
        yield Finding(Level.ok, "clock", "the server does not tell the time")
        return
    apart = abs(now - server)
    if apart > _MOST_APART:
        found = f"this machine's clock and the server's are {apart:,.0f} s apart"
        yield Finding(Level.warning, "clock", found, "let both be set by NTP: tokens and times of runs depend on it")
    else:
        yield Finding(Level.ok, "clock", "this machine's clock agrees with the server's")
