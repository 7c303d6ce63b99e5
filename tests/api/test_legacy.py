"""The legacy routes end to end: what is taken, what the store knows then, and what becomes of what is refused."""

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bridge.api.examples import LEGACY_ROUTES
from bridge.cli.main import app as command
from tests.api.service import PROBLEM, Running, settings_for
from tests.factories import dataset, dataset_event, facet, registration, run_event
from tests.stores import Json, as_bytes

RUN_EVENT = "/api/v1/run_event"
REQUEST = "/api/v1/dataset/register"
DATASET = "/api/v1/legacy/register_dataset"
PROCESS = "/api/v1/legacy/register_process"
DB2 = {"db2_url": "db2://db2.example.com:50000", "db2_database": "PROD"}
UUID = "11111111-2222-4333-8444-555555555555"

RUNS = "SELECT p.process_key, r.status, r.start_ts, r.end_ts FROM process_run r JOIN process p USING (org_id, process_id)"
ENDED = ("AUTOSYS/BOX/JobA", "SUCCESS", "2025-09-08T07:00:00.000000Z", "2025-09-08T07:30:00.000000Z")


def body(**more: Any) -> Json:
    """A run event as in the contract."""
    return {
        "eventType": "COMPLETE",
        "run": {"runId": UUID, "startTime": "2025-09-08T07:00", "endTime": "2025-09-08T07:30", "facets": {}},
        "job": {"namespace": "AUTOSYS", "name": "BOX/JobA"},
        "inputs": [{"namespace": "DB2", "name": "SCHEMA.TABLE_A", "facets": {"version": "2025-09-08T07:30"}}],
        "outputs": [
            {
                "namespace": "S3",
                "name": "s3://bucket/out/v1",
                "facets": {"path": "s3://bucket/out/v1/x", "rows": 12345},
            }
        ],
        **more,
    }


@pytest.fixture
def legacy(tmp_path: Path) -> Any:
    with Running(settings_for(tmp_path, legacy=DB2)) as running:
        yield running


def test_a_run_event_becomes_a_run_with_its_box_times_versions_and_rows(legacy: Running) -> None:
    answer = legacy.post(body(), RUN_EVENT)
    assert (answer.status_code, answer.content) == (201, b"")
    assert legacy.rows(f"{RUNS} WHERE r.run_uuid = ?", UUID) == [ENDED]
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


def test_a_start_and_an_end_without_a_run_id_are_one_run(legacy: Running) -> None:
    start = body(eventType="STARTING", run={"startTime": "2025-09-08T07:00"}, inputs=[], outputs=[])
    end = body(eventType="SUCCESS", run={"startTime": "2025-09-08T07:00Z", "endTime": "2025-09-08T07:30Z"})
    assert [legacy.post(sent, RUN_EVENT).status_code for sent in (end, start)] == [201, 201]
    assert legacy.rows(RUNS) == [ENDED]


@pytest.mark.parametrize(("query", "marked"), [("", 0), ("?historical=true", 1), ("?historical=false", 0)])
@pytest.mark.parametrize("path", [RUN_EVENT, PROCESS, DATASET, REQUEST])
def test_history_is_marked_on_every_route(legacy: Running, path: str, query: str, marked: int) -> None:
    example = next(route.example for route in LEGACY_ROUTES if route.path == path)
    assert legacy.post(example, path + query).status_code == 201
    assert {flag for (flag,) in legacy.rows("SELECT historical FROM run_event")} == {marked}


def test_a_flag_that_is_none_is_refused(legacy: Running) -> None:
    answer = legacy.post(body(), f"{RUN_EVENT}?historical=maybe")
    assert (answer.status_code, answer.json()["field"]) == (400, "historical")
    assert legacy.events() == 0


@pytest.mark.parametrize(
    ("path", "sent", "field", "reason"),
    [
        (RUN_EVENT, body(run={"runId": UUID}), "run.endTime", "is missing, and so are all other times"),
        (RUN_EVENT, body(run={"runId": UUID, "endTime": "soon"}), "run.endTime", "not a time: 'soon'"),
        (
            RUN_EVENT,
            body(run={"endTime": "2025-09-08"}),
            "run.runId",
            "is missing, and cannot be derived without run.startTime",
        ),
        (RUN_EVENT, body(eventType=None), "eventType", "is missing"),
        (RUN_EVENT, body(job={"namespace": "AUTOSYS", "name": "/"}), "job.name", "contains no job name"),
        (RUN_EVENT, body(job={"name": "x"}), "job.namespace", "is missing"),
        (RUN_EVENT, body(inputs=[{"namespace": "S3"}]), "inputs[0].name", "is missing"),
        (RUN_EVENT, body(outputs=["x"]), "outputs[0]", "must be an object"),
        (RUN_EVENT, body(inputs={"a": 1}), "inputs", "must be a list"),
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
def test_what_cannot_be_translated_is_refused_with_its_field_and_kept_as_sent(
    legacy: Running, path: str, sent: Json | bytes, field: str | None, reason: str
) -> None:
    answer = legacy.post(as_bytes(sent), path)
    assert (answer.status_code, answer.headers["content-type"]) == (400, PROBLEM)
    assert answer.json().get("field") == field
    assert answer.json()["detail"].startswith(reason)
    code, shown = rejected(legacy, "show", answer.json()["rejected"])
    assert (code, shown) == (0, as_bytes(sent).decode())
    assert legacy.events() == 0


def rejected(running: Running, *words: str) -> tuple[int, str]:
    settings = running.settings
    given = {"LINEAGE_BRIDGE__STORE__URL": settings.store.url}
    given |= {f"LINEAGE_BRIDGE__LEGACY__{k.upper()}": v for k, v in settings.legacy.model_dump().items() if v}
    done = CliRunner(env=given).invoke(command, ["rejected", *words], catch_exceptions=False)
    return done.exit_code, done.stdout


def test_a_refused_body_is_taken_once_the_setting_is_made(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    with Running(settings) as api:
        answer = api.post(body(), f"{RUN_EVENT}?historical=true")
        assert (answer.status_code, answer.json()["field"]) == (400, "inputs[0].namespace")
        assert "set legacy.db2_url" in answer.json()["detail"]
    assert "legacy:run_event?historical=true" in rejected(api, "list")[1]
    assert rejected(api, "retry") == (1, "0 ingested, 1 still rejected\n")
    api.settings = settings.model_copy(update={"legacy": settings.legacy.model_copy(update=DB2)})
    assert rejected(api, "retry") == (0, "1 ingested, 0 still rejected\n")
    assert rejected(api, "list") == (0, "")
    assert api.rows(RUNS) == [ENDED]
    assert api.rows("SELECT DISTINCT historical FROM run_event") == [(1,)]


@pytest.mark.parametrize("contract", ["run_event", "dataset", "process", "request"])
def test_a_body_that_stays_refused_is_tried_as_what_it_was(api: Running, contract: str) -> None:
    path = next(route.path for route in LEGACY_ROUTES if route.legacy_format == contract)
    assert api.post({"name": "x", "submitted_by": "ann"}, path).status_code == 400
    reason = rejected(api, "list")[1].split("  ", 4)[3:]
    assert reason[0] == f"legacy:{contract}"
    rejected(api, "retry")
    assert rejected(api, "list")[1].split("  ", 4)[3:] == reason


def test_bytes_that_were_refused_as_both_are_kept_as_both(api: Running) -> None:
    sent = {"name": "BOX/JobA", "status": "SUCCESS"}
    assert [api.post(sent, *path).status_code for path in ((), (PROCESS,))] == [400, 400]
    assert set(api.rows("SELECT source, path FROM rejected_event")) == {
        ("http", "eventTime"),
        ("legacy:process", "time"),
    }


def test_what_the_translated_event_is_refused_for_keeps_the_original(tmp_path: Path) -> None:
    with Running(settings_for(tmp_path, legacy=DB2, intake={"max_datasets": 1})) as api:
        answer = api.post(body(), RUN_EVENT)
        assert answer.status_code == 413
        assert rejected(api, "show", answer.json()["rejected"])[1] == as_bytes(body()).decode()


def test_a_fault_of_ours_loses_no_body(legacy: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError("a fault of ours")

    with monkeypatch.context() as fault:
        fault.setattr("bridge.intake.legacy.translate_body", fail)
        assert legacy.post(body(), RUN_EVENT).json()["detail"] == "ArithmeticError: a fault of ours"
    assert rejected(legacy, "retry") == (0, "1 ingested, 0 still rejected\n")
    assert legacy.rows(RUNS) == [ENDED]


def test_a_version_of_a_dataset_has_its_rows_and_nobody_who_made_it(legacy: Running) -> None:
    sent = {"name": "s3://b/out", "version": 7, "status": "SUCCESS", "rows": "3", "time": "2025-09-08"}
    assert legacy.post(sent, DATASET).status_code == 201
    read = "SELECT version_tag, row_count, produced_by_run_id, is_latest FROM dataset_version_read"
    assert legacy.rows(read) == [("7", 3, None, 1)]


@pytest.mark.parametrize(("status", "read"), [("SUCCESS", [("7",)]), ("FAILED", []), ("RUNNING", [])])
@pytest.mark.parametrize("job", [{}, {"job": "BOX/JobA"}], ids=["by itself", "of a run"])
def test_a_version_is_read_only_when_it_is_there(legacy: Running, status: str, read: list[Any], job: Json) -> None:
    sent = {"name": "s3://b/out", "version": "7", "status": status, "time": "2025-09-08", **job}
    assert legacy.post(sent, DATASET).status_code == 201
    assert legacy.rows("SELECT version_tag FROM dataset_version_read") == read


def test_a_process_is_a_run_of_its_job(legacy: Running) -> None:
    sent = {"name": "BOX/JobA", "status": "TE", "startTime": "2025-09-08T07:00Z", "endTime": "2025-09-08T07:30Z"}
    assert legacy.post(sent, PROCESS).status_code == 201
    assert legacy.rows(RUNS) == [(ENDED[0], "CANCELLED", *ENDED[2:])]


def test_a_request_is_pending_until_somebody_decides(legacy: Running) -> None:
    sent = {
        "namespace": "DB2", "name": "S.T", "submitted_by": "ann", "submitted_at": "2026-01-01T00:00:00Z",
        "description": "the orders", "schema": [{"name": "id"}], "owner": "sales", "_deleted": True,
    }  # fmt: skip
    answers = [legacy.post(sent, REQUEST) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    ((reg_id, *row),) = legacy.rows(
        "SELECT lower(hex(reg_id)), submitted_by, submitted_at, status FROM dataset_registration"
    )
    assert {tuple(answer.json().items()) for answer in answers} == {(("registration", reg_id), ("status", "PENDING"))}
    assert row == ["ann", 1_767_225_600_000_000, "PENDING"]
    wanted = legacy.rows("SELECT json_extract(request_json, '$.description', '$.owner') FROM dataset_registration")
    assert wanted == [('["the orders","sales"]',)]
    assert legacy.rows("SELECT description, owner_team FROM dataset") == [(None, None)]
    review = registration("APPROVED", reviewer="bob", comment="fine")
    legacy.post(dataset_event(0, dataset("PROD.S.T", DB2["db2_url"], lineageBridge_registration=review)))
    assert legacy.rows("SELECT lower(hex(reg_id)), status, reviewer FROM dataset_registration") == [
        (reg_id, "APPROVED", "bob")
    ]


def test_a_request_without_a_time_is_of_when_it_came(legacy: Running) -> None:
    assert legacy.post({"name": "s3://b/k", "submitted_by": "ann"}, REQUEST).status_code == 201
    assert legacy.rows(
        "SELECT submitted_at = received_at OR received_at - submitted_at < 60000000 FROM dataset_registration, run_event"
    ) == [(1,)]


@pytest.mark.parametrize("route", LEGACY_ROUTES, ids=lambda route: route.legacy_format.value)
def test_what_the_description_shows_is_taken_and_understood(api: Running, route: Any) -> None:
    described = api.get("/openapi.json").json()["paths"][route.path]["post"]
    content = described["requestBody"]["content"]["application/json"]
    assert set(content["schema"]["required"]) <= set(content["example"])
    assert {"201", "400", "413", "415", "503"} <= set(described["responses"])
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
def test_bodies_are_bounded_as_those_of_lineage(legacy: Running, headers: dict[str, str], status: int) -> None:
    assert legacy.post(body(), RUN_EVENT, **headers).status_code == status


def test_a_gzipped_body_is_unpacked(legacy: Running) -> None:
    packed = gzip.compress(as_bytes(body()))
    assert legacy.post(packed, RUN_EVENT, content_encoding="gzip").status_code == 201
    assert legacy.rows(RUNS) == [ENDED]


def test_an_openlineage_event_sent_to_the_wrong_door_is_taken_too(api: Running) -> None:
    event = run_event(outputs=[dataset("d", version=facet(datasetVersion="1"))])
    assert api.post(event, RUN_EVENT).status_code == 201
    assert api.rows("SELECT status FROM process_run") == [("SUCCESS",)]
    assert api.rows("SELECT version_tag FROM dataset_version") == [("1",)]


def test_the_metrics_count_every_event_and_every_refusal(legacy: Running) -> None:
    legacy.post(body(), RUN_EVENT)
    legacy.post({}, RUN_EVENT)
    legacy.post(b"", RUN_EVENT, content_length=str(1 << 40))
    lines = legacy.get("/metrics").text.splitlines()
    assert 'lineage_bridge_events_accepted_total{merged="true"} 2.0' in lines
    assert 'lineage_bridge_events_refused_total{reason="rejected"} 1.0' in lines
    assert 'lineage_bridge_events_refused_total{reason="too_large"} 1.0' in lines


def test_every_example_of_the_page_is_taken(api: Running) -> None:
    page = (Path(__file__).parents[2] / "docs" / "guides" / "legacy-jobs.md").read_text(encoding="utf-8")
    examples = re.findall(r"http://127\.0\.0\.1:8090(\S+) -H '(\S+) (\S+)' -d '(.*?)'", page, re.DOTALL)
    assert {path for path, *_ in examples} == {route.path for route in LEGACY_ROUTES}
    for path, header, value, sent in examples:
        assert header == "Content-Type:"
        assert api.post(sent.encode(), path, content_type=value).status_code == 201, path
    assert api.rows("SELECT count(*) FROM rejected_event") == [(0,)]


@pytest.mark.parametrize("route", LEGACY_ROUTES, ids=lambda route: route.legacy_format.value)
def test_a_service_that_cannot_take_it_now_says_so(tmp_path: Path, route: Any) -> None:
    with Running(settings_for(tmp_path)) as api:
        api.gate.is_full = lambda: True  # type: ignore[method-assign]
        answer = api.post(route.example, route.path)
        assert (answer.status_code, answer.headers["content-type"], answer.headers["retry-after"]) == (
            503,
            PROBLEM,
            "2",
        )
        assert api.events() == 0


def test_an_event_that_cannot_be_merged_is_kept_and_answered(
    legacy: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError("a fault of ours")

    sent = {"name": "s3://b/k", "submitted_by": "ann", "submitted_at": "2025-09-08"}
    with monkeypatch.context() as fault:
        fault.setattr("bridge.intake.event_reader.map_event", fail)
        answer = legacy.post(sent, REQUEST)
        assert (answer.status_code, answer.json()) == (201, {"registration": None, "status": "PENDING"})
    assert rejected(legacy, "retry") == (0, "1 ingested, 0 still rejected\n")
    assert legacy.rows("SELECT status FROM dataset_registration") == [("PENDING",)]


def test_a_request_that_is_tried_again_is_of_when_it_first_came(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    with Running(settings) as api:
        assert api.post({"namespace": "DB2", "name": "S.T", "submitted_by": "ann"}, REQUEST).status_code == 400
    ((received,),) = api.rows("SELECT last_at FROM rejected_event")
    api.settings = settings.model_copy(update={"legacy": settings.legacy.model_copy(update=DB2)})
    assert rejected(api, "retry") == (0, "1 ingested, 0 still rejected\n")
    assert api.rows("SELECT submitted_at FROM dataset_registration") == [(received,)]


def test_a_table_of_db2_without_its_database_leaves_a_note(tmp_path: Path) -> None:
    with Running(settings_for(tmp_path, legacy={"db2_url": "db2://h:1"})) as api:
        assert api.post(body(), RUN_EVENT).status_code == 201
        assert any("contains no database, and legacy.db2_database is not set" in note for note in api.notes())
