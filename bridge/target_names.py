"""The systems that may be kept like the store, as the settings and people call them."""

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.settings import Settings


class TargetName(StrEnum):
    """A system that may be kept like the store; its section of the settings is called so, too."""

    openmetadata = "openmetadata"
    marquez = "marquez"
    webhook = "webhook"

    @property
    def called(self) -> str:
        """Give what people call it."""
        return {"openmetadata": "OpenMetadata", "marquez": "Marquez", "webhook": "the webhook"}[self]


def enabled_targets(settings: "Settings") -> list[TargetName]:
    """List the systems that are to be kept."""
    return [name for name in TargetName if getattr(settings, name).enabled]
