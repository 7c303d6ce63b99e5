"""Names of the sync targets; imports nothing heavy, because every command uses it."""

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.settings.model import Settings
    from bridge.settings.targets import TargetSettings


class TargetName(StrEnum):
    """A system that may be kept like the store; its section of the settings is called so, too."""

    openmetadata = "openmetadata"
    marquez = "marquez"
    webhook = "webhook"

    @property
    def display_name(self) -> str:
        """Give what people call it."""
        return {"openmetadata": "OpenMetadata", "marquez": "Marquez", "webhook": "the webhook"}[self]


def target_settings(settings: "Settings", name: TargetName) -> "TargetSettings":
    """Give what a system is set by."""
    of: dict[TargetName, TargetSettings] = {
        TargetName.openmetadata: settings.openmetadata,
        TargetName.marquez: settings.marquez,
        TargetName.webhook: settings.webhook,
    }
    return of[name]


def enabled_targets(settings: "Settings") -> list[TargetName]:
    """List the systems that are to be kept."""
    return [name for name in TargetName if target_settings(settings, name).enabled]
