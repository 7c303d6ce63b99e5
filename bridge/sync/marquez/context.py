"""Dependencies that the Marquez senders share."""

from concurrent.futures import Executor
from typing import NamedTuple

from bridge.store.database import Database
from bridge.sync.item_store import SyncItemStore
from bridge.sync.request_pool import RequestPool
from connectors.marquez.client import MarquezClient

NAME = "marquez"


class MarquezContext(NamedTuple):
    """Store, client, items and request pool of the target."""

    db: Database
    org: str
    client: MarquezClient
    items: SyncItemStore
    requests: RequestPool
    pool: Executor
