"""Runs the read-only checks of `lineage-bridge openmetadata check`."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from bridge.bootstrap.clients import make_openmetadata_client
from bridge.bootstrap.targets import location_layout
from bridge.doctor import config
from bridge.doctor.finding import Finding, Level, run_check, skip_checks
from bridge.doctor.openmetadata import permissions, server
from bridge.settings.loader import load_settings
from bridge.settings.openmetadata import OpenMetadataSettings
from connectors.errors import ConfigError
from connectors.openmetadata.client import OpenMetadataClient
from mappers.errors import LineageBridgeError
from mappers.openmetadata.fqn import fqn
from mappers.openmetadata.locations import CUSTOM_SERVICES, ServiceRef, locate_dataset


def check_services(client: OpenMetadataClient, settings: OpenMetadataSettings) -> Iterator[Finding]:
    """Look up every service that the settings name."""
    for service in dict.fromkeys(_named(settings)):
        found = client.get(f"services/{service.kind}s", fqn(service.name))
        said = f"{service.name} ({service.kind}, {service.type})"
        if found is not None:
            yield Finding(
                Level.ok, "services", f"{service.name} ({service.kind}, {found.get('serviceType')}) is there"
            )
        elif settings.create == "all":
            yield Finding(Level.ok, "services", f"{said} is not there, and is made when something goes into it")
        else:
            remedy = "make it in OpenMetadata under this very name, or set openmetadata.create to all"
            found_not = f"{said} is not there, and openmetadata.create is {settings.create}"
            yield Finding(Level.error, "services", found_not, remedy)


def _named(settings: OpenMetadataSettings) -> Iterator[ServiceRef]:
    """Give the services that are named: a mapping tells the kind of its own by its namespace."""
    layout = location_layout(settings)
    for mapping in layout.mappings:
        service = locate_dataset(layout._replace(mappings=(mapping,)), mapping.namespace, "name").service
        yield service if service.name == mapping.service else ServiceRef(*CUSTOM_SERVICES["table"], mapping.service)
    yield ServiceRef(*CUSTOM_SERVICES["table"], layout.service)


_OF_USER = ("user", "rights", "services")
_OF_SERVER = ("version", "clock", "token", *_OF_USER)
_ALL = ("settings", "server", *_OF_SERVER)


def run_checks(paths: Sequence[Path]) -> Iterator[Finding]:
    """Check everything that sending needs, with the configuration files that a service would be started with."""
    try:
        settings = load_settings(paths)
    except ConfigError as error:
        yield from config.config_errors(error)
        yield from skip_checks(_ALL, "the configuration is refused")
        return
    yield from check_openmetadata(settings.openmetadata)


def check_openmetadata(settings: OpenMetadataSettings, now: Callable[[], float] = time.time) -> Iterator[Finding]:
    """Check the server that the settings name, without writing anything."""
    wrong = [*_incomplete(settings)]
    yield from wrong
    if not settings.enabled:
        found = "openmetadata.enabled is false: the service sends nothing"
        yield Finding(Level.warning, "settings", found, "set it to true once the rest is well")
    if wrong:
        yield from skip_checks(_ALL[1:], "the settings are not complete")
        return
    if settings.enabled:
        yield Finding(Level.ok, "settings", f"enabled, by {settings.auth.type} as openmetadata.auth.type says")
    with closing(make_openmetadata_client(settings)) as client:
        yield from _examine_server(client, settings, now)


def _incomplete(settings: OpenMetadataSettings) -> Iterator[Finding]:
    for section, gap in {
        "server": settings.server.missing_setting(),
        "auth": settings.auth.missing_setting(),
    }.items():
        if gap is not None:
            found = f"openmetadata.{section}.{gap.key} {gap.message}"
            yield Finding(Level.error, "settings", found, "configs/openmetadata.yaml lists every key")


def _examine_server(
    client: OpenMetadataClient, settings: OpenMetadataSettings, now: Callable[[], float]
) -> Iterator[Finding]:
    try:
        about = client.server_info()
    except LineageBridgeError as error:
        yield server.unreachable(error)
        yield from skip_checks(_OF_SERVER, "the server cannot be asked")
        return
    yield Finding(Level.ok, "server", f"{client.url} answers")
    yield server.check_version(about.version)
    yield from run_check("clock", lambda: server.check_clock(about.date, now()))
    try:
        user = client.current_user()
    except LineageBridgeError as error:
        yield server.token_rejected(error, client.url)
        yield from skip_checks(_OF_USER, "nobody is known to the server")
        return
    yield Finding(Level.ok, "token", "the server takes it")
    yield server.check_user(user)
    yield from run_check("rights", lambda: permissions.check(client, settings))
    yield from run_check("services", lambda: check_services(client, settings))
