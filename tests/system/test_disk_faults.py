"""No acknowledged event is lost when the disk fails or is full."""

import itertools
import resource
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bridge.intake.group_commit import EXIT_STORAGE
from bridge.store.sqlite import SqliteDatabase
from tests import factories as make
from tests.stores import as_bytes
from tests.system.service import (
    Service,
    assert_consistent,
    inject_fault,
    new_store,
    run,
    stored_payloads,
    trace_syscalls,
    until,
    write_events,
)


def all_events(size: int = 200) -> Iterator[bytes]:
    """Generate incompressible events, so that each needs new space in the store."""
    for i in itertools.count():
        noise = "".join(chr(33 + (i * 7919 + j * j * 31 + j * 17 + (i * j) % 61) % 90) for j in range(size))
        output = make.dataset(f"d{i}", documentation=make.facet(description=noise.replace('"', " ")))
        yield as_bytes(make.run_event(run=i, outputs=[output]))


def send_until_failure(service: Service, events: Iterator[bytes], limit: int = 400) -> tuple[list[bytes], bytes, int]:
    """Send events until one fails; return the acknowledged ones, the failed one and its status."""
    acknowledged: list[bytes] = []
    for event in itertools.islice(events, limit):
        status = service.send(event)
        if status != 201:
            return acknowledged, event, status
        acknowledged.append(event)
    pytest.fail(f"{limit} events were accepted: the fault did not occur")


@pytest.mark.system("strace")
@pytest.mark.parametrize(
    "fault", ["fdatasync:error=EIO:when=1", "fdatasync:error=EIO:when=5", "pwrite64:error=EIO:when=300"]
)
def test_service_stops_without_response_on_disk_error(tmp_path: Path, fault: str) -> None:
    store, events = new_store(tmp_path), all_events()
    with Service(store, wrap=inject_fault(fault)) as service:
        acknowledged, failed, status = send_until_failure(service, events)
        assert status == 0
        assert service.exit_code() == EXIT_STORAGE
        assert "the store failed" in service.log.read_text()
    assert bool(acknowledged) == (not fault.endswith("=1"))
    with Service(store) as service:
        assert service.send(failed) == 201
    assert_consistent(store, [*acknowledged, failed])


@pytest.mark.system("strace")
def test_start_after_failed_flush_checkpoints_before_new_commits(tmp_path: Path) -> None:
    """After a failed fsync, the kernel may mark pages as clean that never reached the disk.

    A power cut would lose all commits appended after such a gap in the write-ahead log.
    """
    store, events, trace = new_store(tmp_path), all_events(), tmp_path / "trace"
    with Service(store, wrap=inject_fault("fdatasync:error=EIO:when=5")) as service:
        acknowledged, failed, _ = send_until_failure(service, events)
        assert service.exit_code() == EXIT_STORAGE
    assert store.with_name(f"{store.name}-wal").stat().st_size
    with closing(SqliteDatabase.for_reading(store)) as reader:
        # Without another reader, opening the store would checkpoint the log in any case.
        assert reader.fetch_all("SELECT count(*) FROM run_event")[0][0] >= len(acknowledged)
        with Service(store, wrap=trace_syscalls("pwrite64,fdatasync", trace)) as service:
            assert service.send(failed) == 201
    until(lambda: "-wal>" in trace.read_text(), "the trace")
    calls = [
        line.split(None, 1)[1] for line in trace.read_text().splitlines() if "pwrite64(" in line or "sync(" in line
    ]
    flushed = next(i for i, call in enumerate(calls) if call.startswith("fdatasync") and f"<{store}>" in call)
    appended = next(i for i, call in enumerate(calls) if call.startswith("pwrite64") and f"<{store}-wal>" in call)
    assert flushed < appended, calls
    assert_consistent(store, [*acknowledged, failed])


@pytest.mark.system("strace")
def test_ingest_fails_on_disk_error_and_can_be_repeated(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    file = write_events(tmp_path / "events.ndjson", itertools.islice(all_events(), 20))
    code, _ = run(store, "ingest", str(file), wrap=inject_fault("fdatasync:error=EIO:when=1"))
    assert code != 0
    assert run(store, "ingest", str(file))[0] == 0
    assert_consistent(store, file.read_bytes().splitlines(keepends=True))


@pytest.mark.system("strace")
def test_service_recovers_from_temporarily_full_disk(tmp_path: Path) -> None:
    """Writes 60 to 63 fail; the service retries without another request."""
    store, events = new_store(tmp_path), all_events()
    with Service(store, wrap=inject_fault("pwrite64:error=ENOSPC:when=60..63")) as service:
        acknowledged, refused, status = send_until_failure(service, events)
        assert status == 503
        until(lambda: service.ready() == 200, "the service to recover by itself")
        assert service.send(refused) == 201
        acknowledged += [refused, *itertools.islice(events, 20)]
        assert [service.send(event) for event in acknowledged[-20:]] == [201] * 20
        assert service.process.poll() is None
    assert_consistent(store, acknowledged)


@pytest.mark.system("strace")
def test_full_disk_rejects_events_and_loses_none(tmp_path: Path) -> None:
    store, events = new_store(tmp_path), all_events()
    with Service(store, wrap=inject_fault("pwrite64:error=ENOSPC:when=80+")) as service:
        acknowledged, refused, status = send_until_failure(service, events)
        assert status == 503
        for event in itertools.islice(events, 5):
            status, headers, _ = service.post(event)
            assert status == 503
            assert int(headers["retry-after"]) > 0
        assert service.ready() == 503
    assert refused not in stored_payloads(store)
    with Service(store) as service:
        assert service.send(refused) == 201
    assert_consistent(store, [*acknowledged, refused])


@pytest.mark.system
def test_store_at_size_limit_accepts_events_after_limit_is_raised(tmp_path: Path) -> None:
    store, events = tmp_path / "store.db", all_events(2_000)
    with Service(store, STORE__MAX_SIZE_MB="1") as service:
        acknowledged, refused, status = send_until_failure(service, events)
        assert acknowledged
        assert status == 503
        status, headers, _ = service.post(refused)
        assert status == 503
        assert int(headers["retry-after"]) > 0
        assert service.ready() == 503
    assert refused not in stored_payloads(store)
    assert_consistent(store, acknowledged)
    with Service(store, STORE__MAX_SIZE_MB="4") as service:
        assert service.send(refused) == 201
        assert service.ready() == 200
    assert_consistent(store, [*acknowledged, refused])


def _limit_file_size() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (900_000, 900_000))


@pytest.mark.system
def test_file_size_limit_loses_no_events(tmp_path: Path) -> None:
    store, events = new_store(tmp_path), all_events(1_000)
    with Service(store, preexec=_limit_file_size) as service:
        acknowledged, refused, status = send_until_failure(service, events)
        assert acknowledged
        assert status in (0, 503)
        if status == 0:
            assert service.exit_code() == EXIT_STORAGE
    assert_consistent(store, acknowledged)
    with Service(store) as service:
        assert service.send(refused) == 201
    assert_consistent(store, [*acknowledged, refused])


@pytest.mark.system("strace")
def test_failed_checkpoint_loses_no_events(tmp_path: Path) -> None:
    """The flushed log is complete: the checkpoint is retried, and no response depends on it."""
    store, events = new_store(tmp_path), all_events(20_000)
    initial_size = store.stat().st_size
    # Only the checkpoint flushes the database file itself.
    with Service(store, wrap=[*inject_fault("fdatasync:error=EIO:when=1"), "-P", str(store)]) as service:
        acknowledged = []
        while store.stat().st_size == initial_size and len(acknowledged) < 1_000:
            acknowledged.append(next(events))
            assert service.send(acknowledged[-1]) == 201
        assert len(acknowledged) < 1_000, "no checkpoint ran"
        acknowledged += itertools.islice(events, 3)
        assert [service.send(event) for event in acknowledged[-3:]] == [201] * 3
    assert_consistent(store, acknowledged)
    with Service(store) as service:
        assert service.send(acknowledged[0]) == 201
    assert_consistent(store, acknowledged)
