"""Publishes the next version of both datasets, again and again, and says so each time; it is killed by its test."""

import sys
from contextlib import closing
from itertools import count

from bridge.clock import now_micros
from bridge.store.connect import StoreUrl
from bridge.versions.publisher import PublicationRequest
from bridge.versions.registry import VersionRegistry
from bridge.versions.selector import parse_selector

with closing(StoreUrl(sys.argv[1]).open_for_background_writes(durable=True)) as db:
    registry = VersionRegistry(db, "default", now_micros)
    both = {name: registry.find_dataset("db", name) for name in ("orders", "items")}
    for turn in count():
        with registry.transaction():
            wanted = [PublicationRequest(one, parse_selector(f"{name}{turn % 8}")) for name, one in both.items()]
            registry.publisher.publish(wanted, "somebody", None)
        sys.stdout.write("published\n")
        sys.stdout.flush()
