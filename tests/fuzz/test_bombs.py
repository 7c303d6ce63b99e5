"""A body that unfolds is refused with 4xx before it has, in bounded memory and time, and the service goes on."""

import gzip
import http.client
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.api.service import LINEAGE, event_with
from tests.factories import run_event
from tests.fuzz import bombs
from tests.stores import as_bytes
from tests.system.service import Service, new_store

BATCH = "/api/v1/lineage/batch"
OTHER_BATCH = "/api/v1/openlineage/lineage/batch"
REGISTER = "/api/v1/dataset/register"
EVENT = as_bytes(run_event())
PACKED = gzip.compress(EVENT)
GIGABYTE = bombs.gzip_bomb(1024)
#: The largest body, unpacked; twice that while its pieces are joined.
_MEMORY_MB = 400
_SECONDS = 20.0


def resident_mb(service: Service, what: str) -> float:
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    return int(status.partition(f"{what}:")[2].split()[0]) / 1024


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(new_store(tmp_path_factory.mktemp("bombs"))) as running:
        yield running


def post(service: Service, path: str, body: bytes, chunked: bool = False, **headers: str) -> tuple[int, bytes]:
    named = {"Content-Type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()}
    with closing(service.connect()) as connection:
        sent = iter([body[i : i + 65_536] for i in range(0, len(body), 65_536)]) if chunked else body
        connection.request("POST", path, sent, named, encode_chunked=chunked)
        with connection.getresponse() as response:
            return response.status, response.read()


def assert_harmless(service: Service, status: int, path: str, body: bytes, **options: object) -> None:
    """Hold that a body is answered so, within the bounds, and that the next event is taken."""
    begun = time.monotonic()
    answered, said = post(service, path, body, content_encoding="gzip", **options)  # type: ignore[arg-type]
    assert answered == status, said[:500]
    assert time.monotonic() - begun < _SECONDS
    assert resident_mb(service, "VmHWM") < _MEMORY_MB
    assert service.send(EVENT) == 201


@pytest.mark.system
@pytest.mark.parametrize("chunked", [False, True], ids=["with its length", "in chunks"])
@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        (LINEAGE, 413, GIGABYTE),
        (BATCH, 413, GIGABYTE),
        (REGISTER, 413, GIGABYTE),
        (LINEAGE, 413, bombs.gzip_bomb(1024, (EVENT[:-1], b"}"))),
        (BATCH, 413, bombs.gzip_bomb(1024, (b"[" + EVENT + b",", EVENT + b"]"))),
        (OTHER_BATCH, 413, bombs.gzip_bomb(60, (b'{"events":[', EVENT + b"]}"))),
        (LINEAGE, 413, PACKED + GIGABYTE),
        (LINEAGE, 413, gzip.compress(b" " * (4 << 20)) * 60),
        (LINEAGE, 413, GIGABYTE[: len(GIGABYTE) // 2]),
        (LINEAGE, 400, bombs.nested(GIGABYTE, 1)),
        (LINEAGE, 400, bombs.nested(GIGABYTE, 3)),
        (LINEAGE, 400, bombs.empty_blocks(1_500_000)),
        (LINEAGE, 400, bombs.gzip_bomb(40)),
        (LINEAGE, 201, bombs.with_extra_field(PACKED, 65_535)),
        (LINEAGE, 201, bombs.with_endless_name(PACKED, 5 << 20)),
        (LINEAGE, 400, bombs.with_endless_name(PACKED, 5 << 20)[: 4 << 20]),
        (LINEAGE, 413, gzip.compress(event_with("[" + "[]," * 15_000_000 + "1]"))),
        (LINEAGE, 413, gzip.compress(event_with("[" + "0," * 20_000_000 + "1]"))),
        (BATCH, 413, gzip.compress(b"[" + b"{}," * 15_000_000 + b"{}]")),
        (BATCH, 413, gzip.compress(b"[" + b"{}," * 1_500_000 + b"{}]")),
        (OTHER_BATCH, 413, gzip.compress(b'{"events":[' + b"0," * 150_000 + b"0]}")),
        (REGISTER, 413, gzip.compress(b'{"name":[' + b"{}," * 15_000_000 + b"0]}")),
    ],
    ids=[
        "1 GB", "1 GB batch", "1 GB legacy", "in an event", "in a batch", "60 MB batch", "second member", "60 members",
        "truncated", "in gzip", "in gzip in gzip in gzip", "empty blocks", "within the limit, wrong checksum",
        "extra field", "file name", "file name without end", "lists in an event", "numbers in an event",
        "objects in a batch", "too many objects", "too many events", "objects in a legacy body",
    ],
)  # fmt: skip
def test_a_bomb_is_refused_before_it_unfolds(
    service: Service, path: str, status: int, body: bytes, chunked: bool
) -> None:
    assert len(body) < 10 << 20
    assert_harmless(service, status, path, body, chunked=chunked)


def assert_refused_when_cut_off(service: Service, sent: bytes, **headers: str) -> None:
    """Send the beginning of a body and no more: it is no event, and the service goes on."""
    with closing(service.connect()) as connection:
        connection.putrequest("POST", LINEAGE)
        for name, value in ({"Content_Type": "application/json"} | headers).items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders(sent)
        assert connection.sock is not None
        connection.sock.shutdown(1)
        try:
            with connection.getresponse() as response:
                assert response.status == 400
        except (OSError, http.client.HTTPException):
            pass  # no answer is as good
    assert service.send(EVENT) == 201


@pytest.mark.system
@pytest.mark.parametrize("announced", [len(PACKED) + 1, len(PACKED) * 100], ids=["one more", "many more"])
def test_a_body_shorter_than_announced_is_no_event(service: Service, announced: int) -> None:
    assert_refused_when_cut_off(service, PACKED, Content_Encoding="gzip", Content_Length=str(announced))


@pytest.mark.system
def test_a_body_longer_than_announced_ends_where_it_said(service: Service) -> None:
    answered, _ = post(service, LINEAGE, PACKED, content_encoding="gzip", Content_Length=str(len(PACKED) - 9))
    assert answered == 400
    assert service.send(EVENT) == 201


@pytest.mark.system
@pytest.mark.parametrize("chunk", [b"ffffffffffffffff\r\n", b"-1\r\n", b"zz\r\nab\r\n", b"5\r\nab\r\n0\r\n\r\n"])
def test_broken_chunks_are_no_event(service: Service, chunk: bytes) -> None:
    assert_refused_when_cut_off(service, chunk, Transfer_Encoding="chunked")


@pytest.mark.system
def test_bombs_leave_nothing_behind(service: Service) -> None:
    post(service, LINEAGE, GIGABYTE, content_encoding="gzip")
    before = resident_mb(service, "VmRSS")
    for _ in range(20):
        assert post(service, LINEAGE, GIGABYTE, content_encoding="gzip")[0] == 413
    assert resident_mb(service, "VmRSS") < before + 60
