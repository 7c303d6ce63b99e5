"""Runs the read-only checks of `lineage-bridge openmetadata check`."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from bridge.bootstrap.clients import make_openmetadata_client
from bridge.bootstrap.targets import service_layout
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
    """Check that every service in the settings exists or can be created."""
    for service in dict.fromkeys(_named_services(settings)):
        entity = client.get(f"services/{service.kind}s", fqn(service.name))
        description = f"{service.name} ({service.kind}, {service.type})"
        if entity is not None:
            yield Finding(
                Level.ok, "services", f"{service.name} ({service.kind}, {entity.get('serviceType')}) exists"
            )
        elif settings.create == "all":
            yield Finding(Level.ok, "services", f"{description} does not exist; it is created with its first entity")
        else:
            remedy = "create it in OpenMetadata under this name, or set openmetadata.create to all"
            message = f"{description} does not exist, and openmetadata.create is {settings.create}"
            yield Finding(Level.error, "services", message, remedy)


def _named_services(settings: OpenMetadataSettings) -> Iterator[ServiceRef]:
    """Yield the services in the settings; the namespace of a mapping determines the kind of its service."""
    layout = service_layout(settings)
    for mapping in layout.mappings:
        example = locate_dataset(layout._replace(mappings=(mapping,)), mapping.namespace, "name")
        if example.service.name == mapping.service:
            yield example.service
        else:
            yield ServiceRef(*CUSTOM_SERVICES["table"], mapping.service)
    yield ServiceRef(*CUSTOM_SERVICES["table"], layout.service)


_USER_CHECKS = ("user", "rights", "services")
_SERVER_CHECKS = ("version", "clock", "token", *_USER_CHECKS)
_ALL_CHECKS = ("settings", "server", *_SERVER_CHECKS)


def run_checks(paths: Sequence[Path]) -> Iterator[Finding]:
    """Load the configuration files and check everything that sync with OpenMetadata needs."""
    try:
        settings = load_settings(paths)
    except ConfigError as error:
        yield from config.report_errors(error)
        yield from skip_checks(_ALL_CHECKS, "the configuration is invalid")
        return
    yield from check_openmetadata(settings.openmetadata)


def check_openmetadata(settings: OpenMetadataSettings, now: Callable[[], float] = time.time) -> Iterator[Finding]:
    """Check the configured server without writing to it."""
    problems = list(_find_missing_settings(settings))
    yield from problems
    if not settings.enabled:
        message = "openmetadata.enabled is false: the service sends nothing"
        yield Finding(Level.warning, "settings", message, "set it to true once the other checks pass")
    if problems:
        yield from skip_checks(("server", *_SERVER_CHECKS), "the settings are incomplete")
        return
    if settings.enabled:
        yield Finding(Level.ok, "settings", f"enabled, authentication {settings.auth.type} (openmetadata.auth.type)")
    with closing(make_openmetadata_client(settings)) as client:
        yield from _check_server(client, settings, now)


def _find_missing_settings(settings: OpenMetadataSettings) -> Iterator[Finding]:
    for section, missing_setting in (
        ("server", settings.server.find_missing_setting()),
        ("auth", settings.auth.find_missing_setting()),
    ):
        if missing_setting is not None:
            message = f"openmetadata.{section}.{missing_setting.key} {missing_setting.message}"
            yield Finding(Level.error, "settings", message, "configs/openmetadata.yaml lists every key")


def _check_server(
    client: OpenMetadataClient, settings: OpenMetadataSettings, now: Callable[[], float]
) -> Iterator[Finding]:
    """Check the server, the token and then everything that needs both."""
    try:
        info = client.server_info()
    except LineageBridgeError as error:
        yield server.report_unreachable(error)
        yield from skip_checks(_SERVER_CHECKS, "the server is unreachable")
        return
    yield Finding(Level.ok, "server", f"{client.url} responds")
    yield server.check_version(info.version)
    yield from run_check("clock", lambda: server.check_clock(info.date, now()))
    try:
        user = client.current_user()
    except LineageBridgeError as error:
        yield server.report_failed_login(error, client.url)
        yield from skip_checks(_USER_CHECKS, "the server did not accept the token")
        return
    yield Finding(Level.ok, "token", "accepted by the server")
    yield server.check_user(user)
    yield from run_check("rights", lambda: permissions.check(client, settings))
    yield from run_check("services", lambda: check_services(client, settings))
