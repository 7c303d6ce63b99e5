"""Batches and aliases: many events a request, in OpenLineage's shape and in OpenMetadata's."""

import gzip
from typing import Any

import msgspec
import pytest

from bridge.bootstrap.store import make_writer
from tests.api.service import LINEAGE, PROBLEM, Running, settings_for
from tests.factories import dataset, run_event
from tests.stores import Json

BATCH = f"{LINEAGE}/batch"
OPENMETADATA = "/api/v1/openlineage/lineage"
BAD = {"eventType": "COMPLETE"}


def events(count: int) -> list[Json]:
    return [
        run_event(run=i, inputs=[dataset("a")], outputs=[dataset("b"), dataset("c")]) for i in range(1, count + 1)
    ]


def body(content: Any) -> bytes:
    return msgspec.json.encode(content)


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_batch_that_is_all_taken_is_answered_204(api: Running, slash: str) -> None:
    answer = api.post(body(events(3)), BATCH + slash)
    assert (answer.status_code, answer.content) == (204, b"")
    assert api.events() == 3


def test_events_of_a_batch_that_are_none_are_named_and_kept_with_their_reason(api: Running) -> None:
    answer = api.post(body([*events(1), BAD, 7, *events(2)]), BATCH)
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "partial_success",
        "summary": {"received": 5, "successful": 3, "failed": 2, "retriable": 0, "non_retriable": 2},
        "failed_events": [
            {"index": 1, "reason": "eventTime: is missing", "retriable": False},
            {"index": 2, "reason": "an event must be a JSON object", "retriable": False},
        ],
    }
    assert api.events() == 2
    assert api.rows("SELECT count(*) FROM rejected_event") == [(2,)]


def test_a_batch_without_any_event_is_a_failure(api: Running) -> None:
    assert api.post(body([BAD]), BATCH).json()["status"] == "failure"
    assert api.post(b"[]", BATCH).status_code == 204


@pytest.mark.parametrize("path", [BATCH, f"{OPENMETADATA}/batch"])
@pytest.mark.parametrize("content", [b'{"eventTime":"x"}', b"[{]", b"", b'"text"', b"[" * 100_000])
def test_what_is_no_batch_is_refused_whole_and_kept(api: Running, path: str, content: bytes) -> None:
    answer = api.post(content, path)
    assert (answer.status_code, answer.headers["content-type"]) == (400, PROBLEM)
    assert api.rows("SELECT count(*) FROM rejected_event") == [(1,)]


def test_a_batch_larger_than_a_group_is_taken_in_groups(tmp_path: Any) -> None:
    with Running(settings_for(tmp_path, intake={"max_group": 4})) as api:
        assert api.post(body(events(10)), BATCH).status_code == 204
        assert api.events() == 10


def test_a_packed_batch_is_unpacked(api: Running) -> None:
    assert api.post(gzip.compress(body(events(2))), BATCH, content_encoding="gzip").status_code == 204
    assert api.events() == 2


def test_a_batch_that_finds_no_room_is_answered_503(tmp_path: Any) -> None:
    settings = settings_for(tmp_path)
    writer = make_writer(settings)
    with Running(settings, lambda: writer) as api:
        writer._db.execute("PRAGMA max_page_count = 1")
        answer = api.post(body([run_event(run=i, job="j" * 60_000) for i in range(9)]), BATCH)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")


def test_openmetadatas_route_takes_one_event_and_answers_as_it_does(api: Running) -> None:
    answer = api.post(events(1)[0], OPENMETADATA)
    assert answer.status_code == 200
    assert answer.json() == {"status": "success", "message": "Event stored", "lineageEdgesCreated": 2}
    assert api.events() == 1
    refused = api.post(BAD, OPENMETADATA)
    assert (refused.status_code, refused.headers["content-type"]) == (400, PROBLEM)


def test_openmetadatas_batch_is_an_object_of_events(api: Running) -> None:
    answer = api.post(body({"events": [*events(2), BAD]}), f"{OPENMETADATA}/batch")
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "partial_success",
        "message": "2 events stored, 1 rejected",
        "lineageEdgesCreated": 4,
        "summary": {"received": 3, "successful": 2, "failed": 1},
        "failedEvents": [{"index": 2, "reason": "eventTime: is missing", "retriable": False}],
    }
    whole = api.post(body({"events": events(2)}), f"{OPENMETADATA}/batch")
    assert whole.json()["status"] == "success"
