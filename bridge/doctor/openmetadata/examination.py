"""All checks of the way into OpenMetadata, one after the other, as far as they can be made."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from bridge.bootstrap import make_openmetadata
from bridge.configuration import load_settings
from bridge.doctor import config
from bridge.doctor.finding import Finding, Level, checked, skipped
from bridge.doctor.openmetadata import rights, server, services, token
from bridge.openmetadata_settings import OpenMetadataSettings
from connectors.openmetadata.client import OpenMetadata
from mappers.errors import ConfigError, LineageBridgeError

_OF_USER = ("user", "rights", "services")
_OF_SERVER = ("version", "clock", "token", *_OF_USER)
_ALL = ("settings", "server", *_OF_SERVER)


def examine(paths: Sequence[Path]) -> Iterator[Finding]:
    """Check everything that sending needs, with the configuration files that a service would be started with."""
    try:
        settings = load_settings(paths)
    except ConfigError as error:
        yield from config.refused(error)
        yield from skipped(_ALL, "the configuration is refused")
        return
    yield from examine_target(settings.openmetadata)


def examine_target(settings: OpenMetadataSettings, now: Callable[[], float] = time.time) -> Iterator[Finding]:
    """Check the server that the settings name, without writing anything."""
    wrong = [*_incomplete(settings)]
    yield from wrong
    if not settings.enabled:
        found = "openmetadata.enabled is false: the service sends nothing"
        yield Finding(Level.warning, "settings", found, "set it to true once the rest is well")
    if wrong:
        yield from skipped(_ALL[1:], "the settings are not complete")
        return
    if settings.enabled:
        yield Finding(Level.ok, "settings", f"enabled, by {settings.auth.type} as openmetadata.auth.type says")
    with closing(make_openmetadata(settings)) as client:
        yield from _examine_server(client, settings, now)


def _incomplete(settings: OpenMetadataSettings) -> Iterator[Finding]:
    for section, gap in {"server": settings.server.gap(), "auth": settings.auth.gap()}.items():
        if gap is not None:
            found = f"openmetadata.{section}.{gap.key} {gap.said}"
            yield Finding(Level.error, "settings", found, "configs/openmetadata.yaml lists every key")


def _examine_server(
    client: OpenMetadata, settings: OpenMetadataSettings, now: Callable[[], float]
) -> Iterator[Finding]:
    try:
        about = client.about()
    except LineageBridgeError as error:
        yield server.away(error)
        yield from skipped(_OF_SERVER, "the server cannot be asked")
        return
    yield Finding(Level.ok, "server", f"{client.url} answers")
    yield server.version(about.version)
    yield from checked("clock", lambda: server.clock(about.date, now()))
    try:
        user = client.who()
    except LineageBridgeError as error:
        yield token.refused(error, client.url)
        yield from skipped(_OF_USER, "nobody is known to the server")
        return
    yield Finding(Level.ok, "token", "the server takes it")
    yield token.of_user(user)
    yield from checked("rights", lambda: rights.check(client, settings))
    yield from checked("services", lambda: services.check(client, settings))
