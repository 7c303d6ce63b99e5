"""Opens a query service on the local store or on a remote lineage-bridge."""

from bridge.bootstrap.store import folding_rule, open_store
from bridge.queries.query import QueryContext, QueryService, StoreQueryService
from bridge.queries.remote import RemoteQueryService
from bridge.settings.model import Settings
from bridge.store.database import Database
from connectors.openlineage.http import BridgeClient


def make_query_context(settings: Settings, db: Database) -> QueryContext:
    return QueryContext(db, settings.org, folding_rule(settings))


def open_query_service(settings: Settings) -> StoreQueryService:
    """Open a query service on the local store; creates or upgrades the store first."""
    return StoreQueryService(make_query_context(settings, open_store(settings)))


def open_remote_query_service(url: str, api_key: str | None) -> QueryService:
    """Open a query service that calls a remote lineage-bridge."""
    return RemoteQueryService(BridgeClient(url, api_key=api_key))
