"""Version commands over HTTP: responses and errors."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bridge.api.examples import EXAMPLES
from bridge.versions.commands import COMMANDS
from tests.api.sample_versions import LAKE, dataset_ref, write_versions
from tests.api.service import PROBLEM, RunningService, settings_for
from tests.stores import as_bytes
from tests.versions.version_store import version

FAR_FUTURE = "2099-12-31T00:00:00Z"
READ = {"namespace": LAKE, "name": "sales/daily"}


@pytest.fixture
def service(api: RunningService) -> RunningService:
    return write_versions(api)


def send_command(api: RunningService, path: str, **body: Any) -> httpx.Response:
    return api.post(as_bytes(body), f"/api/v1/{path}")


def resolve(api: RunningService, name: str = "daily", **parameters: str) -> httpx.Response:
    return api.get("/api/v1/dataset/by-name/resolve", params=dataset_ref(name, **parameters))


def test_published_version_is_resolved(service: RunningService) -> None:
    response = send_command(
        service, "publish", datasets=[dataset_ref("daily", version="v2", expected="v1")], by="ann", why="ready"
    )
    assert response.status_code == 200, response.text
    ((change,), publication) = (response.json()["datasets"], response.json()["publication"])
    assert (change["version"], change["before"], change["moved"], change["live"], publication) == (
        "v2",
        "v1",
        True,
        False,
        2,
    )
    published = resolve(service).json()
    assert {key: published[key] for key in ("tag", "by", "rows", "path", "publication", "published_by", "live")} == {
        "tag": "v2", "by": "published", "rows": 2, "path": "s3://lake/sales/daily", "publication": 2,
        "published_by": "ann", "live": False,
    }  # fmt: skip
    publications = service.get("/api/v1/dataset/by-name/publications", params=READ | {"limit": "1"}).json()
    (last,) = publications["items"]
    assert (last["from_version"], last["to_version"], last["how"], last["why"]) == ("v1", "v2", "publish", "ready")
    rest = service.get("/api/v1/dataset/by-name/publications", params=READ | {"after": publications["next"]}).json()
    assert [(entry["from_version"], entry["to_version"], rest["next"]) for entry in rest["items"]] == [
        (None, "v1", None)
    ]


def test_unexpected_current_version_is_a_conflict(service: RunningService) -> None:
    datasets = [dataset_ref("weekly", version="v1", expected=None), dataset_ref("daily", version="v2", expected="v2")]
    response = send_command(service, "publish", datasets=datasets)
    assert (response.status_code, response.headers["content-type"]) == (409, PROBLEM)
    assert response.json()["conflicts"] == [
        {
            "dataset": "s3://lake/sales/daily",
            "current": "v1",
            "reason": "version 'v1' is published, not 'v2'",
        }
    ]
    assert resolve(service, "weekly").status_code == 404


def test_rollback(service: RunningService) -> None:
    first = send_command(
        service, "publish", datasets=[dataset_ref(name, version="v2") for name in ("daily", "weekly")]
    ).json()
    assert send_command(service, "rollback", datasets=[dataset_ref("daily")]).json()["datasets"][0]["version"] == "v1"
    assert (
        send_command(service, "rollback", datasets=[dataset_ref("daily", to="v2", expected="v1")]).status_code == 200
    )
    rolled_back = send_command(service, "rollback", publication=first["publication"])
    assert (rolled_back.status_code, rolled_back.json()["conflicts"][0]["dataset"]) == (409, "s3://lake/sales/weekly")
    send_command(service, "publish", datasets=[dataset_ref(name, version="v1") for name in ("daily", "weekly")])
    second = send_command(
        service, "publish", datasets=[dataset_ref(name, version="v2") for name in ("daily", "weekly")]
    ).json()
    rolled_back = send_command(service, "rollback", publication=second["publication"])
    assert [dataset["version"] for dataset in rolled_back.json()["datasets"]] == ["v1", "v1"]


def test_pins_are_created_listed_and_removed(service: RunningService) -> None:
    datasets = [dataset_ref("daily"), dataset_ref("weekly", version="v2")]
    response = send_command(service, "pins", pin="january", until=FAR_FUTURE, datasets=datasets, by="ann")
    assert response.status_code == 200, response.text
    listed = service.get("/api/v1/pins").json()["items"]
    assert {(pin["name"], pin["dataset"]["name"], pin["version"], pin["until"][:10]) for pin in listed} == {
        ("january", "sales/daily", "v1", "2099-12-31"), ("january", "sales/weekly", "v2", "2099-12-31"),
    }  # fmt: skip
    assert resolve(service, "weekly", pin="january").json()["pin"] == "january"
    for parameters, count in ((dataset_ref("daily", pin="january"), 1), ({"pin": "january"}, 1)):
        deleted = service.run(service.client.delete("/api/v1/pins", params=parameters))
        assert (deleted.status_code, len(deleted.json()["pins"])) == (200, count)
    assert service.get("/api/v1/pins").json()["items"] == []
    assert service.run(service.client.delete("/api/v1/pins", params={"pin": "january"})).status_code == 404


def test_invalid_published_version_is_not_resolved(service: RunningService) -> None:
    invalidated = send_command(
        service, "invalidate", **dataset_ref("daily", version="v1", reason="wrong rates", by="bob")
    )
    assert (invalidated.json()["published"], invalidated.json()["reason"]) == (True, "wrong rates")
    rejection = resolve(service)
    assert (rejection.status_code, rejection.headers["content-type"]) == (409, PROBLEM)
    assert "it is marked invalid: wrong rates" in rejection.json()["detail"]
    assert resolve(service, pin="v1").json()["invalid"] == "wrong rates"
    assert (
        send_command(service, "invalidate", **dataset_ref("daily", version="v1", valid=True)).json()["reason"] is None
    )
    assert resolve(service).status_code == 200


def test_resolve_several_datasets(service: RunningService) -> None:
    resolved = send_command(
        service, "resolve", datasets=[dataset_ref("weekly", pin="latest"), dataset_ref("daily")]
    ).json()["datasets"]
    assert [(version["dataset"]["name"], version["tag"]) for version in resolved] == [
        ("sales/weekly", "v2"),
        ("sales/daily", "v1"),
    ]


def test_partitions_are_listed_with_their_versions(service: RunningService) -> None:
    for number, tag, days in ((31, "p1", ["mon", "tue"]), (32, "p2", ["tue"])):
        service.post(version("sales/days", tag, number, days=days, namespace=LAKE))
    send_command(service, "publish", datasets=[dataset_ref("days", version="p1")])
    send_command(service, "invalidate", **dataset_ref("days", version="p1", partition="day=mon", reason="cut off"))
    listed = service.get("/api/v1/dataset/by-name/partitions", params=dataset_ref("days", limit="1")).json()
    assert listed["items"] == [
        {"partition": "day=mon", "latest": None, "published": None, "invalid": {"p1": "cut off"}}
    ]
    rest = service.get("/api/v1/dataset/by-name/partitions", params=dataset_ref("days", after=listed["next"])).json()
    assert rest["items"] == [{"partition": "day=tue", "latest": "p2", "published": "p1", "invalid": {}}]
    assert resolve(service, "days", pin="latest", partition="day=tue").json()["tag"] == "p2"


def test_metadata_is_stored_and_returned(service: RunningService) -> None:
    stored = send_command(service, "metadata", **dataset_ref("daily", metadata={"desk": "fx"})).json()
    assert (stored["version"], stored["metadata"]) == (None, {"desk": "fx"})
    send_command(
        service, "metadata", **dataset_ref("daily", version="v1", metadata={"reviewed": True}, checksum="sha256:1")
    )
    published = resolve(service).json()
    assert (published["metadata"], published["checksum"], published["dataset_metadata"]) == (
        {"reviewed": True}, "sha256:1", {"desk": "fx"},
    )  # fmt: skip
    (second, first) = service.get("/api/v1/dataset/by-name/versions", params=READ).json()["items"]
    assert (first["metadata"], first["published"], second["published"]) == ({"reviewed": True}, True, False)


def test_definitions_are_registered_and_listed(service: RunningService) -> None:
    process = {"namespace": "lb", "name": "daily"}
    for steps in (1, 2, 1):
        response = send_command(service, "definitions", **process, definition={"steps": steps})
        assert response.status_code == 200, response.text
    send_command(service, "definitions", **process, version="2")
    for listing in (
        service.get("/api/v1/process/by-name/versions", params=process),
        service.get(f"/api/v1/process/{response.json()['id']}/versions"),
    ):
        listed = [
            (definition["version"], definition["active"], definition["definition"])
            for definition in listing.json()["items"]
        ]
        assert listed == [("2", True, {"steps": 2}), ("1", False, {"steps": 1})]
    page = service.get("/api/v1/process/by-name/versions", params=process | {"limit": "1"}).json()
    rest = service.get("/api/v1/process/by-name/versions", params=process | {"after": page["next"]}).json()
    assert [definition["version"] for definition in rest["items"]] == ["1"]
    dags = service.get("/api/v1/process/by-name/versions", params=process | {"kind": "dag"})
    assert (dags.status_code, dags.json()["detail"]) == (404, "no DAG 'daily' in namespace 'lb' in the store")
    without_definition = service.get("/api/v1/process/by-name/versions", params={"namespace": "jobs", "name": "job"})
    assert (without_definition.status_code, without_definition.json()["items"]) == (200, [])


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("publish", {"datasets": []}, 400, "length >= 1"),
        ("publish", {"datasets": [dataset_ref("daily")]}, 400, "is missing"),
        ("publish", {"datasets": [{"version": "v1"}]}, 400, "missing dataset"),
        ("publish", {"datasets": [{"id": "x", "version": "v1"}]}, 400, "not a UUID"),
        ("publish", {"datasets": [{"id": "0" * 32, "version": "v1"}]}, 404, "no dataset with the id"),
        ("publish", {"datasets": [{"name": "nothing", "version": "v1"}]}, 404, "no dataset 'nothing'"),
        ("publish", {"datasets": [dataset_ref("daily", version="v9")]}, 404, "no version 'v9'"),
        ("publish", {"datasets": [dataset_ref("daily", version="v2")], "force": True}, 400, "unknown field"),
        ("publish", {"datasets": [dataset_ref("daily", version="v\0")]}, 400, "U+0000"),
        ("rollback", {}, 400, "specify either datasets or a publication"),
        ("rollback", {"publication": 99}, 404, "no publication 99"),
        (
            "rollback",
            {"publication": 1, "datasets": [dataset_ref("daily")]},
            400,
            "specify either datasets or a publication",
        ),
        ("rollback", {"datasets": [dataset_ref("daily")]}, 409, "nothing was published before"),
        (
            "pins",
            {"pin": "p", "until": "2020-01-01T00:00:00Z", "datasets": [dataset_ref("daily")]},
            400,
            "must be in the future",
        ),
        ("pins", {"pin": "p", "until": FAR_FUTURE, "datasets": [dataset_ref("weekly")]}, 404, "is published"),
        ("invalidate", dataset_ref("daily", version="v1"), 400, "missing reason"),
        ("invalidate", dataset_ref("daily", version="v1", valid=True), 404, "not marked invalid"),
        ("invalidate", dataset_ref("daily", version="v1", reason="x", partition="//"), 400, "day=2026-01-31"),
        ("resolve", {"datasets": [dataset_ref("daily"), dataset_ref("weekly")]}, 404, "is published"),
        ("metadata", dataset_ref("daily", metadata={}, checksum="x"), 400, "requires a version"),
        ("definitions", {"namespace": "n", "name": "p"}, 400, "specify a definition"),
        ("definitions", {"namespace": "n", "name": "p", "version": "1"}, 404, "no version '1'"),
    ],
)
def test_errors_have_status_and_reason(
    service: RunningService, path: str, body: dict[str, Any], status: int, message: str
) -> None:
    before = service.rows("SELECT * FROM publication")
    response = send_command(service, path, **body)
    assert (response.status_code, response.headers["content-type"]) == (status, PROBLEM), response.text
    assert message in response.json()["detail"]
    assert service.rows("SELECT * FROM publication") == before
    assert service.rows("SELECT * FROM pin") == []


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", {}, 400),
        (b"[" * 100_000, {}, 400),
        (b'{"metadata":' * 900 + b"{}" + b"}" * 900, {}, 400),
        (b"{}", {"content_type": "text/plain"}, 415),
        (b"x" * (1 << 21), {}, 413),
    ],
)
def test_malformed_bodies_are_rejected(tmp_path: Path, body: bytes, headers: dict[str, str], status: int) -> None:
    with RunningService(settings_for(tmp_path, intake={"max_body_mb": 1})) as api:
        for path in ("publish", "metadata"):
            response = api.post(body, f"/api/v1/{path}", **headers)
            assert (response.status_code, response.headers["content-type"]) == (status, PROBLEM), response.text


@pytest.mark.parametrize("query", ["", "?pin=", "?pin=a&pin=b", "?pin=a&odd=1", "?pin=a%00", "?pin=a&id=x"])
def test_pin_deletion_requires_one_name(service: RunningService, query: str) -> None:
    response = service.run(service.client.delete(f"/api/v1/pins{query}"))
    assert (response.status_code, response.headers["content-type"]) == (400, PROBLEM)


@pytest.fixture
def service_with_keys(tmp_path: Path) -> Iterator[RunningService]:
    keys = [
        {"name": name, "sha256": hashlib.sha256(name.encode()).hexdigest(), "scopes": scopes}
        for name, scopes in (("ci", ["operate", "read"]), ("all", ["ingest"]))
    ]
    with RunningService(settings_for(tmp_path, server={"api_keys": keys})) as api:
        event = version("sales/daily", "v1", 1, namespace=LAKE)
        assert api.post(event, authorization="Bearer all").status_code == 201
        yield api


@pytest.mark.parametrize(("by", "author"), [(None, "key ci"), ("ann", "ann (key ci)")])
def test_history_names_the_key(service_with_keys: RunningService, by: str | None, author: str) -> None:
    body = {"datasets": [dataset_ref("daily", version="v1")]} | ({"by": by} if by else {})
    response = service_with_keys.post(as_bytes(body), "/api/v1/publish", authorization="Bearer ci")
    assert response.status_code == 200, response.text
    resolved = service_with_keys.get(
        "/api/v1/dataset/by-name/resolve", params=READ, headers={"authorization": "Bearer ci"}
    )
    assert resolved.json()["published_by"] == author


def test_every_command_has_an_example() -> None:
    assert set(EXAMPLES) == set(COMMANDS)
