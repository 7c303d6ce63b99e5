"""POST /api/v1/lineage: accepted and rejected events, and the responses."""

import gzip
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.api.service import LINEAGE, PROBLEM, RunningService, chunks, event_with, settings_for
from tests.factories import dataset, dataset_event, facet, job_event, run_event
from tests.stores import Json, as_bytes

EVENT = as_bytes(run_event())
GZIPPED = gzip.compress(EVENT)


def without(event: Json, *path: Any) -> Json:
    """Copy an event without one member."""
    copy: Json = msgspec.json.decode(msgspec.json.encode(event))
    parent: Any = copy
    for part in path[:-1]:
        parent = parent[part]
    del parent[path[-1]]
    return copy


def statistics(value: str) -> bytes:
    event = run_event(outputs=[dataset("d", output_facets={"outputStatistics": facet(rowCount="@@")})])
    return as_bytes(event).replace(b'"@@"', value.encode())


@pytest.mark.parametrize("path", [LINEAGE, LINEAGE + "/"])
@pytest.mark.parametrize(
    "event", [run_event(), job_event(), dataset_event(0, dataset("d"))], ids=["run", "job", "dataset"]
)
def test_all_event_kinds_are_stored(api: RunningService, path: str, event: Json) -> None:
    response = api.post(event, path)
    assert (response.status_code, response.content) == (201, b"")
    assert api.events() == 1


def test_equal_events_are_stored_once(api: RunningService) -> None:
    assert [api.post(EVENT).status_code for _ in range(2)] == [201, 201]
    assert api.rows("SELECT receipts FROM run_event") == [(2,)]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content_type": "application/json"}, 201),
        ({"content_type": "Application/JSON; charset=utf-8"}, 201),
        ({"content_type": "application/vnd.openlineage+json"}, 201),
        ({"content_type": ""}, 415),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/x-www-form-urlencoded"}, 415),
        ({"content_encoding": "identity"}, 201),
        ({"content_encoding": "br"}, 415),
        ({"content_encoding": "gzip, gzip"}, 415),
    ],
)
def test_content_types_and_encodings(api: RunningService, headers: dict[str, str], status: int) -> None:
    response = api.post(EVENT, **headers)
    assert response.status_code == status
    assert status == 201 or response.headers["content-type"] == PROBLEM


@pytest.mark.parametrize(
    "body",
    [GZIPPED, gzip.compress(EVENT[:100]) + gzip.compress(EVENT[100:]), gzip.compress(b"\xef\xbb\xbf" + EVENT)],
    ids=["one member", "two members", "with a byte order mark"],
)
def test_gzip_with_one_or_several_members(api: RunningService, body: bytes) -> None:
    assert api.post(body, content_encoding="gzip").status_code == 201
    assert api.events() == 1


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"not gzip", "not gzip"),
        (EVENT, "not gzip"),
        (GZIPPED[:-1], "is truncated"),
        (GZIPPED[: len(GZIPPED) // 2], "is truncated"),
        (b"", "is truncated"),
        (GZIPPED + b"garbage", "not gzip"),
        (GZIPPED[:-8] + bytes(8), "not gzip"),
        (gzip.compress(b"") * 65, "more than 64 members"),
    ],
    ids=["text", "plain", "one byte short", "half", "empty", "trailing", "checksum", "members"],
)
def test_broken_gzip_is_rejected_and_stored(api: RunningService, body: bytes, reason: str) -> None:
    response = api.post(body, content_encoding="gzip")
    assert (response.status_code, response.headers["content-type"]) == (400, PROBLEM)
    assert reason in response.json()["detail"]
    assert api.rows("SELECT hex(payload_hash), payload_size FROM rejected_event") == [
        (response.json()["rejected"].upper(), len(body))
    ]


def test_gzip_bomb_is_rejected_before_decompression(tmp_path: Path) -> None:
    bomb = gzip.compress(bytes(64 << 20))
    with RunningService(settings_for(tmp_path, intake={"max_unpacked_mb": 1})) as api:
        tracemalloc.start()
        try:
            response = api.post(bomb, content_encoding="gzip")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert (response.status_code, response.headers["content-type"]) == (413, PROBLEM)
    assert peak < 8 << 20


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b" " * 3000, {}),
        (chunks(b" " * 3000, 100), {}),
        (b"{}", {"content_length": "3000"}),
        (b"{}", {"content_length": "9" * 5000}),
    ],
    ids=["Content-Length", "chunked", "large Content-Length", "absurd Content-Length"],
)
def test_body_over_limit_is_rejected(tmp_path: Path, body: Any, headers: dict[str, str]) -> None:
    with RunningService(settings_for(tmp_path, intake={"max_body_mb": 0.002})) as api:
        response = api.post(body, **headers)
        assert (response.status_code, response.headers["content-type"]) == (413, PROBLEM)
        assert "2097 bytes" in response.json()["detail"] or "limit is 2097" in response.json()["detail"]
        assert api.post(chunks(EVENT, 100)).status_code == 201


@pytest.mark.parametrize(
    ("body", "field", "reason"),
    [
        (b"", None, "not JSON"),
        (b"hello", None, "not JSON"),
        (EVENT[:-1], None, "not JSON"),
        (EVENT.replace(b"jobs", b"\xff\xfe"), None, "not JSON"),
        (b"[]", None, "an event must be a JSON object"),
        (b"[" + EVENT + b"]", None, "an event must be a JSON object"),
        (b"null", None, "an event must be a JSON object"),
        (b"{}", "eventTime", "is missing"),
        (without(run_event(), "eventTime"), "eventTime", "is missing"),
        ({**run_event(), "eventTime": "yesterday"}, "eventTime", "not a time"),
        ({**run_event(), "eventTime": 17}, "eventTime", "Expected `str`"),
        (without(run_event(), "job"), "job", "a run requires a job"),
        (without(job_event(), "job"), None, "an event requires a run with a job, a job, or a dataset"),
        (without(run_event(), "job", "name"), "job.name", "is missing"),
        (without(run_event(), "run", "runId"), "run.runId", "is missing"),
        (run_event(job=""), "job.name", "must not be empty"),
        (without(run_event(inputs=[dataset("d")]), "inputs", 0, "name"), "inputs[0].name", "is missing"),
        (run_event(outputs=[dataset("d"), dataset("")]), "outputs[1].name", "must not be empty"),
        ({**run_event(), "inputs": {"name": "d"}}, "inputs", "Expected `array | null`"),
        (without(dataset_event(0, dataset("d")), "dataset", "namespace"), "dataset.namespace", "is missing"),
        (event_with("NaN"), None, "not JSON"),
        (event_with("Infinity"), None, "not JSON"),
        (event_with('"\\ud800"'), None, "not JSON"),
        (event_with('{"\\udc00": 1}'), None, "not JSON"),
        (event_with("1e999"), ..., "out of range"),
        (event_with("9" * 5_000), ..., "out of range"),
        (event_with("[" * 100_000 + "]" * 100_000), None, "nested too deeply"),
        (event_with('{"a":' * 100_000 + "1" + "}" * 100_000), None, "nested too deeply"),
        (event_with("[" * 800 + "null" + "]" * 800), None, "nested too deeply"),
    ],
    ids=lambda value: None if isinstance(value, bytes | dict) else str(value)[:40],
)
def test_invalid_event_is_rejected_with_field_and_stored(
    api: RunningService, body: Json | bytes, field: Any, reason: str
) -> None:
    response = api.post(body)
    problem = response.json()
    assert (response.status_code, response.headers["content-type"], problem["status"]) == (400, PROBLEM, 400)
    assert reason in problem["detail"]
    if field is not ...:
        assert problem.get("field") == field
    assert api.rows("SELECT hex(payload_hash), reason, path, source FROM rejected_event") == [
        (problem["rejected"].upper(), problem["detail"], problem.get("field", ""), "http")
    ]
    assert api.events() == 0


@pytest.mark.parametrize(
    "body",
    [
        event_with("9" * 400),
        EVENT[:-1] + b',"extra":' + b"9" * 400 + b"}",
        event_with('{"%s": 1}' % ("k" * (1 << 20))),
        as_bytes(run_event(job="j" * (1 << 20))),
        event_with('{"a": 1, "a": 2}'),
        event_with("[" * 300 + "null" + "]" * 300),
        EVENT[:-1] + b',"job":{"namespace":"other","name":"last wins"}}',
        as_bytes({**run_event(), "eventTime": "0001-01-01T00:00:00+23:59"}),
        as_bytes({**run_event(), "eventTime": "9999-12-31T23:59:59.999999-23:59"}),
        as_bytes({**run_event(), "inputs": None, "outputs": None, "job": {"namespace": "n", "name": "n"}}),
        b"\xef\xbb\xbf \r\n" + EVENT + b"\n\n",
    ],
    ids=[
        "400 digits in a facet", "400 digits in the event", "1 MB key", "1 MB name", "doubled key", "deep", "doubled job",
        "year 1", "year 9999", "nulls", "byte order mark",
    ],
)  # fmt: skip
def test_unusual_but_valid_events_are_merged(api: RunningService, body: bytes) -> None:
    assert api.post(body).status_code == 201
    assert api.rows("SELECT failure FROM run_event") == [(None,)]
    assert api.rows("SELECT count(*) FROM ol_run") == [(1,)]
    assert [api.get(path).status_code for path in ("/api/v1/events", "/api/v1/runs")] == [200, 200]


@pytest.mark.parametrize(
    ("body", "note"),
    [
        (without(run_event(), "schemaURL"), "schemaURL is missing"),
        (without(run_event(), "producer"), "producer is missing"),
        ({**run_event(), "eventTime": "2026-01-01T00:00:00"}, "eventTime has no time zone: read as UTC"),
        (
            {**run_event(), "eventTime": "2026-01-01T00:00:00.123456789Z"},
            "eventTime is finer than microseconds: truncated",
        ),
        ({**run_event(), "run": {"runId": "scheduled__2026"}}, "run id 'scheduled__2026' is not a UUID"),
        ({**run_event(), "run": {"runId": ""}}, "run id '' is not a UUID"),
        (run_event("complete"), "eventType 'complete' is not in the spec: read as COMPLETE"),
        (run_event("PAUSED"), "eventType 'PAUSED' is not in the spec: read as OTHER"),
        (without(run_event(), "eventType"), "eventType '' is not in the spec: read as OTHER"),
        (run_event(job="a\0b"), "U+0000 was replaced by U+FFFD"),
        (run_event(run_facets={"odd": 1}), "run.facets.odd is not an object: ignored"),  # type: ignore[dict-item]
        (statistics(str(1 << 63)), "a statistic exceeds 64 bits: ignored"),
        (statistics("-" + "9" * 30), "a statistic exceeds 64 bits: ignored"),
        (statistics("9" * 400), "a statistic exceeds 64 bits: ignored"),
        (statistics('"many"'), "facet outputStatistics does not match its specification"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_tolerated_mistakes_add_a_note(api: RunningService, body: Json | bytes, note: str) -> None:
    assert api.post(body).status_code == 201
    assert any(stored.startswith(note) for stored in api.notes()), api.notes()
    assert api.rows("SELECT failure FROM run_event") == [(None,)]


def test_valid_event_has_no_note(api: RunningService) -> None:
    assert api.post(EVENT).status_code == 201
    assert api.notes() == []


def test_u0000_in_names_is_replaced(api: RunningService) -> None:
    api.post(run_event(job="a\0b"))
    assert api.rows("SELECT name FROM ol_job") == [("a\ufffdb",)]


@pytest.mark.parametrize(
    ("limits", "event", "reason"),
    [
        ({"max_datasets": 3}, run_event(inputs=[dataset("a"), dataset("b")]), None),
        ({"max_datasets": 3}, run_event(inputs=[dataset("a")] * 2, outputs=[dataset("b")] * 2), "4 datasets"),
        ({"max_facets": 2}, run_event(run_facets={c: facet() for c in "ab"}), None),
        ({"max_facets": 2}, run_event(run_facets={c: facet() for c in "abc"}), "3 facets"),
        ({"max_facets": 2}, run_event(job_facets={c: facet() for c in "abc"}), "3 facets"),
    ],
    ids=["some datasets", "too many datasets", "some facets", "too many run facets", "too many job facets"],
)
def test_event_with_too_many_datasets_or_facets_is_rejected(
    tmp_path: Path, limits: Json, event: Json, reason: str | None
) -> None:
    with RunningService(settings_for(tmp_path, intake=limits)) as api:
        response = api.post(event)
        if reason is None:
            assert response.status_code == 201
            return
        assert (response.status_code, response.headers["content-type"]) == (413, PROBLEM)
        assert response.json()["detail"].startswith(reason)
        assert api.rows("SELECT hex(payload_hash) FROM rejected_event") == [(response.json()["rejected"].upper(),)]


def test_equal_rejected_inputs_are_stored_once(api: RunningService) -> None:
    hashes = {api.post(b"{}").json()["rejected"] for _ in range(3)}
    assert api.rows("SELECT lower(hex(payload_hash)), receipts FROM rejected_event") == [(hashes.pop(), 3)]


def test_payloads_of_rejected_inputs_are_limited(tmp_path: Path) -> None:
    with RunningService(settings_for(tmp_path, intake={"keep_rejected": 2})) as api:
        for i in range(5):
            api.post(b"[%d]" % i)
        assert api.rows("SELECT count(*), count(payload) FROM rejected_event") == [(5, 2)]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_other_methods_are_not_allowed(api: RunningService, method: str) -> None:
    assert api.run(api.client.request(method, LINEAGE)).status_code == 405


def test_body_over_limit_is_stored_as_rejected(api: RunningService) -> None:
    response = api.post(b"x" * (11 << 20))
    assert response.status_code == 413
    reasons = [reason for (reason,) in api.rows("SELECT reason FROM rejected_event")]
    assert len(reasons) == 1
    assert "limit" in reasons[0]


def test_event_type_without_run_adds_note(api: RunningService) -> None:
    assert api.post(job_event() | {"eventType": "COMPLETE"}).status_code == 201
    assert "eventType 'COMPLETE' without a run: ignored" in api.notes()


def test_bodies_over_limit_are_stored_separately(tmp_path: Path) -> None:
    with RunningService(settings_for(tmp_path, intake={"max_body_mb": 0.001})) as api:
        hashes = {api.post(b"x" * size).json()["rejected"] for size in (2000, 3000)}
        assert len(hashes) == 2
        assert {hash_ for (hash_,) in api.rows("SELECT lower(hex(payload_hash)) FROM rejected_event")} == hashes
