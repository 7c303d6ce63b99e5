"""The client of OpenMetadata, against a server that behaves as a recorded one."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from connectors.errors import NoResponse, TargetMisconfigured, TargetRejected, TargetUnavailable, Unreachable
from connectors.http import HttpResponse, HttpSession
from connectors.openmetadata.auth import StaticToken, TokenProvider, file_token, login_token, oauth_client_token
from connectors.openmetadata.client import OpenMetadataClient as Client
from connectors.openmetadata.response_errors import response_error
from mappers.errors import LineageBridgeError
from tests.standins.openmetadata import OpenMetadata, error, html, reset

COLUMNS = [{"name": "id", "dataType": "INT"}]


@pytest.fixture
def standin() -> Iterator[OpenMetadata]:
    with OpenMetadata() as running:
        yield running


_OPENED: list[Client] = []


def client(standin: OpenMetadata, token: TokenProvider | None = None) -> Client:
    _OPENED.append(Client(HttpSession(standin.url), token or StaticToken(standin.bot_token)))
    return _OPENED[-1]


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _OPENED:
        _OPENED.pop().close()


@pytest.fixture
def known(standin: OpenMetadata) -> Client:
    """A client, and a schema to put tables into."""
    made = client(standin)
    made.put("services/databaseServices", {"name": "svc", "serviceType": "CustomDatabase"})
    made.put("databases", {"name": "d", "service": "svc"})
    made.put("databaseSchemas", {"name": "s", "database": "svc.d"})
    return made


def table(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "databaseSchema": "svc.d.s", "columns": COLUMNS, **more}


def test_it_knows_the_server_and_itself(standin: OpenMetadata) -> None:
    assert client(standin).version().startswith("2.0")
    assert client(standin).current_user()["name"] == "ingestion-bot"


def test_what_a_write_did_is_the_servers_word(known: Client) -> None:
    done = [known.put("tables", table("t", **more)) for more in ({}, {}, {"description": "new"})]
    assert [(one.created, one.changed) for one in done] == [(True, True), (False, False), (False, True)]


@pytest.mark.parametrize("name", ["plain", "a.b", "a/b", "50%", "#?&", "it's", "Ünï", " "])
def test_an_entity_is_read_by_its_name_whatever_is_in_it(known: Client, name: str) -> None:
    made = known.put("tables", table(name)).entity
    found = known.get("tables", made["fullyQualifiedName"], "columns")
    assert found is not None
    assert (found["id"], [column["name"] for column in found["columns"]]) == (made["id"], ["id"])
    assert known.get("tables", "svc.d.s.nothing") is None


def test_a_bulk_is_read_row_by_row(known: Client) -> None:
    rows = [table("a"), table("b", columns=[{"name": "v", "dataType": "VARCHAR"}]), table("c")]
    done = known.put_bulk("tables", rows, lambda body: body["name"])
    assert [(row.position, row.error is None) for row in done] == [(0, True), (1, False), (2, True)]
    assert "VARCHAR" in (done[1].error or "") or "length" in (done[1].error or "").lower()


def test_all_pages_are_read(known: Client) -> None:
    known.put_bulk("tables", [table(f"t{n:04}") for n in range(1_203)], lambda body: body["name"])
    found = [one["name"] for page in known.pages("tables", databaseSchema="svc.d.s") for one in page]
    assert len(found) == len(set(found)) == 1_203


def test_a_patch_holds_for_the_version_that_was_read(known: Client) -> None:
    made = known.put("tables", table("t")).entity
    said = [{"op": "add", "path": "/description", "value": "by a steward"}]
    known.patch("tables", made["id"], said, made["version"])
    with pytest.raises(TargetRejected) as refused:
        known.patch("tables", made["id"], [{"op": "replace", "path": "/description", "value": "x"}], made["version"])
    assert refused.value.status == 412


def test_an_edge_is_written_read_and_deleted(known: Client) -> None:
    ends = [("table", known.put("tables", table(name)).entity["id"]) for name in "ab"]
    assert known.get_edge(ends[0][1], ends[1][1]) is None
    line = {"fromColumns": ["svc.d.s.a.id"], "toColumn": "svc.d.s.b.id", "function": "IDENTITY"}
    known.put_edge(*ends, {"source": "OpenLineage", "columnsLineage": [line]})
    found = known.get_edge(ends[0][1], ends[1][1])
    assert found is not None
    assert found["columnsLineage"] == [line]
    assert [known.delete_edge(*ends) for _ in range(2)] == [True, False]


def test_what_is_deleted_can_be_found_and_restored(known: Client) -> None:
    made = known.put("tables", table("t")).entity
    deleted = known.delete("tables", made["id"])
    assert deleted is not None
    assert deleted["deleted"]
    assert known.get("tables", "svc.d.s.t") is None
    found = known.get("tables", "svc.d.s.t", deleted=True)
    assert found is not None
    assert found["deleted"]
    assert deleted["updatedAt"] == found["updatedAt"]
    assert not known.delete("tables", "00000000-0000-4000-8000-000000000000")


def test_statuses_are_written_together(known: Client) -> None:
    known.put("services/pipelineServices", {"name": "jobs", "serviceType": "CustomPipeline"})
    known.put("pipelines", {"name": "a.b", "service": "jobs"})
    known.put_statuses(
        'jobs."a.b"', [{"timestamp": n, "executionStatus": "Successful", "taskStatus": []} for n in (1, 2)]
    )
    with pytest.raises(TargetRejected):
        known.put_statuses('jobs."a.b"', [{"timestamp": 3, "executionStatus": "Running", "taskStatus": []}])


def test_what_was_told_of_moments_is_read_by_its_times(known: Client) -> None:
    known.put("services/pipelineServices", {"name": "jobs", "serviceType": "CustomPipeline"})
    known.put("pipelines", {"name": "a.b", "service": "jobs"})
    rows = [{"timestamp": n, "executionStatus": "Successful", "taskStatus": []} for n in (1, 2, 3)]
    known.put_statuses('jobs."a.b"', rows)
    made = known.put("tables", table("t")).entity
    definition = {"name": "d", "description": "d", "entityType": "TABLE", "testPlatforms": ["Other"]}
    known.put("dataQuality/testDefinitions", definition)
    case = {"name": "c", "testDefinition": "d", "entityLink": "<#E::table::svc.d.s.t>"}
    known.put("dataQuality/testCases", case)
    for n in (1, 2, 3):
        known.post_result("svc.d.s.t.c", {"timestamp": n, "testCaseStatus": "Success", "testResultValue": []})
        known.put_profile(made["id"], {"tableProfile": {"timestamp": n, "rowCount": n}})
    found = known.statuses('jobs."a.b"', 2, 3), known.results("svc.d.s.t.c", 2, 3), known.profiles("svc.d.s.t", 2, 3)
    assert [sorted(row["timestamp"] for row in rows or ()) for rows in found] == [[2, 3]] * 3
    assert [one["fullyQualifiedName"] for one in known.check_cases("svc.d.s.t")] == ["svc.d.s.t.c"]
    assert (known.statuses("jobs.x", 0, 9), known.results("x", 0, 9), known.profiles("svc.d.s.x", 0, 9)) == (
        None,
    ) * 3


@pytest.mark.parametrize(
    ("fault", "raised", "said"),
    [
        (error(503), TargetUnavailable, "PUT /tables: 503"),
        (error(429, retry_after=7), TargetUnavailable, "429"),
        (error(500), TargetUnavailable, "500"),
        (html(200), TargetMisconfigured, "where JSON was expected"),
        (html(502), TargetUnavailable, "502"),
        (reset(), NoResponse, "does not answer"),
        (reset(applied=True), NoResponse, "PUT /api/v1/tables"),
    ],
)
def test_a_fault_is_what_it_means(
    standin: OpenMetadata, known: Client, fault: Any, raised: type[LineageBridgeError], said: str
) -> None:
    standin.faults.next(fault, method="PUT", path="/tables")
    with pytest.raises(raised, match=said):
        known.put("tables", table("t"))
    assert known.put("tables", table("t")).entity["name"] == "t"


def test_a_refusal_is_told_in_the_servers_words(known: Client) -> None:
    with pytest.raises(TargetRejected, match="PUT /tables: 400 Invalid request format") as refused:
        known.put("tables", table("t", nonsense=1))
    assert refused.value.status == 400


def test_nobody_there_is_told_apart() -> None:
    def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    session = HttpSession("http://om:8585", transport=httpx.MockTransport(gone))
    with pytest.raises(Unreachable, match="http://om:8585 does not answer: refused") as told:
        Client(session, StaticToken("t")).version()
    assert not isinstance(told.value, NoResponse)


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
def test_how_long_a_server_wants_to_be_left_alone(header: str | None, seconds: float | None) -> None:
    headers = {} if header is None else {"retry-after": header}
    found = response_error(HttpResponse(503, headers, b""), "GET /", datetime(2026, 11, 18, tzinfo=UTC))
    assert isinstance(found, TargetUnavailable)
    assert found.retry_after == seconds


def test_a_rotated_token_file_is_read_again(standin: OpenMetadata, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f"{standin.expired_token}\n")
    made = client(standin, file_token(path))
    with pytest.raises(TargetMisconfigured, match="401 Expired token!"):
        made.current_user()
    path.write_text(standin.bot_token)
    assert made.current_user()["name"] == "ingestion-bot"


@pytest.mark.parametrize("content", [None, "", "\n"])
def test_a_file_without_a_token_is_named(standin: OpenMetadata, tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    with pytest.raises(TargetMisconfigured, match=str(path)):
        client(standin, file_token(path)).current_user()


def test_a_token_that_is_refused_is_not_asked_with_again(standin: OpenMetadata) -> None:
    with pytest.raises(TargetMisconfigured, match="401"):
        client(standin, StaticToken(standin.invalid_token)).current_user()
    assert len(standin.requests) == 1


def test_an_oauth_client_gets_its_token_and_another_when_it_expires(standin: OpenMetadata) -> None:
    asked: list[bytes] = []

    def issue(request: httpx.Request) -> httpx.Response:
        asked.append(request.content)
        return httpx.Response(200, json={"access_token": [standin.expired_token, standin.bot_token][len(asked) - 1]})

    tokens = HttpSession("http://idp/token", transport=httpx.MockTransport(issue))
    assert client(standin, oauth_client_token(tokens, "me", "se&cret")).current_user()["name"] == "ingestion-bot"
    assert asked == [b"grant_type=client_credentials&client_id=me&client_secret=se%26cret"] * 2


@pytest.mark.parametrize(
    "answer", [httpx.Response(400, text="no"), httpx.Response(200, text="<html>"), httpx.Response(200, json={})]
)
def test_a_login_that_gives_no_token_is_told(standin: OpenMetadata, answer: httpx.Response) -> None:
    session = HttpSession("http://om", transport=httpx.MockTransport(lambda _: answer))
    with pytest.raises(TargetMisconfigured, match="http://om"):
        client(standin, login_token(session, "a@b.c", "secret")).current_user()


def test_what_the_models_refuse_is_told_and_not_sent(standin: OpenMetadata) -> None:
    wrong = {"tables": "columns: none of its values", "lineage": "edge: missing"}
    checked = Client(
        HttpSession(standin.url),
        StaticToken(standin.bot_token),
        validate=lambda collection, body: wrong.get(collection) if body.get("name") != "good" else None,
    )
    _OPENED.append(checked)
    why = "not sent, for OpenMetadata's own models refuse it: columns: none of its values"
    rows = checked.put_bulk("tables", [table("bad"), table("worse")], lambda body: body["name"])
    assert [(row.position, row.error) for row in rows] == [(0, why), (1, why)]
    with pytest.raises(TargetRejected, match="columns: none of its values"):
        checked.put("tables", table("bad"))
    with pytest.raises(TargetRejected, match="edge: missing"):
        checked.put_edge(("table", "1"), ("table", "2"), {})
    assert {seen.method for seen in standin.requests} == {"GET"}
