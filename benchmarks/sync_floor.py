"""The floor of a sync: the bodies of its tables put in bulks, without a store and without a thought."""

import http.client
import time
from contextlib import closing
from typing import Any

import msgspec

from benchmarks.intake import cpu_seconds
from bridge.bootstrap import now_micros, open_store, rules_of
from bridge.settings import Settings
from bridge.sync.items import Items
from bridge.sync.openmetadata.datasets import want_datasets
from bridge.sync.openmetadata.wanted import Wanted
from tests.standins.openmetadata.standin import BOT_TOKEN

_BATCH = 100
_PATIENCE = 60.0


def floor_line(settings: Settings, host: str, pid: int) -> tuple[str, float]:
    """Put the same bodies, without a store and without a thought; gives tables a second, too."""
    bodies, parents = bodies_of(settings)
    tables = len(bodies)
    address = host.removeprefix("http://")
    with closing(http.client.HTTPConnection(address, timeout=_PATIENCE)) as connection:
        for (collection, _), body in parents.items():
            _put(connection, collection, body)
        begun, cpu, there = time.perf_counter(), time.process_time(), cpu_seconds(pid)
        for i in range(0, tables, _BATCH):
            _put(connection, "tables/bulk", bodies[i : i + _BATCH])
        seconds, cpu, there = time.perf_counter() - begun, time.process_time() - cpu, cpu_seconds(pid) - there
    rate = tables / seconds
    costs = f"{1000 * cpu / tables:9.2f} ms{1000 * there / tables:9.2f} ms"
    return f"{'  floor: the bodies alone':34}{rate:9.0f}/s{seconds:8.1f} s{costs}", rate


def bodies_of(settings: Settings) -> tuple[list[dict[str, Any]], dict[tuple[str, str], dict[str, Any]]]:
    """Give what tables are to be sent as, and what they lie in."""
    bodies, parents = [], {}
    with closing(open_store(settings)) as db:
        items = Items(db, settings.org, "openmetadata", now_micros)
        keys = [key for (key,) in db.rows("SELECT dataset_id FROM ol_dataset WHERE org_id = ?1", settings.org)]
        for one in want_datasets(db, settings.org, rules_of(settings), list(items.of("dataset", keys).values())):
            assert isinstance(one, Wanted)
            bodies.append(one.first.own.body)
            parents.update({(above.collection, above.fqn): above.body for above in one.first.parents})
    return bodies, parents


def _put(connection: http.client.HTTPConnection, collection: str, body: Any) -> None:
    headers = {"Authorization": f"Bearer {BOT_TOKEN}", "Content-Type": "application/json"}
    connection.request("PUT", f"/api/v1/{collection}", msgspec.json.encode(body), headers)
    answer = connection.getresponse()
    said = msgspec.json.decode(answer.read())
    assert answer.status in (200, 201), said
    assert not said.get("numberOfRowsFailed"), said["failedRequest"][0]["message"]
