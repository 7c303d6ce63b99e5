"""Opens the version registry and command contexts."""

from bridge.bootstrap.store import open_background_connection
from bridge.clock import now_micros
from bridge.settings.model import Settings
from bridge.versions.command import CommandContext
from bridge.versions.registry import VersionRegistry


def open_version_registry(settings: Settings) -> VersionRegistry:
    """Open the version registry; the store must exist."""
    return VersionRegistry(open_background_connection(settings), settings.org, now_micros)


def open_command_context(settings: Settings, principal: str | None = None) -> CommandContext:
    """Open a command context; commands are recorded under `principal`."""
    registry = open_version_registry(settings)
    return CommandContext(registry, registry.graph, principal)
