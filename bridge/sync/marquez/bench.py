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
