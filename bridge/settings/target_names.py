"""Names of the sync targets; imports nothing heavy, because every command uses it."""

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.settings.model import Settings
    from bridge.settings.targets import TargetSettings


class TargetName(StrEnum):
    """A sync target; its settings section has the same name."""

    openmetadata = "openmetadata"
    marquez = "marquez"
    webhook = "webhook"

    @property
    def display_name(self) -> str:
        return {"openmetadata": "OpenMetadata", "marquez": "Marquez", "webhook": "the webhook"}[self]


def target_settings(settings: "Settings", name: TargetName) -> "TargetSettings":
    settings_by_name: dict[TargetName, TargetSettings] = {
        TargetName.openmetadata: settings.openmetadata,
        TargetName.marquez: settings.marquez,
        TargetName.webhook: settings.webhook,
    }
    return settings_by_name[name]


def enabled_targets(settings: "Settings") -> list[TargetName]:
    return [name for name in TargetName if target_settings(settings, name).enabled]
