"""The systems that may be kept like the store, as the settings and people call them."""

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.settings import Settings
    from bridge.target_settings import KeptSettings


class TargetName(StrEnum):
    """A system that may be kept like the store; its section of the settings is called so, too."""

    openmetadata = "openmetadata"
    marquez = "marquez"
    webhook = "webhook"

    @property
    def called(self) -> str:
        """Give what people call it."""
        return {"openmetadata": "OpenMetadata", "marquez": "Marquez", "webhook": "the webhook"}[self]


def settings_of(settings: "Settings", name: TargetName) -> "KeptSettings":
    """Give what a system is set by."""
    of: dict[TargetName, KeptSettings] = {
        TargetName.openmetadata: settings.openmetadata,
        TargetName.marquez: settings.marquez,
        TargetName.webhook: settings.webhook,
    }
    return of[name]


def enabled_targets(settings: "Settings") -> list[TargetName]:
    """List the systems that are to be kept."""
    return [name for name in TargetName if settings_of(settings, name).enabled]
