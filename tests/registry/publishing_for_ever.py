"""Publishes the next version of both datasets, again and again, and says so each time; it is killed by its test."""

import sys
from contextlib import closing
from itertools import count

from bridge.bootstrap import now_micros
from bridge.registry.publishing import Change
from bridge.registry.registry import Registry
from bridge.registry.selector import read_selector
from bridge.store.location import StoreLocation

with closing(StoreLocation(sys.argv[1]).open_beside(durable=True)) as db:
    registry = Registry(db, "default", now_micros)
    both = {name: registry.dataset("db", name) for name in ("orders", "items")}
    for turn in count():
        with registry.deciding():
            wanted = [Change(one, read_selector(f"{name}{turn % 8}")) for name, one in both.items()]
            registry.publisher.publish(wanted, "somebody", None)
        sys.stdout.write("published\n")
        sys.stdout.flush()
