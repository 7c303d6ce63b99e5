"""Refuses requests that a web page made a browser send: with a foreign host name, or from another site."""

import re
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.types import Scope

from bridge.api.problem import problem
from bridge.settings.model import ServerSettings

_READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITES = frozenset({b"same-origin", b"none"})
_HOST = re.compile(r"\[([0-9a-f:.]+)\](?::\d+)?|([^:\[\]]*)(?::\d+)?")


class OriginCheck:
    """Checks the headers that browsers set, before anything else is done with a request.

    Without API keys, a page could rebind its own host name to the loopback address and read everything. Therefore,
    only requests with a known `Host` are served then.
    """

    def __init__(self, settings: ServerSettings) -> None:
        public_url = urlsplit(settings.public_url or "")
        self._hosts = {"localhost", settings.host.lower(), public_url.hostname or ""}
        self._public_origin = f"{public_url.scheme}://{public_url.netloc}".lower().encode()
        self._checks_host = not settings.api_keys
        self._is_known_host = lru_cache(maxsize=64)(self._find_host)

    def denial(self, scope: Scope) -> Response | None:
        """Return a denial, or None if the request is allowed. A request without a `Host` is not from a browser."""
        host = b""
        origin = site = None
        for name, value in scope["headers"]:
            if name == b"host":
                host = value.lower()
                if self._checks_host and not self._is_known_host(value):
                    return _unknown_host_response(value)
            elif name == b"origin":
                origin = value.lower()
            elif name == b"sec-fetch-site":
                site = value.lower()
        if (origin is None and site is None) or scope["method"] in _READING_METHODS:
            return None
        if site is not None and site not in _OWN_SITES:
            return _foreign_site_response(origin or site)
        own_origins = (None, self._public_origin, b"http://%b" % host, b"https://%b" % host)
        return None if origin in own_origins else _foreign_site_response(origin or b"")

    def _find_host(self, value: bytes) -> bool:
        """Return whether a `Host` names the loopback interface, `server.host` or the host of `server.public_url`."""
        match = _HOST.fullmatch(value.decode("latin-1").strip().lower())
        if match is None:
            return False
        host = match[1] or match[2]
        return host in self._hosts or _is_loopback(host)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _unknown_host_response(host: bytes) -> Response:
    return problem(
        421,
        "Unknown host",
        f"without API keys, the service answers only on loopback names and on the hosts of server.host and "
        f"server.public_url, not on {_shown(host)}: set server.public_url to the address that clients use, or create "
        "API keys",
    )


def _foreign_site_response(origin: bytes) -> Response:
    return problem(
        403,
        "Foreign origin",
        f"the request was sent by a web page of another site ({_shown(origin)}), which only reads",
    )


def _shown(value: bytes) -> str:
    return ascii(value[:64].decode("latin-1"))
