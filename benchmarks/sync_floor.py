"""Floor of a sync: the requests alone, with prepared bodies."""

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
from bridge.sync.openmetadata.context import OpenMetadataContext
from bridge.sync.openmetadata.desired_entities import DesiredEntity, desired_datasets
from tests.standins.openmetadata.standin import BOT_TOKEN

_BATCH = 100
_TIMEOUT = 60.0


def floor_line(settings: Settings, host: str, pid: int) -> tuple[str, float]:
    """Send the same bodies; return the output line and tables per second."""
    bodies, parents = prepare_bodies(settings)
    tables = len(bodies)
    address = host.removeprefix("http://")
    with closing(http.client.HTTPConnection(address, timeout=_TIMEOUT)) as connection:
        for (collection, _), body in parents.items():
            _put(connection, collection, body)
        start, cpu_start, standin_start = time.perf_counter(), time.process_time(), cpu_seconds(pid)
        for i in range(0, tables, _BATCH):
            _put(connection, "tables/bulk", bodies[i : i + _BATCH])
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
        standin_cpu = cpu_seconds(pid) - standin_start
    rate = tables / seconds
    costs = f"{1000 * cpu / tables:9.2f} ms{1000 * standin_cpu / tables:9.2f} ms"
    return f"{'  floor: requests only':34}{rate:9.0f}/s{seconds:8.1f} s{costs}", rate


def prepare_bodies(settings: Settings) -> tuple[list[dict[str, Any]], dict[tuple[str, str], dict[str, Any]]]:
    """Request bodies of tables, and of their parents by collection and FQN."""
    bodies, parents = [], {}
    with closing(open_store(settings)) as db:
        items = SyncItemStore(db, settings.org, "openmetadata", now_micros)
        keys = [key for (key,) in db.fetch_all("SELECT dataset_id FROM ol_dataset WHERE org_id = ?1", settings.org)]
        no_requests: Any = None  # reading the desired entities sends none
        ctx = OpenMetadataContext(
            db,
            settings.org,
            "openmetadata",
            no_requests,
            openmetadata_options(settings),
            items,
            no_requests,
            no_requests,
        )
        for entity in desired_datasets(ctx, list(items.get("dataset", keys).values())):
            assert isinstance(entity, DesiredEntity)
            bodies.append(entity.preferred.own.body)
            parents.update({(parent.collection, parent.fqn): parent.body for parent in entity.preferred.parents})
    return bodies, parents


def _put(connection: http.client.HTTPConnection, collection: str, body: Any) -> None:
    headers = {"Authorization": f"Bearer {BOT_TOKEN}", "Content-Type": "application/json"}
    connection.request("PUT", f"/api/v1/{collection}", msgspec.json.encode(body), headers)
    response = connection.getresponse()
    result = msgspec.json.decode(response.read())
    assert response.status in (200, 201), result
    assert not result.get("numberOfRowsFailed"), result["failedRequest"][0]["message"]
