"""Opens the version registry and command contexts."""

from bridge.bootstrap.store import open_background_connection
from bridge.clock import now_micros
from bridge.settings.model import Settings
from bridge.versions.command import CommandContext
from bridge.versions.registry import VersionRegistry


def open_version_registry(settings: Settings) -> VersionRegistry:
    """Open the store for what is decided of versions; it is there already."""
    return VersionRegistry(open_background_connection(settings), settings.org, now_micros)


def open_command_context(settings: Settings, signer: str | None = None) -> CommandContext:
    """Open the registry for orders, which are done as somebody."""
    registry = open_version_registry(settings)
    return CommandContext(registry, registry.graph, signer)
