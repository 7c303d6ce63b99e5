"""Successful responses without the documented content: the write does not count, and the target counts as unavailable."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest

from bridge.sync.sync_item import Outcome
from connectors.errors import TargetMisconfigured
from connectors.http import HttpSession
from connectors.marquez.client import MarquezClient
from connectors.openmetadata.client import OpenMetadataClient
from connectors.session import StaticToken, ThrottledSession
from tests.contract.targets import Case, MarquezCase, OpenMetadataCase
from tests.factories import Json, columns, dataset, field, run_event, schema
from tests.standins.faults import HTML, Fault

TABLE, PIPELINE = ("table", "1"), ("pipeline", "2")
WRITES: dict[str, Callable[[Any], object]] = {
    "put": lambda om: om.put("tables", {"name": "t"}),
    "put_bulk": lambda om: om.put_bulk("tables", [{"name": "t"}], lambda body: str(body["name"])),
    "patch": lambda om: om.patch("tables", "1", [], 0.1),
    "add_custom_property": lambda om: om.add_custom_property("1", {"name": "p"}),
    "delete": lambda om: om.delete("tables", "1"),
    "restore": lambda om: om.restore("tables", "1"),
    "put_edge": lambda om: om.put_edge(TABLE, PIPELINE, {}),
    "delete_edge": lambda om: om.delete_edge(TABLE, PIPELINE),
    "put_statuses": lambda om: om.put_statuses("s.p", [{"timestamp": 1}]),
    "delete_status": lambda om: om.delete_status("s.p", 1),
    "post_result": lambda om: om.post_result("s.c", {"timestamp": 1}),
    "delete_result": lambda om: om.delete_result("s.c", 1),
    "put_profile": lambda om: om.put_profile("1", {"timestamp": 1}),
    "delete_profile": lambda om: om.delete_profile("s.t", 1),
    "put_last_run": lambda om: om.put_last_run("1", "s.p", {}),
    "send": lambda marquez: marquez.send({"eventType": "COMPLETE"}),
    "complete_run": lambda marquez: marquez.complete_run("1", "2026-01-01T00:00:00Z"),
    "add_tag": lambda marquez: marquez.add_tag("n", "t", "x"),
    "remove_tag": lambda marquez: marquez.remove_tag("n", "t", "x"),
    "add_field_tag": lambda marquez: marquez.add_field_tag("n", "t", "k", "x"),
    "remove_field_tag": lambda marquez: marquez.remove_field_tag("n", "t", "k", "x"),
}
RESPONSES = {
    "empty 200": Fault(status=200, body=""),
    "empty 201": Fault(status=201, body=""),
    "204": Fault(status=204, body=""),
    "truncated": Fault(status=200, body='{"id": "5", "name": "t", "status": "succ'),
    "HTML": Fault(status=200, body=HTML),
    "empty object": Fault(status=200, body={}),
    "list": Fault(status=200, body=[]),
    "null": Fault(status=200, body="null"),
}
DOCUMENTED = {
    ("put_edge", "empty 200"),
    ("delete_edge", "empty 200"),
    ("delete_profile", "empty 200"),
    ("send", "empty 201"),
}


def answer(response: Fault) -> Callable[[httpx.Request], httpx.Response]:
    def handle(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json={"version": "1.13.0"})
        if isinstance(response.body, str):
            return httpx.Response(response.status or 0, text=response.body)
        return httpx.Response(response.status or 0, json=response.body)

    return handle


@pytest.mark.parametrize("name", RESPONSES)
@pytest.mark.parametrize("write", WRITES)
def test_write_needs_the_documented_response(write: str, name: str) -> None:
    session = HttpSession("http://target", transport=httpx.MockTransport(answer(RESPONSES[name])))
    client: Any
    if hasattr(MarquezClient, write):
        client = MarquezClient(ThrottledSession(session))
    else:
        client = OpenMetadataClient(session, StaticToken("t"))
    with closing(client):
        if (write, name) in DOCUMENTED:
            WRITES[write](client)
        else:
            with pytest.raises(TargetMisconfigured, match="instead of the documented JSON"):
                WRITES[write](client)


def test_every_write_is_in_the_table() -> None:
    prefixes = ("put", "patch", "add_", "delete", "restore", "post", "send", "complete", "remove")
    methods = {*vars(OpenMetadataClient), *vars(MarquezClient)}
    assert {name for name in methods if name.startswith(prefixes)} == set(WRITES)


@pytest.fixture(params=[OpenMetadataCase, MarquezCase], ids=["openmetadata", "marquez"])
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    with request.param() as target_case:
        yield target_case


def copy(number: int) -> Json:
    output = dataset(f"out{number}", schema=schema("k"), columnLineage=columns({"k": [field(f"in{number}", "k")]}))
    inputs = [dataset(f"in{number}", schema=schema("k"))]
    return run_event("COMPLETE", number, run=number, job=f"job{number}", inputs=inputs, outputs=[output])


@pytest.mark.parametrize("name", [name for name in RESPONSES if name != "empty 201"])
def test_undocumented_responses_lose_nothing(case: Case, name: str) -> None:
    """All writes of a sync get such a response at first, kind after kind."""
    response = RESPONSES[name]
    refused: set[tuple[str, str]] = set()

    def plan(number: int, method: str, path: str) -> Fault | None:
        endpoint = (method, path.split("/")[3])
        is_documented = name == "empty 200" and endpoint == ("PUT", "lineage")
        if method == "GET" or endpoint in refused or is_documented:
            return None
        refused.add(endpoint)
        return response

    case.apply(*map(copy, range(1, 6)))
    case.standin.faults.plan = plan
    for _ in range(12):
        case.round()
        assert case.items_by(Outcome.DEAD) == []
        case.clock.wait(61)
    assert refused
    case.standin.faults.clear()
    case.converge()
    assert all(f"out{number}" in repr(case.target_state()) for number in range(1, 6))
    assert case.items_by(Outcome.DEAD) == []
