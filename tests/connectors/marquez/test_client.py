"""Errors and retries of the Marquez client."""

import pytest

from connectors.errors import TargetMisconfigured, TargetRejected, TargetUnavailable
from connectors.http import HttpResponse
from connectors.marquez.client import MarquezClient, response_error
from connectors.marquez.event_log import find_logged_events
from tests.factories import run_event, run_uuid
from tests.standins.faults import error, html, reset
from tests.standins.marquez import Marquez as StandIn

PAGE = b"<html><head><title>Error 500 Internal Server Error</title></head></html>"


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        (422, b'{"errors":["run.runId must not be null","job.name must not be null"]}', TargetRejected,
         "422 job.name must not be null; run.runId must not be null"),
        (500, b'{"code":400,"message":"Cannot deserialize"}', TargetRejected, "500 Cannot deserialize"),
        (500, b'{"code":500,"message":"There was an error (ID 25)."}', TargetUnavailable, "500 There was an error"),
        (500, PAGE, TargetUnavailable, "500 Error 500 Internal Server Error"),
        (400, b"<html><title>Error 400 Bad Request</title></html>", TargetRejected, "400 Error 400 Bad Request"),
        (503, b"", TargetUnavailable, "503"),
        (429, b"slow", TargetUnavailable, "429 slow"),
        (401, b"who?", TargetMisconfigured, "401 who?"),
        (404, b'{"code":404,"message":"Namespace \'x\' not found."}', TargetRejected, "404 Namespace 'x' not found."),
    ],
)  # fmt: skip
def test_error_of_response(status: int, body: bytes, kind: type[Exception], message: str) -> None:
    error_ = response_error(HttpResponse(status, {"retry-after": "7"}, body), "http://m: POST /lineage")
    assert type(error_) is kind
    assert str(error_).endswith(message) or message in str(error_)


def test_error_contains_retry_after() -> None:
    error_ = response_error(HttpResponse(429, {"retry-after": "7"}, b""), "x")
    assert isinstance(error_, TargetUnavailable)
    assert error_.retry_after == 7.0


def test_probe_rejects_other_servers(client: MarquezClient, standin: StandIn) -> None:
    standin.faults.next(html())
    with pytest.raises(TargetMisconfigured, match="is it Marquez"):
        client.probe()


def test_html_response_is_not_a_delivery(client: MarquezClient, standin: StandIn) -> None:
    standin.faults.next(html(200), method="POST")
    with pytest.raises(TargetMisconfigured, match="is it Marquez"):
        client.send(run_event())


def test_reads_are_retried_but_events_are_not(client: MarquezClient, standin: StandIn) -> None:
    standin.faults.next(error(503), method="POST")
    with pytest.raises(TargetUnavailable):
        client.send(run_event())
    standin.faults.next(error(503), method="GET", times=2)
    assert list(client.list_namespaces())
    assert [request.method for request in standin.requests] == ["POST", "GET", "GET", "GET"]


def test_names_are_escaped_in_paths(client: MarquezClient) -> None:
    for name in ("a/b", "a b?c#d", "ä;ö%2F", "trino://host:1337/x"):
        client.send(run_event(outputs=[{"namespace": "s3://lake", "name": name}]))
        assert (client.get_dataset("s3://lake", name) or {})["name"] == name


def test_missing_entities_are_none(client: MarquezClient) -> None:
    assert client.get_run(run_uuid(7)) is None
    assert client.get_job("no", "no") is None
    assert client.get_dataset("no", "no") is None
    assert list(client.list_datasets("no")) == []


def test_finds_delivered_events_in_log(client: MarquezClient, standin: StandIn) -> None:
    first, second, third = run_event(run=1), run_event(run=2), run_event(run=3)
    standin.faults.next(reset(applied=True), method="POST")
    standin.faults.next(reset(), method="POST")
    for event in (first, second):
        with pytest.raises(Exception, match="does not respond"):
            client.send(event)
    client.send(third)
    assert find_logged_events(client, {"first": first, "second": second}) == {"first"}
