"""The list of all commands; each definition serves the CLI, HTTP and the OpenAPI document."""

from typing import Any

from bridge.versions.command import Command
from bridge.versions.metadata_commands import PatchMetadataCommand, RegisterDefinitionCommand
from bridge.versions.publish_commands import PublishCommand, RollBackCommand
from bridge.versions.version_commands import (
    DiscardCommand,
    InvalidateCommand,
    PinCommand,
    ResolveCommand,
    UnpinCommand,
)

COMMANDS: tuple[type[Command[Any]], ...] = (
    PublishCommand,
    RollBackCommand,
    PinCommand,
    UnpinCommand,
    InvalidateCommand,
    DiscardCommand,
    ResolveCommand,
    PatchMetadataCommand,
    RegisterDefinitionCommand,
)
