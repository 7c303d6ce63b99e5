"""Decompression bombs are rejected with 4xx, in bounded memory and time."""

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
GZIPPED = gzip.compress(EVENT)
GIGABYTE = bombs.gzip_bomb(1024)
#: Covers the largest uncompressed body twice, while its chunks are joined.
_MEMORY_MB = 400
_SECONDS = 20.0


def resident_mb(service: Service, field: str) -> float:
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    return int(status.partition(f"{field}:")[2].split()[0]) / 1024


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(new_store(tmp_path_factory.mktemp("bombs"))) as running:
        yield running


def post(service: Service, path: str, body: bytes, chunked: bool = False, **headers: str) -> tuple[int, bytes]:
    request_headers = {"Content-Type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()}
    with closing(service.connect()) as connection:
        content = iter([body[i : i + 65_536] for i in range(0, len(body), 65_536)]) if chunked else body
        connection.request("POST", path, content, request_headers, encode_chunked=chunked)
        with connection.getresponse() as response:
            return response.status, response.read()


def assert_harmless(service: Service, status: int, path: str, body: bytes, **options: object) -> None:
    """Send a body, check status, time and memory, and send a valid event."""
    started = time.monotonic()
    actual_status, response = post(service, path, body, content_encoding="gzip", **options)  # type: ignore[arg-type]
    assert actual_status == status, response[:500]
    assert time.monotonic() - started < _SECONDS
    assert resident_mb(service, "VmHWM") < _MEMORY_MB
    assert service.send(EVENT) == 201


@pytest.mark.system
@pytest.mark.parametrize("chunked", [False, True], ids=["Content-Length", "chunked"])
@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        (LINEAGE, 413, GIGABYTE),
        (BATCH, 413, GIGABYTE),
        (REGISTER, 413, GIGABYTE),
        (LINEAGE, 413, bombs.gzip_bomb(1024, (EVENT[:-1], b"}"))),
        (BATCH, 413, bombs.gzip_bomb(1024, (b"[" + EVENT + b",", EVENT + b"]"))),
        (OTHER_BATCH, 413, bombs.gzip_bomb(60, (b'{"events":[', EVENT + b"]}"))),
        (LINEAGE, 413, GZIPPED + GIGABYTE),
        (LINEAGE, 413, gzip.compress(b" " * (4 << 20)) * 60),
        (LINEAGE, 413, GIGABYTE[: len(GIGABYTE) // 2]),
        (LINEAGE, 400, bombs.nested(GIGABYTE, 1)),
        (LINEAGE, 400, bombs.nested(GIGABYTE, 3)),
        (LINEAGE, 400, bombs.empty_blocks(1_500_000)),
        (LINEAGE, 400, bombs.gzip_bomb(40)),
        (LINEAGE, 201, bombs.with_extra_field(GZIPPED, 65_535)),
        (LINEAGE, 201, bombs.with_long_name(GZIPPED, 5 << 20)),
        (LINEAGE, 400, bombs.with_long_name(GZIPPED, 5 << 20)[: 4 << 20]),
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
def test_bomb_is_rejected_before_decompression(
    service: Service, path: str, status: int, body: bytes, chunked: bool
) -> None:
    assert len(body) < 10 << 20
    assert_harmless(service, status, path, body, chunked=chunked)


def assert_incomplete_body_rejected(service: Service, content: bytes, **headers: str) -> None:
    """Send an incomplete body: it is rejected, and the next event is accepted."""
    with closing(service.connect()) as connection:
        connection.putrequest("POST", LINEAGE)
        for name, value in ({"Content_Type": "application/json"} | headers).items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders(content)
        assert connection.sock is not None
        connection.sock.shutdown(1)
        try:
            with connection.getresponse() as response:
                assert response.status == 400
        except (OSError, http.client.HTTPException):
            pass  # a closed connection is acceptable, too
    assert service.send(EVENT) == 201


@pytest.mark.system
@pytest.mark.parametrize("content_length", [len(GZIPPED) + 1, len(GZIPPED) * 100], ids=["one more", "many more"])
def test_body_shorter_than_content_length_is_rejected(service: Service, content_length: int) -> None:
    assert_incomplete_body_rejected(service, GZIPPED, Content_Encoding="gzip", Content_Length=str(content_length))


@pytest.mark.system
def test_body_longer_than_content_length_is_truncated(service: Service) -> None:
    status, _ = post(service, LINEAGE, GZIPPED, content_encoding="gzip", Content_Length=str(len(GZIPPED) - 9))
    assert status == 400
    assert service.send(EVENT) == 201


@pytest.mark.system
@pytest.mark.parametrize("chunk", [b"ffffffffffffffff\r\n", b"-1\r\n", b"zz\r\nab\r\n", b"5\r\nab\r\n0\r\n\r\n"])
def test_broken_chunks_are_rejected(service: Service, chunk: bytes) -> None:
    assert_incomplete_body_rejected(service, chunk, Transfer_Encoding="chunked")


@pytest.mark.system
def test_bombs_do_not_leak_memory(service: Service) -> None:
    post(service, LINEAGE, GIGABYTE, content_encoding="gzip")
    before = resident_mb(service, "VmRSS")
    for _ in range(20):
        assert post(service, LINEAGE, GIGABYTE, content_encoding="gzip")[0] == 413
    assert resident_mb(service, "VmRSS") < before + 60
