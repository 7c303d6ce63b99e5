"""Publishes the next version of two datasets in a loop, reporting each publication, until its test kills it."""

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
    datasets = {name: registry.find_dataset("db", name) for name in ("orders", "items")}
    for number in count():
        with registry.transaction():
            requests = [
                PublicationRequest(dataset, parse_selector(f"{name}{number % 8}"))
                for name, dataset in datasets.items()
            ]
            registry.publisher.publish(requests, "publisher", None)
        sys.stdout.write("published\n")
        sys.stdout.flush()
