"""The floor of a sync: the bodies of its tables put in bulks, without a store and without a thought."""

import http.client
import time
from contextlib import closing
from typing import Any

import msgspec

from benchmarks.intake import cpu_seconds
from bridge.bootstrap.store import open_store
from bridge.bootstrap.targets import openmetadata_options
from bridge.clock import now_micros
from bridge.settings.model import Settings
from bridge.sync.item_store import SyncItemStore
from bridge.sync.openmetadata.desired_entities import DesiredEntity, desired_datasets
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
        items = SyncItemStore(db, settings.org, "openmetadata", now_micros)
        keys = [key for (key,) in db.fetch_all("SELECT dataset_id FROM ol_dataset WHERE org_id = ?1", settings.org)]
        for one in desired_datasets(
            db, settings.org, openmetadata_options(settings), list(items.get("dataset", keys).values())
        ):
            assert isinstance(one, DesiredEntity)
            bodies.append(one.preferred.own.body)
            parents.update({(above.collection, above.fqn): above.body for above in one.preferred.parents})
    return bodies, parents


def _put(connection: http.client.HTTPConnection, collection: str, body: Any) -> None:
    headers = {"Authorization": f"Bearer {BOT_TOKEN}", "Content-Type": "application/json"}
    connection.request("PUT", f"/api/v1/{collection}", msgspec.json.encode(body), headers)
    answer = connection.getresponse()
    said = msgspec.json.decode(answer.read())
    assert answer.status in (200, 201), said
    assert not said.get("numberOfRowsFailed"), said["failedRequest"][0]["message"]
