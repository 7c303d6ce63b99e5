"""What those who push to Marquez have at hand."""

from concurrent.futures import Executor
from typing import NamedTuple

from bridge.store.database import Database
from bridge.sync.items import Items
from bridge.sync.workers import Workers
from connectors.marquez.client import Marquez

NAME = "marquez"


class Bench(NamedTuple):
    """The store, the server, and what is to be done."""

    db: Database
    org: str
    client: Marquez
    items: Items
    workers: Workers
    pool: Executor

    @property
    def source(self) -> str:
        """Name what events are from that were taken from this server."""
        return source_of(self.client.url)


def source_of(url: str) -> str:
    """Name what events are from that are taken from a server."""
    return f"marquez:{url}"
