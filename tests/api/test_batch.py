"""Batches of events, in the formats of OpenLineage and OpenMetadata."""

import gzip
from typing import Any

import msgspec
import pytest

from bridge.bootstrap.store import make_writer
from tests.api.service import LINEAGE, PROBLEM, RunningService, settings_for
from tests.factories import dataset, run_event
from tests.stores import Json

BATCH = f"{LINEAGE}/batch"
OPENMETADATA = "/api/v1/openlineage/lineage"
INVALID_EVENT = {"eventType": "COMPLETE"}


def events(count: int) -> list[Json]:
    return [
        run_event(run=i, inputs=[dataset("a")], outputs=[dataset("b"), dataset("c")]) for i in range(1, count + 1)
    ]


def body(content: Any) -> bytes:
    return msgspec.json.encode(content)


@pytest.mark.parametrize("slash", ["", "/"])
def test_valid_batch_returns_204(api: RunningService, slash: str) -> None:
    response = api.post(body(events(3)), BATCH + slash)
    assert (response.status_code, response.content) == (204, b"")
    assert api.events() == 3


def test_invalid_events_of_batch_are_reported_and_stored(api: RunningService) -> None:
    response = api.post(body([*events(1), INVALID_EVENT, 7, *events(2)]), BATCH)
    assert response.status_code == 200
    assert response.json() == {
        "status": "partial_success",
        "summary": {"received": 5, "successful": 3, "failed": 2, "retriable": 0, "non_retriable": 2},
        "failed_events": [
            {"index": 1, "reason": "eventTime: is missing", "retriable": False},
            {"index": 2, "reason": "an event must be a JSON object", "retriable": False},
        ],
    }
    assert api.events() == 2
    assert api.rows("SELECT count(*) FROM rejected_event") == [(2,)]


def test_batch_without_valid_event_is_a_failure(api: RunningService) -> None:
    assert api.post(body([INVALID_EVENT]), BATCH).json()["status"] == "failure"
    assert api.post(b"[]", BATCH).status_code == 204


@pytest.mark.parametrize("path", [BATCH, f"{OPENMETADATA}/batch"])
@pytest.mark.parametrize("content", [b'{"eventTime":"x"}', b"[{]", b"", b'"text"', b"[" * 100_000])
def test_malformed_batch_is_rejected_and_stored(api: RunningService, path: str, content: bytes) -> None:
    response = api.post(content, path)
    assert (response.status_code, response.headers["content-type"]) == (400, PROBLEM)
    assert api.rows("SELECT count(*) FROM rejected_event") == [(1,)]


def test_batch_larger_than_group_is_split(tmp_path: Any) -> None:
    with RunningService(settings_for(tmp_path, intake={"max_group": 4})) as api:
        assert api.post(body(events(10)), BATCH).status_code == 204
        assert api.events() == 10


def test_gzipped_batch(api: RunningService) -> None:
    assert api.post(gzip.compress(body(events(2))), BATCH, content_encoding="gzip").status_code == 204
    assert api.events() == 2


def test_batch_returns_503_if_store_is_full(tmp_path: Any) -> None:
    settings = settings_for(tmp_path)
    writer = make_writer(settings)
    with RunningService(settings, lambda: writer) as api:
        writer._db.execute("PRAGMA max_page_count = 1")
        response = api.post(body([run_event(run=i, job="j" * 60_000) for i in range(9)]), BATCH)
        assert (response.status_code, response.headers["retry-after"]) == (503, "2")


def test_openmetadata_route_accepts_one_event(api: RunningService) -> None:
    response = api.post(events(1)[0], OPENMETADATA)
    assert response.status_code == 200
    assert response.json() == {"status": "success", "message": "Event stored", "lineageEdgesCreated": 2}
    assert api.events() == 1
    rejection = api.post(INVALID_EVENT, OPENMETADATA)
    assert (rejection.status_code, rejection.headers["content-type"]) == (400, PROBLEM)


def test_openmetadata_batch_is_an_object_of_events(api: RunningService) -> None:
    response = api.post(body({"events": [*events(2), INVALID_EVENT]}), f"{OPENMETADATA}/batch")
    assert response.status_code == 200
    assert response.json() == {
        "status": "partial_success",
        "message": "2 events stored, 1 rejected",
        "lineageEdgesCreated": 4,
        "summary": {"received": 3, "successful": 2, "failed": 1},
        "failedEvents": [{"index": 2, "reason": "eventTime: is missing", "retriable": False}],
    }
    success = api.post(body({"events": events(2)}), f"{OPENMETADATA}/batch")
    assert success.json()["status"] == "success"
