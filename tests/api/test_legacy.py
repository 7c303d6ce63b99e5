"""The legacy routes end to end: stored rows, rejections and retries."""

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bridge.api.examples import LEGACY_ROUTES
from bridge.cli.main import app as command
from tests.api.service import PROBLEM, RunningService, settings_for
from tests.factories import dataset, dataset_event, facet, registration, run_event
from tests.stores import Json, as_bytes

RUN_EVENT = "/api/v1/run_event"
REQUEST = "/api/v1/dataset/register"
DATASET = "/api/v1/legacy/register_dataset"
PROCESS = "/api/v1/legacy/register_process"
DB2 = {"db2_url": "db2://db2.example.com:50000", "db2_database": "PROD"}
RUN_ID = "11111111-2222-4333-8444-555555555555"

RUNS = "SELECT p.process_key, r.status, r.start_ts, r.end_ts FROM process_run r JOIN process p USING (org_id, process_id)"
ENDED = ("AUTOSYS/BOX/JobA", "SUCCESS", "2025-09-08T07:00:00.000000Z", "2025-09-08T07:30:00.000000Z")


def run_event_body(**fields: Any) -> Json:
    """A run event as in the contract."""
    return {
        "eventType": "COMPLETE",
        "run": {"runId": RUN_ID, "startTime": "2025-09-08T07:00", "endTime": "2025-09-08T07:30", "facets": {}},
        "job": {"namespace": "AUTOSYS", "name": "BOX/JobA"},
        "inputs": [{"namespace": "DB2", "name": "SCHEMA.TABLE_A", "facets": {"version": "2025-09-08T07:30"}}],
        "outputs": [
            {
                "namespace": "S3",
                "name": "s3://bucket/out/v1",
                "facets": {"path": "s3://bucket/out/v1/x", "rows": 12345},
            }
        ],
        **fields,
    }


@pytest.fixture
def legacy(tmp_path: Path) -> Any:
    with RunningService(settings_for(tmp_path, legacy=DB2)) as running:
        yield running


def test_run_event_stores_run_inputs_and_versions(legacy: RunningService) -> None:
    response = legacy.post(run_event_body(), RUN_EVENT)
    assert (response.status_code, response.content) == (201, b"")
    assert legacy.rows(f"{RUNS} WHERE r.run_uuid = ?", RUN_ID) == [ENDED]
    assert legacy.rows("SELECT count(*) FROM ol_run") == [(1,)]
    inputs = "SELECT n.namespace_uri, d.name, i.version FROM ol_run_input i JOIN ol_dataset d USING (dataset_id) JOIN ol_namespace n USING (namespace_id)"
    assert legacy.rows(inputs) == [("db2://db2.example.com:50000", "PROD.SCHEMA.TABLE_A", "2025-09-08T07:30")]
    versions = "SELECT n.namespace_uri, d.name, v.row_count, v.path FROM dataset_version v JOIN ol_dataset d USING (dataset_id) JOIN ol_namespace n USING (namespace_id)"
    assert legacy.rows(versions) == [("s3://bucket", "out/v1", 12345, "s3://bucket/out/v1/x")]
    assert legacy.rows("SELECT event_type, source FROM run_event ORDER BY seq") == [
        ("START", "legacy:run_event"),
        ("COMPLETE", "legacy:run_event"),
    ]
    assert "run.endTime has no time zone: read as UTC" in legacy.notes()


def test_start_and_end_without_run_id_are_one_run(legacy: RunningService) -> None:
    start = run_event_body(eventType="STARTING", run={"startTime": "2025-09-08T07:00"}, inputs=[], outputs=[])
    end = run_event_body(eventType="SUCCESS", run={"startTime": "2025-09-08T07:00Z", "endTime": "2025-09-08T07:30Z"})
    assert [legacy.post(event, RUN_EVENT).status_code for event in (end, start)] == [201, 201]
    assert legacy.rows(RUNS) == [ENDED]


@pytest.mark.parametrize(("query", "expected"), [("", 0), ("?historical=true", 1), ("?historical=false", 0)])
@pytest.mark.parametrize("path", [RUN_EVENT, PROCESS, DATASET, REQUEST])
def test_every_route_marks_historical_events(legacy: RunningService, path: str, query: str, expected: int) -> None:
    example = next(route.example for route in LEGACY_ROUTES if route.path == path)
    assert legacy.post(example, path + query).status_code == 201
    assert {flag for (flag,) in legacy.rows("SELECT historical FROM run_event")} == {expected}


def test_invalid_historical_flag_is_rejected(legacy: RunningService) -> None:
    response = legacy.post(run_event_body(), f"{RUN_EVENT}?historical=maybe")
    assert (response.status_code, response.json()["field"]) == (400, "historical")
    assert legacy.events() == 0


@pytest.mark.parametrize(
    ("path", "content", "field", "reason"),
    [
        (RUN_EVENT, run_event_body(run={"runId": RUN_ID}), "run.endTime", "is missing, and so are all other times"),
        (RUN_EVENT, run_event_body(run={"runId": RUN_ID, "endTime": "soon"}), "run.endTime", "not a time: 'soon'"),
        (
            RUN_EVENT,
            run_event_body(run={"endTime": "2025-09-08"}),
            "run.runId",
            "is missing, and cannot be derived without run.startTime",
        ),
        (RUN_EVENT, run_event_body(eventType=None), "eventType", "is missing"),
        (RUN_EVENT, run_event_body(job={"namespace": "AUTOSYS", "name": "/"}), "job.name", "contains no job name"),
        (RUN_EVENT, run_event_body(job={"name": "x"}), "job.namespace", "is missing"),
        (RUN_EVENT, run_event_body(inputs=[{"namespace": "S3"}]), "inputs[0].name", "is missing"),
        (RUN_EVENT, run_event_body(outputs=["x"]), "outputs[0]", "must be an object"),
        (RUN_EVENT, run_event_body(inputs={"a": 1}), "inputs", "must be a list"),
        (RUN_EVENT, b"[1]", None, "the body must be a JSON object"),
        (RUN_EVENT, b"{", None, "not JSON"),
        (RUN_EVENT, b'{"a":' * 5000 + b"1" + b"}" * 5000, None, "nested too deeply"),
        (DATASET, {"name": "s3://b/k", "version": "1"}, "time", "is missing"),
        (DATASET, {"name": "s3://b/k", "time": "2025-09-08"}, "version", "is missing"),
        (
            DATASET,
            {"name": "k", "version": 1, "time": "2025-09-08"},
            "namespace",
            "is missing, and the name is not a URL",
        ),
        (PROCESS, {"name": "BOX/JobA", "status": "SU"}, "time", "is missing"),
        (PROCESS, {"name": "BOX/JobA", "time": "2025-09-08"}, "status", "is missing"),
        (REQUEST, {"name": "s3://b/k"}, "submitted_by", "is missing"),
        (
            REQUEST,
            {"name": "s3://b/k", "submitted_by": "ann", "status": "APPROVED"},
            "status",
            "must be PENDING in a request",
        ),
    ],
)
def test_invalid_body_is_rejected_with_field_and_stored_as_sent(
    legacy: RunningService, path: str, content: Json | bytes, field: str | None, reason: str
) -> None:
    response = legacy.post(as_bytes(content), path)
    assert (response.status_code, response.headers["content-type"]) == (400, PROBLEM)
    assert response.json().get("field") == field
    assert response.json()["detail"].startswith(reason)
    code, stored = rejected_command(legacy, "show", response.json()["rejected"])
    assert (code, stored) == (0, as_bytes(content).decode())
    assert legacy.events() == 0


def rejected_command(running: RunningService, *args: str) -> tuple[int, str]:
    settings = running.settings
    env = {"LINEAGE_BRIDGE__STORE__URL": settings.store.url}
    env |= {f"LINEAGE_BRIDGE__LEGACY__{k.upper()}": v for k, v in settings.legacy.model_dump().items() if v}
    result = CliRunner(env=env).invoke(command, ["rejected", *args], catch_exceptions=False)
    return result.exit_code, result.stdout


def test_rejected_body_is_ingested_after_setting_is_added(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    with RunningService(settings) as api:
        response = api.post(run_event_body(), f"{RUN_EVENT}?historical=true")
        assert (response.status_code, response.json()["field"]) == (400, "inputs[0].namespace")
        assert "set legacy.db2_url" in response.json()["detail"]
    assert "legacy:run_event?historical=true" in rejected_command(api, "list")[1]
    assert rejected_command(api, "retry") == (1, "0 ingested, 1 still rejected\n")
    api.settings = settings.model_copy(update={"legacy": settings.legacy.model_copy(update=DB2)})
    assert rejected_command(api, "retry") == (0, "1 ingested, 0 still rejected\n")
    assert rejected_command(api, "list") == (0, "")
    assert api.rows(RUNS) == [ENDED]
    assert api.rows("SELECT DISTINCT historical FROM run_event") == [(1,)]


@pytest.mark.parametrize("contract", ["run_event", "dataset", "process", "request"])
def test_retry_keeps_format_of_rejected_body(api: RunningService, contract: str) -> None:
    path = next(route.path for route in LEGACY_ROUTES if route.legacy_format == contract)
    assert api.post({"name": "x", "submitted_by": "ann"}, path).status_code == 400
    source_and_reason = listed_source_and_reason(api)
    assert source_and_reason[0] == f"legacy:{contract}"
    rejected_command(api, "retry")
    assert listed_source_and_reason(api) == source_and_reason


def listed_source_and_reason(api: RunningService) -> list[str]:
    """Return the last columns of the only rejected input."""
    _, line = rejected_command(api, "list")[1].splitlines()
    return re.split(r" {2,}", line)[4:]


def test_same_body_is_stored_per_rejecting_route(api: RunningService) -> None:
    content = {"name": "BOX/JobA", "status": "SUCCESS"}
    assert [api.post(content, *path).status_code for path in ((), (PROCESS,))] == [400, 400]
    assert set(api.rows("SELECT source, path FROM rejected_event")) == {
        ("http", "eventTime"),
        ("legacy:process", "time"),
    }


def test_rejected_translation_keeps_original_body(tmp_path: Path) -> None:
    with RunningService(settings_for(tmp_path, legacy=DB2, intake={"max_datasets": 1})) as api:
        response = api.post(run_event_body(), RUN_EVENT)
        assert response.status_code == 413
        assert rejected_command(api, "show", response.json()["rejected"])[1] == as_bytes(run_event_body()).decode()


def test_internal_error_keeps_body(legacy: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError("a fault of ours")

    with monkeypatch.context() as fault:
        fault.setattr("bridge.intake.legacy.translate_body", fail)
        assert legacy.post(run_event_body(), RUN_EVENT).json()["detail"] == "ArithmeticError: a fault of ours"
    assert rejected_command(legacy, "retry") == (0, "1 ingested, 0 still rejected\n")
    assert legacy.rows(RUNS) == [ENDED]


def test_dataset_version_without_run(legacy: RunningService) -> None:
    content = {"name": "s3://b/out", "version": 7, "status": "SUCCESS", "rows": "3", "time": "2025-09-08"}
    assert legacy.post(content, DATASET).status_code == 201
    query = "SELECT version_tag, row_count, produced_by_run_id, is_latest FROM dataset_version_read"
    assert legacy.rows(query) == [("7", 3, None, 1)]


@pytest.mark.parametrize(("status", "expected"), [("SUCCESS", [("7",)]), ("FAILED", []), ("RUNNING", [])])
@pytest.mark.parametrize("job", [{}, {"job": "BOX/JobA"}], ids=["without job", "with job"])
def test_only_successful_versions_are_readable(
    legacy: RunningService, status: str, expected: list[Any], job: Json
) -> None:
    content = {"name": "s3://b/out", "version": "7", "status": status, "time": "2025-09-08", **job}
    assert legacy.post(content, DATASET).status_code == 201
    assert legacy.rows("SELECT version_tag FROM dataset_version_read") == expected


def test_process_is_a_run_of_its_job(legacy: RunningService) -> None:
    content = {"name": "BOX/JobA", "status": "TE", "startTime": "2025-09-08T07:00Z", "endTime": "2025-09-08T07:30Z"}
    assert legacy.post(content, PROCESS).status_code == 201
    assert legacy.rows(RUNS) == [(ENDED[0], "CANCELLED", *ENDED[2:])]


def test_registration_is_pending_until_reviewed(legacy: RunningService) -> None:
    content = {
        "namespace": "DB2", "name": "S.T", "submitted_by": "ann", "submitted_at": "2026-01-01T00:00:00Z",
        "description": "the orders", "schema": [{"name": "id"}], "owner": "sales", "_deleted": True,
    }  # fmt: skip
    responses = [legacy.post(content, REQUEST) for _ in range(2)]
    assert [response.status_code for response in responses] == [201, 201]
    ((reg_id, *row),) = legacy.rows(
        "SELECT lower(hex(reg_id)), submitted_by, submitted_at, status FROM dataset_registration"
    )
    assert {tuple(response.json().items()) for response in responses} == {
        (("registration", reg_id), ("status", "PENDING"))
    }
    assert row == ["ann", 1_767_225_600_000_000, "PENDING"]
    request = legacy.rows("SELECT json_extract(request_json, '$.description', '$.owner') FROM dataset_registration")
    assert request == [('["the orders","sales"]',)]
    assert legacy.rows("SELECT description, owner_team FROM dataset") == [(None, None)]
    review = registration("APPROVED", reviewer="bob", comment="fine")
    legacy.post(dataset_event(0, dataset("PROD.S.T", DB2["db2_url"], lineageBridge_registration=review)))
    assert legacy.rows("SELECT lower(hex(reg_id)), status, reviewer FROM dataset_registration") == [
        (reg_id, "APPROVED", "bob")
    ]


def test_registration_without_time_uses_receipt_time(legacy: RunningService) -> None:
    assert legacy.post({"name": "s3://b/k", "submitted_by": "ann"}, REQUEST).status_code == 201
    assert legacy.rows(
        "SELECT submitted_at = received_at OR received_at - submitted_at < 60000000 FROM dataset_registration, run_event"
    ) == [(1,)]


@pytest.mark.parametrize("route", LEGACY_ROUTES, ids=lambda route: route.legacy_format.value)
def test_openapi_examples_are_accepted(api: RunningService, route: Any) -> None:
    operation = api.get("/openapi.json").json()["paths"][route.path]["post"]
    content = operation["requestBody"]["content"]["application/json"]
    assert set(content["schema"]["required"]) <= set(content["example"])
    assert {"201", "400", "413", "415", "503"} <= set(operation["responses"])
    assert api.post(content["example"], route.path).status_code == 201
    assert api.rows("SELECT count(*) FROM run_event WHERE failure IS NOT NULL") == [(0,)]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content_type": "application/json"}, 201),
        ({"content_type": ""}, 415),
        ({"content_type": "text/plain"}, 415),
        ({"content_encoding": "br"}, 415),
        ({"content_length": str(1 << 40)}, 413),
        ({"content_encoding": "gzip"}, 400),
    ],
)
def test_bodies_have_limits_of_lineage_route(legacy: RunningService, headers: dict[str, str], status: int) -> None:
    assert legacy.post(run_event_body(), RUN_EVENT, **headers).status_code == status


def test_gzipped_body(legacy: RunningService) -> None:
    packed = gzip.compress(as_bytes(run_event_body()))
    assert legacy.post(packed, RUN_EVENT, content_encoding="gzip").status_code == 201
    assert legacy.rows(RUNS) == [ENDED]


def test_run_event_route_accepts_openlineage_events(api: RunningService) -> None:
    event = run_event(outputs=[dataset("d", version=facet(datasetVersion="1"))])
    assert api.post(event, RUN_EVENT).status_code == 201
    assert api.rows("SELECT status FROM process_run") == [("SUCCESS",)]
    assert api.rows("SELECT version_tag FROM dataset_version") == [("1",)]


def test_metrics_count_events_and_rejections(legacy: RunningService) -> None:
    legacy.post(run_event_body(), RUN_EVENT)
    legacy.post({}, RUN_EVENT)
    legacy.post(b"", RUN_EVENT, content_length=str(1 << 40))
    lines = legacy.get("/metrics").text.splitlines()
    assert 'lineage_bridge_events_accepted_total{merged="true"} 2.0' in lines
    assert 'lineage_bridge_events_refused_total{reason="rejected"} 1.0' in lines
    assert 'lineage_bridge_events_refused_total{reason="too_large"} 1.0' in lines


def test_documented_examples_are_accepted(api: RunningService) -> None:
    page = (Path(__file__).parents[2] / "docs" / "guides" / "legacy-jobs.md").read_text(encoding="utf-8")
    examples = re.findall(r"http://127\.0\.0\.1:8090(\S+) -H '(\S+) (\S+)' -d '(.*?)'", page, re.DOTALL)
    assert {path for path, *_ in examples} == {route.path for route in LEGACY_ROUTES}
    for path, header, value, content in examples:
        assert header == "Content-Type:"
        assert api.post(content.encode(), path, content_type=value).status_code == 201, path
    assert api.rows("SELECT count(*) FROM rejected_event") == [(0,)]


@pytest.mark.parametrize("route", LEGACY_ROUTES, ids=lambda route: route.legacy_format.value)
def test_overloaded_service_returns_503(tmp_path: Path, route: Any) -> None:
    with RunningService(settings_for(tmp_path)) as api:
        api.committer.is_full = lambda: True  # type: ignore[method-assign]
        response = api.post(route.example, route.path)
        assert (response.status_code, response.headers["content-type"], response.headers["retry-after"]) == (
            503,
            PROBLEM,
            "2",
        )
        assert api.events() == 0


def test_unmerged_event_is_stored_and_accepted(legacy: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError("a fault of ours")

    content = {"name": "s3://b/k", "submitted_by": "ann", "submitted_at": "2025-09-08"}
    with monkeypatch.context() as fault:
        fault.setattr("bridge.intake.event_reader.map_event", fail)
        response = legacy.post(content, REQUEST)
        assert (response.status_code, response.json()) == (201, {"registration": None, "status": "PENDING"})
    assert rejected_command(legacy, "retry") == (0, "1 ingested, 0 still rejected\n")
    assert legacy.rows("SELECT status FROM dataset_registration") == [("PENDING",)]


def test_retried_registration_keeps_receipt_time(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    with RunningService(settings) as api:
        assert api.post({"namespace": "DB2", "name": "S.T", "submitted_by": "ann"}, REQUEST).status_code == 400
    ((received,),) = api.rows("SELECT last_at FROM rejected_event")
    api.settings = settings.model_copy(update={"legacy": settings.legacy.model_copy(update=DB2)})
    assert rejected_command(api, "retry") == (0, "1 ingested, 0 still rejected\n")
    assert api.rows("SELECT submitted_at FROM dataset_registration") == [(received,)]


def test_db2_table_without_database_adds_note(tmp_path: Path) -> None:
    with RunningService(settings_for(tmp_path, legacy={"db2_url": "db2://h:1"})) as api:
        assert api.post(run_event_body(), RUN_EVENT).status_code == 201
        assert any("contains no database, and legacy.db2_database is not set" in note for note in api.notes())
