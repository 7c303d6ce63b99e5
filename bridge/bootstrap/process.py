"""Opens the connection of a process to the store or the service."""

from bridge.bootstrap.intake import make_event_reader
from bridge.bootstrap.queries import open_query_service
from bridge.bootstrap.store import make_writer
from bridge.bootstrap.versions import open_command_context
from bridge.process.backend import ProcessBackend, RemoteBackend, StoreBackend
from bridge.settings.model import Settings
from connectors.openlineage.http import BridgeClient


def open_process_backend(settings: Settings, url: str | None, api_key: str | None) -> ProcessBackend:
    """Connect a process to the service at `url`, or to the configured store; creates or upgrades the store first."""
    if url is not None:
        return RemoteBackend(BridgeClient(url, api_key=api_key))
    writer = make_writer(settings)
    return StoreBackend(
        open_query_service(settings), open_command_context(settings), make_event_reader(settings), writer
    )
