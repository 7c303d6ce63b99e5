"""The registry over HTTP: what it is told, what it answers, and why not."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bridge.api.examples import EXAMPLES
from bridge.versions.commands import COMMANDS
from tests.api.decisions import LAKE, of, prepare
from tests.api.service import PROBLEM, Running, settings_for
from tests.stores import as_bytes
from tests.versions.version_store import version

FAR = "2099-12-31T00:00:00Z"
READ = {"namespace": LAKE, "name": "sales/daily"}


@pytest.fixture
def desk(api: Running) -> Running:
    return prepare(api)


def order(api: Running, path: str, **body: Any) -> httpx.Response:
    return api.post(as_bytes(body), f"/api/v1/{path}")


def resolved(api: Running, name: str = "daily", **parameters: str) -> httpx.Response:
    return api.get("/api/v1/dataset/by-name/resolve", params=of(name, **parameters))


def test_what_is_published_is_read_and_told(desk: Running) -> None:
    done = order(desk, "publish", datasets=[of("daily", version="v2", expected="v1")], by="ann", why="ready")
    assert done.status_code == 200, done.text
    ((moved,), number) = (done.json()["datasets"], done.json()["publication"])
    assert (moved["version"], moved["before"], moved["moved"], moved["live"], number) == ("v2", "v1", True, False, 2)
    found = resolved(desk).json()
    assert {key: found[key] for key in ("tag", "by", "rows", "path", "publication", "published_by", "live")} == {
        "tag": "v2", "by": "published", "rows": 2, "path": "s3://lake/sales/daily", "publication": 2,
        "published_by": "ann", "live": False,
    }  # fmt: skip
    moves = desk.get("/api/v1/dataset/by-name/publications", params=READ | {"limit": "1"}).json()
    (last,) = moves["items"]
    assert (last["from_version"], last["to_version"], last["how"], last["why"]) == ("v1", "v2", "publish", "ready")
    rest = desk.get("/api/v1/dataset/by-name/publications", params=READ | {"after": moves["next"]}).json()
    assert [(one["from_version"], one["to_version"], rest["next"]) for one in rest["items"]] == [(None, "v1", None)]


def test_another_version_than_was_expected_is_a_conflict(desk: Running) -> None:
    wanted = [of("weekly", version="v1", expected=None), of("daily", version="v2", expected="v2")]
    refused = order(desk, "publish", datasets=wanted)
    assert (refused.status_code, refused.headers["content-type"]) == (409, PROBLEM)
    assert refused.json()["conflicts"] == [
        {
            "dataset": "s3://lake/sales/daily",
            "current": "v1",
            "reason": "version 'v1' is published, not 'v2'",
        }
    ]
    assert resolved(desk, "weekly").status_code == 404


def test_what_is_published_is_taken_back(desk: Running) -> None:
    number = order(desk, "publish", datasets=[of(name, version="v2") for name in ("daily", "weekly")]).json()
    assert order(desk, "rollback", datasets=[of("daily")]).json()["datasets"][0]["version"] == "v1"
    assert order(desk, "rollback", datasets=[of("daily", to="v2", expected="v1")]).status_code == 200
    undone = order(desk, "rollback", publication=number["publication"])
    assert (undone.status_code, undone.json()["conflicts"][0]["dataset"]) == (409, "s3://lake/sales/weekly")
    order(desk, "publish", datasets=[of(name, version="v1") for name in ("daily", "weekly")])
    both = order(desk, "publish", datasets=[of(name, version="v2") for name in ("daily", "weekly")]).json()
    undone = order(desk, "rollback", publication=both["publication"])
    assert [one["version"] for one in undone.json()["datasets"]] == ["v1", "v1"]


def test_pins_are_made_listed_and_removed(desk: Running) -> None:
    both = [of("daily"), of("weekly", version="v2")]
    made = order(desk, "pins", pin="january", until=FAR, datasets=both, by="ann")
    assert made.status_code == 200, made.text
    listed = desk.get("/api/v1/pins").json()["items"]
    assert {(one["name"], one["dataset"]["name"], one["version"], one["until"][:10]) for one in listed} == {
        ("january", "sales/daily", "v1", "2099-12-31"), ("january", "sales/weekly", "v2", "2099-12-31"),
    }  # fmt: skip
    assert resolved(desk, "weekly", pin="january").json()["pin"] == "january"
    for parameters, gone in ((of("daily", pin="january"), 1), ({"pin": "january"}, 1)):
        answer = desk.run(desk.client.delete("/api/v1/pins", params=parameters))
        assert (answer.status_code, len(answer.json()["pins"])) == (200, gone)
    assert desk.get("/api/v1/pins").json()["items"] == []
    assert desk.run(desk.client.delete("/api/v1/pins", params={"pin": "january"})).status_code == 404


def test_what_is_invalid_is_refused_where_it_was_chosen(desk: Running) -> None:
    marked = order(desk, "invalidate", **of("daily", version="v1", reason="wrong rates", by="bob"))
    assert (marked.json()["published"], marked.json()["reason"]) == (True, "wrong rates")
    refused = resolved(desk)
    assert (refused.status_code, refused.headers["content-type"]) == (409, PROBLEM)
    assert "it is marked invalid: wrong rates" in refused.json()["detail"]
    assert resolved(desk, pin="v1").json()["invalid"] == "wrong rates"
    assert order(desk, "invalidate", **of("daily", version="v1", valid=True)).json()["reason"] is None
    assert resolved(desk).status_code == 200


def test_several_are_resolved_at_once(desk: Running) -> None:
    found = order(desk, "resolve", datasets=[of("weekly", pin="latest"), of("daily")]).json()["datasets"]
    assert [(one["dataset"]["name"], one["tag"]) for one in found] == [("sales/weekly", "v2"), ("sales/daily", "v1")]


def test_partitions_are_listed_with_what_each_is_read_of(desk: Running) -> None:
    for number, tag, days in ((31, "p1", ["mon", "tue"]), (32, "p2", ["tue"])):
        desk.post(version("sales/days", tag, number, days=days, namespace=LAKE))
    order(desk, "publish", datasets=[of("days", version="p1")])
    order(desk, "invalidate", **of("days", version="p1", partition="day=mon", reason="cut off"))
    listed = desk.get("/api/v1/dataset/by-name/partitions", params=of("days", limit="1")).json()
    assert listed["items"] == [
        {"partition": "day=mon", "latest": None, "published": None, "invalid": {"p1": "cut off"}}
    ]
    rest = desk.get("/api/v1/dataset/by-name/partitions", params=of("days", after=listed["next"])).json()
    assert rest["items"] == [{"partition": "day=tue", "latest": "p2", "published": "p1", "invalid": {}}]
    assert resolved(desk, "days", pin="latest", partition="day=tue").json()["tag"] == "p2"


def test_metadata_is_kept_and_told(desk: Running) -> None:
    told = order(desk, "metadata", **of("daily", metadata={"desk": "fx"})).json()
    assert (told["version"], told["metadata"]) == (None, {"desk": "fx"})
    order(desk, "metadata", **of("daily", version="v1", metadata={"reviewed": True}, checksum="sha256:1"))
    found = resolved(desk).json()
    assert (found["metadata"], found["checksum"], found["dataset_metadata"]) == (
        {"reviewed": True}, "sha256:1", {"desk": "fx"},
    )  # fmt: skip
    (second, first) = desk.get("/api/v1/dataset/by-name/versions", params=READ).json()["items"]
    assert (first["metadata"], first["published"], second["published"]) == ({"reviewed": True}, True, False)


def test_definitions_are_registered_and_listed(desk: Running) -> None:
    named = {"namespace": "lb", "name": "daily"}
    for steps in (1, 2, 1):
        made = order(desk, "definitions", **named, definition={"steps": steps})
        assert made.status_code == 200, made.text
    order(desk, "definitions", **named, version="2")
    for asked in (
        desk.get("/api/v1/process/by-name/versions", params=named),
        desk.get(f"/api/v1/process/{made.json()['id']}/versions"),
    ):
        listed = [(one["version"], one["active"], one["definition"]) for one in asked.json()["items"]]
        assert listed == [("2", True, {"steps": 2}), ("1", False, {"steps": 1})]
    page = desk.get("/api/v1/process/by-name/versions", params=named | {"limit": "1"}).json()
    rest = desk.get("/api/v1/process/by-name/versions", params=named | {"after": page["next"]}).json()
    assert [one["version"] for one in rest["items"]] == ["1"]
    dags = desk.get("/api/v1/process/by-name/versions", params=named | {"kind": "dag"})
    assert (dags.status_code, dags.json()["detail"]) == (404, "no DAG 'daily' in namespace 'lb' in the store")
    ran = desk.get("/api/v1/process/by-name/versions", params={"namespace": "jobs", "name": "job"})
    assert (ran.status_code, ran.json()["items"]) == (200, [])


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("publish", {"datasets": []}, 400, "length >= 1"),
        ("publish", {"datasets": [of("daily")]}, 400, "is missing"),
        ("publish", {"datasets": [{"version": "v1"}]}, 400, "missing dataset"),
        ("publish", {"datasets": [{"id": "x", "version": "v1"}]}, 400, "not a UUID"),
        ("publish", {"datasets": [{"id": "0" * 32, "version": "v1"}]}, 404, "no dataset with the id"),
        ("publish", {"datasets": [{"name": "nothing", "version": "v1"}]}, 404, "no dataset 'nothing'"),
        ("publish", {"datasets": [of("daily", version="v9")]}, 404, "no version 'v9'"),
        ("publish", {"datasets": [of("daily", version="v2")], "force": True}, 400, "unknown field"),
        ("publish", {"datasets": [of("daily", version="v\0")]}, 400, "U+0000"),
        ("rollback", {}, 400, "specify either datasets or a publication"),
        ("rollback", {"publication": 99}, 404, "no publication 99"),
        ("rollback", {"publication": 1, "datasets": [of("daily")]}, 400, "specify either datasets or a publication"),
        ("rollback", {"datasets": [of("daily")]}, 409, "nothing was published before"),
        (
            "pins",
            {"pin": "p", "until": "2020-01-01T00:00:00Z", "datasets": [of("daily")]},
            400,
            "must be in the future",
        ),
        ("pins", {"pin": "p", "until": FAR, "datasets": [of("weekly")]}, 404, "is published"),
        ("invalidate", of("daily", version="v1"), 400, "missing reason"),
        ("invalidate", of("daily", version="v1", valid=True), 404, "not marked invalid"),
        ("invalidate", of("daily", version="v1", reason="x", partition="//"), 400, "day=2026-01-31"),
        ("resolve", {"datasets": [of("daily"), of("weekly")]}, 404, "is published"),
        ("metadata", of("daily", metadata={}, checksum="x"), 400, "requires a version"),
        ("definitions", {"namespace": "n", "name": "p"}, 400, "specify a definition"),
        ("definitions", {"namespace": "n", "name": "p", "version": "1"}, 404, "no version '1'"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(
    desk: Running, path: str, body: dict[str, Any], status: int, said: str
) -> None:
    before = desk.rows("SELECT * FROM publication")
    refused = order(desk, path, **body)
    assert (refused.status_code, refused.headers["content-type"]) == (status, PROBLEM), refused.text
    assert said in refused.json()["detail"]
    assert desk.rows("SELECT * FROM publication") == before
    assert desk.rows("SELECT * FROM pin") == []


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
def test_bodies_that_are_no_orders_are_refused(
    tmp_path: Path, body: bytes, headers: dict[str, str], status: int
) -> None:
    with Running(settings_for(tmp_path, intake={"max_body_mb": 1})) as api:
        for path in ("publish", "metadata"):
            answer = api.post(body, f"/api/v1/{path}", **headers)
            assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM), answer.text


@pytest.mark.parametrize("query", ["", "?pin=", "?pin=a&pin=b", "?pin=a&odd=1", "?pin=a%00", "?pin=a&id=x"])
def test_a_pin_that_is_not_named_is_not_removed(desk: Running, query: str) -> None:
    answer = desk.run(desk.client.delete(f"/api/v1/pins{query}"))
    assert (answer.status_code, answer.headers["content-type"]) == (400, PROBLEM)


@pytest.fixture
def keyed(tmp_path: Path) -> Iterator[Running]:
    keys = [
        {"name": name, "sha256": hashlib.sha256(name.encode()).hexdigest(), "scopes": scopes}
        for name, scopes in (("ci", ["operate", "read"]), ("all", ["ingest"]))
    ]
    with Running(settings_for(tmp_path, server={"api_keys": keys})) as api:
        written = version("sales/daily", "v1", 1, namespace=LAKE)
        assert api.post(written, authorization="Bearer all").status_code == 201
        yield api


@pytest.mark.parametrize(("by", "signed"), [(None, "key ci"), ("ann", "ann (key ci)")])
def test_the_history_names_the_key(keyed: Running, by: str | None, signed: str) -> None:
    body = {"datasets": [of("daily", version="v1")]} | ({"by": by} if by else {})
    answer = keyed.post(as_bytes(body), "/api/v1/publish", authorization="Bearer ci")
    assert answer.status_code == 200, answer.text
    found = keyed.get("/api/v1/dataset/by-name/resolve", params=READ, headers={"authorization": "Bearer ci"})
    assert found.json()["published_by"] == signed


def test_every_order_has_an_example() -> None:
    assert set(EXAMPLES) == set(COMMANDS)
