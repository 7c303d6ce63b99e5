"""The OpenMetadata client, against a stand-in."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from connectors.errors import NoResponse, TargetMisconfigured, TargetRejected, TargetUnavailable, Unreachable
from connectors.http import HttpResponse, HttpSession
from connectors.openmetadata.auth import file_token_provider, login_token_provider, oauth_token_provider
from connectors.openmetadata.client import OpenMetadataClient as Client
from connectors.openmetadata.response_errors import response_error
from connectors.session import StaticToken, TokenProvider
from mappers.errors import LineageBridgeError
from tests.standins.openmetadata import OpenMetadata, error, html, reset

COLUMNS = [{"name": "id", "dataType": "INT"}]


@pytest.fixture
def standin() -> Iterator[OpenMetadata]:
    with OpenMetadata() as running:
        yield running


_OPEN_CLIENTS: list[Client] = []


def make_client(standin: OpenMetadata, token: TokenProvider | None = None) -> Client:
    _OPEN_CLIENTS.append(Client(HttpSession(standin.url), token or StaticToken(standin.bot_token)))
    return _OPEN_CLIENTS[-1]


@pytest.fixture(autouse=True)
def _close_clients() -> Iterator[None]:
    yield
    while _OPEN_CLIENTS:
        _OPEN_CLIENTS.pop().close()


@pytest.fixture
def client_with_schema(standin: OpenMetadata) -> Client:
    """A client of a server with a schema for tables."""
    schema_client = make_client(standin)
    schema_client.put("services/databaseServices", {"name": "svc", "serviceType": "CustomDatabase"})
    schema_client.put("databases", {"name": "d", "service": "svc"})
    schema_client.put("databaseSchemas", {"name": "s", "database": "svc.d"})
    return schema_client


def table_body(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "databaseSchema": "svc.d.s", "columns": COLUMNS, **fields}


def test_version_and_current_user(standin: OpenMetadata) -> None:
    assert make_client(standin).version().startswith("2.0")
    assert make_client(standin).current_user()["name"] == "ingestion-bot"


def test_put_returns_whether_entity_changed(client_with_schema: Client) -> None:
    results = [
        client_with_schema.put("tables", table_body("t", **fields)) for fields in ({}, {}, {"description": "new"})
    ]
    assert [(result.created, result.changed) for result in results] == [(True, True), (False, False), (False, True)]


@pytest.mark.parametrize("name", ["plain", "a.b", "a/b", "50%", "#?&", "it's", "Ünï", " "])
def test_entity_names_are_escaped(client_with_schema: Client, name: str) -> None:
    entity = client_with_schema.put("tables", table_body(name)).entity
    stored = client_with_schema.get("tables", entity["fullyQualifiedName"], "columns")
    assert stored is not None
    assert (stored["id"], [column["name"] for column in stored["columns"]]) == (entity["id"], ["id"])
    assert client_with_schema.get("tables", "svc.d.s.nothing") is None


def test_bulk_returns_error_per_row(client_with_schema: Client) -> None:
    rows = [table_body("a"), table_body("b", columns=[{"name": "v", "dataType": "VARCHAR"}]), table_body("c")]
    results = client_with_schema.put_bulk("tables", rows, lambda body: body["name"])
    assert [(row.position, row.error is None) for row in results] == [(0, True), (1, False), (2, True)]
    assert "VARCHAR" in (results[1].error or "") or "length" in (results[1].error or "").lower()


def test_reads_all_pages(client_with_schema: Client) -> None:
    client_with_schema.put_bulk("tables", [table_body(f"t{n:04}") for n in range(1_203)], lambda body: body["name"])
    names = [
        entity["name"] for page in client_with_schema.pages("tables", databaseSchema="svc.d.s") for entity in page
    ]
    assert len(names) == len(set(names)) == 1_203


def test_patch_requires_current_version(client_with_schema: Client) -> None:
    entity = client_with_schema.put("tables", table_body("t")).entity
    changes = [{"op": "add", "path": "/description", "value": "by a steward"}]
    client_with_schema.patch("tables", entity["id"], changes, entity["version"])
    with pytest.raises(TargetRejected) as rejected:
        client_with_schema.patch(
            "tables", entity["id"], [{"op": "replace", "path": "/description", "value": "x"}], entity["version"]
        )
    assert rejected.value.status == 412


def test_edge_is_written_read_and_deleted(client_with_schema: Client) -> None:
    ends = [("table", client_with_schema.put("tables", table_body(name)).entity["id"]) for name in "ab"]
    assert client_with_schema.get_edge(ends[0][1], ends[1][1]) is None
    columns = {"fromColumns": ["svc.d.s.a.id"], "toColumn": "svc.d.s.b.id", "function": "IDENTITY"}
    client_with_schema.put_edge(*ends, {"source": "OpenLineage", "columnsLineage": [columns]})
    edge = client_with_schema.get_edge(ends[0][1], ends[1][1])
    assert edge is not None
    assert edge["columnsLineage"] == [columns]
    assert [client_with_schema.delete_edge(*ends) for _ in range(2)] == [True, False]


def test_deleted_entity_is_found(client_with_schema: Client) -> None:
    entity = client_with_schema.put("tables", table_body("t")).entity
    deleted = client_with_schema.delete("tables", entity["id"])
    assert deleted is not None
    assert deleted["deleted"]
    assert client_with_schema.get("tables", "svc.d.s.t") is None
    stored = client_with_schema.get("tables", "svc.d.s.t", deleted=True)
    assert stored is not None
    assert stored["deleted"]
    assert deleted["updatedAt"] == stored["updatedAt"]
    assert not client_with_schema.delete("tables", "00000000-0000-4000-8000-000000000000")


def test_statuses_are_validated(client_with_schema: Client) -> None:
    client_with_schema.put("services/pipelineServices", {"name": "jobs", "serviceType": "CustomPipeline"})
    client_with_schema.put("pipelines", {"name": "a.b", "service": "jobs"})
    client_with_schema.put_statuses(
        'jobs."a.b"', [{"timestamp": n, "executionStatus": "Successful", "taskStatus": []} for n in (1, 2)]
    )
    with pytest.raises(TargetRejected):
        client_with_schema.put_statuses(
            'jobs."a.b"', [{"timestamp": 3, "executionStatus": "Running", "taskStatus": []}]
        )


def test_statuses_results_and_profiles_are_read_by_time(client_with_schema: Client) -> None:
    client_with_schema.put("services/pipelineServices", {"name": "jobs", "serviceType": "CustomPipeline"})
    client_with_schema.put("pipelines", {"name": "a.b", "service": "jobs"})
    rows = [{"timestamp": n, "executionStatus": "Successful", "taskStatus": []} for n in (1, 2, 3)]
    client_with_schema.put_statuses('jobs."a.b"', rows)
    entity = client_with_schema.put("tables", table_body("t")).entity
    definition = {"name": "d", "description": "d", "entityType": "TABLE", "testPlatforms": ["Other"]}
    client_with_schema.put("dataQuality/testDefinitions", definition)
    case = {"name": "c", "testDefinition": "d", "entityLink": "<#E::table::svc.d.s.t>"}
    client_with_schema.put("dataQuality/testCases", case)
    for n in (1, 2, 3):
        client_with_schema.post_result(
            "svc.d.s.t.c", {"timestamp": n, "testCaseStatus": "Success", "testResultValue": []}
        )
        client_with_schema.put_profile(entity["id"], {"tableProfile": {"timestamp": n, "rowCount": n}})
    read = (
        client_with_schema.statuses('jobs."a.b"', 2, 3),
        client_with_schema.results("svc.d.s.t.c", 2, 3),
        client_with_schema.profiles("svc.d.s.t", 2, 3),
    )
    assert [sorted(row["timestamp"] for row in rows or ()) for rows in read] == [[2, 3]] * 3
    assert [case_["fullyQualifiedName"] for case_ in client_with_schema.test_cases("svc.d.s.t")] == ["svc.d.s.t.c"]
    assert (
        client_with_schema.statuses("jobs.x", 0, 9),
        client_with_schema.results("x", 0, 9),
        client_with_schema.profiles("svc.d.s.x", 0, 9),
    ) == (None,) * 3


@pytest.mark.parametrize(
    ("fault", "error_type", "message"),
    [
        (error(503), TargetUnavailable, "PUT /tables: 503"),
        (error(429, retry_after=7), TargetUnavailable, "429"),
        (error(500), TargetUnavailable, "500"),
        (html(200), TargetMisconfigured, "instead of the documented JSON"),
        (html(502), TargetUnavailable, "502"),
        (reset(), NoResponse, "does not respond"),
        (reset(applied=True), NoResponse, "PUT /api/v1/tables"),
    ],
)
def test_faults_raise_errors(
    standin: OpenMetadata, client_with_schema: Client, fault: Any, error_type: type[LineageBridgeError], message: str
) -> None:
    standin.faults.next(fault, method="PUT", path="/tables")
    with pytest.raises(error_type, match=message):
        client_with_schema.put("tables", table_body("t"))
    assert client_with_schema.put("tables", table_body("t")).entity["name"] == "t"


def test_error_contains_message_of_server(client_with_schema: Client) -> None:
    with pytest.raises(TargetRejected, match="PUT /tables: 400 Invalid request format") as rejected:
        client_with_schema.put("tables", table_body("t", nonsense=1))
    assert rejected.value.status == 400


def test_refused_connection_is_unreachable() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    session = HttpSession("http://om:8585", transport=httpx.MockTransport(refuse))
    with pytest.raises(Unreachable, match="http://om:8585 does not respond: refused") as raised:
        Client(session, StaticToken("t")).version()
    assert not isinstance(raised.value, NoResponse)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7),
        ("Wed, 18 Nov 2026 00:00:30 GMT", 30),
        ("Wed, 18 Nov 2026 00:00:00 GMT", 0),
        ("soon", None),
        (None, None),
    ],
)
def test_error_contains_retry_after(header: str | None, seconds: float | None) -> None:
    headers = {} if header is None else {"retry-after": header}
    error_ = response_error(HttpResponse(503, headers, b""), "GET /", datetime(2026, 11, 18, tzinfo=UTC))
    assert isinstance(error_, TargetUnavailable)
    assert error_.retry_after == seconds


def test_rotated_token_file_is_read_again(standin: OpenMetadata, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f"{standin.expired_token}\n")
    client_ = make_client(standin, file_token_provider(path))
    with pytest.raises(TargetMisconfigured, match="401 Expired token!"):
        client_.current_user()
    path.write_text(standin.bot_token)
    assert client_.current_user()["name"] == "ingestion-bot"


@pytest.mark.parametrize("content", [None, "", "\n"])
def test_token_file_errors_name_the_file(standin: OpenMetadata, tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    with pytest.raises(TargetMisconfigured, match=str(path)):
        make_client(standin, file_token_provider(path)).current_user()


def test_rejected_token_is_not_retried(standin: OpenMetadata) -> None:
    with pytest.raises(TargetMisconfigured, match="401"):
        make_client(standin, StaticToken(standin.invalid_token)).current_user()
    assert len(standin.requests) == 1


def test_expired_oauth_token_is_renewed(standin: OpenMetadata) -> None:
    token_requests: list[bytes] = []

    def issue(request: httpx.Request) -> httpx.Response:
        token_requests.append(request.content)
        return httpx.Response(
            200, json={"access_token": [standin.expired_token, standin.bot_token][len(token_requests) - 1]}
        )

    tokens = HttpSession("http://idp/token", transport=httpx.MockTransport(issue))
    assert (
        make_client(standin, oauth_token_provider(tokens, "me", "se&cret")).current_user()["name"] == "ingestion-bot"
    )
    assert token_requests == [b"grant_type=client_credentials&client_id=me&client_secret=se%26cret"] * 2


@pytest.mark.parametrize(
    "response", [httpx.Response(400, text="no"), httpx.Response(200, text="<html>"), httpx.Response(200, json={})]
)
def test_login_without_token_is_an_error(standin: OpenMetadata, response: httpx.Response) -> None:
    session = HttpSession("http://om", transport=httpx.MockTransport(lambda _: response))
    with pytest.raises(TargetMisconfigured, match="http://om"):
        make_client(standin, login_token_provider(session, "a@b.c", "secret")).current_user()


def test_invalid_bodies_are_not_sent(standin: OpenMetadata) -> None:
    errors = {"tables": "columns: not one of its values", "lineage": "edge: missing"}
    validating = Client(
        HttpSession(standin.url),
        StaticToken(standin.bot_token),
        validate=lambda collection, body: errors.get(collection) if body.get("name") != "good" else None,
    )
    _OPEN_CLIENTS.append(validating)
    message = "not sent: OpenMetadata's models reject it: columns: not one of its values"
    rows = validating.put_bulk("tables", [table_body("bad"), table_body("worse")], lambda body: body["name"])
    assert [(row.position, row.error) for row in rows] == [(0, message), (1, message)]
    with pytest.raises(TargetRejected, match="columns: not one of its values"):
        validating.put("tables", table_body("bad"))
    with pytest.raises(TargetRejected, match="edge: missing"):
        validating.put_edge(("table", "1"), ("table", "2"), {})
    assert {request.method for request in standin.requests} == {"GET"}
