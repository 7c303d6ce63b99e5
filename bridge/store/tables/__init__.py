"""Tables of the store; importing this package registers all of them in `metadata`."""

from bridge.store.tables import canonical, event_log, search, sync, versions
from bridge.store.tables.columns import metadata

__all__ = ["canonical", "event_log", "metadata", "search", "sync", "versions"]
