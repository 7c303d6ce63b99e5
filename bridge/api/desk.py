"""Opens the registry of the settings for orders."""

from bridge.api.order import Desk
from bridge.bootstrap import open_registry
from bridge.settings import Settings


def open_desk(settings: Settings, signer: str | None = None) -> Desk:
    """Open the store, and do orders in it as somebody."""
    registry = open_registry(settings)
    return Desk(registry, registry.graph, signer)
