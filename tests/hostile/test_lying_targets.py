"""Targets whose responses are too large, or that ask to wait for years."""

import gzip
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest

from connectors import http
from connectors.errors import TargetMisconfigured
from connectors.http import HttpResponse, HttpSession, retry_after_seconds
from tests.contract.targets import TARGETS, Case
from tests.factories import dataset, run_event, schema
from tests.standins.faults import Fault


@pytest.fixture(params=TARGETS, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    with request.param() as case:
        yield case


class EndlessStream(httpx.SyncByteStream):
    """A body that never ends; it counts what was read."""

    def __init__(self) -> None:
        self.sent_bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        while True:
            self.sent_bytes += 65_536
            yield b" " * 65_536


def test_endless_body_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_RESPONSE_BYTES", 1_000_000)
    stream = EndlessStream()
    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=stream))
    session = HttpSession("http://target", transport=transport)
    with closing(session), pytest.raises(TargetMisconfigured, match="more than 1 MB"):
        session.request("GET", "/")
    assert stream.sent_bytes < 2_000_000


def test_compressed_body_is_cut_off_by_its_unpacked_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_RESPONSE_BYTES", 1_000_000)
    packed = gzip.compress(b" " * 50_000_000)
    transport = httpx.MockTransport(
        lambda _: httpx.Response(200, headers={"Content-Encoding": "gzip"}, content=packed)
    )
    session = HttpSession("http://target", transport=transport)
    with closing(session), pytest.raises(TargetMisconfigured, match="more than 1 MB"):
        session.request("GET", "/")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("99999999", 600.0),
        ("9" * 400, None),
        ("1e20", None),
        ("-5", None),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 600.0),
        ("Fri, 31 Dec 99999 23:59:59 GMT", None),
        ("soon", None),
    ],
)
def test_retry_after_is_at_most_ten_minutes(value: str, seconds: float | None) -> None:
    assert retry_after_seconds(HttpResponse(503, {"retry-after": value}, b"")) == seconds


@pytest.mark.parametrize("value", ["99999999", "9" * 400, "1e20"])
def test_target_is_asked_again_whatever_it_asks_for(case: Case, value: str) -> None:
    fault = Fault(status=503, headers={"Retry-After": value}, body={"code": 503, "message": "away"})
    case.apply(run_event("COMPLETE", outputs=[dataset("t", schema=schema("k"))]))
    case.standin.faults.plan = lambda *_: fault
    for _ in range(3):
        case.round()
        case.clock.wait(61)
    case.standin.faults.clear()
    case.clock.wait(700)
    case.converge()
    assert not case.unsettled()
