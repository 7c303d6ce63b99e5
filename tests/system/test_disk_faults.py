"""Promise 1 when the disk fails or is full: no answer that is not true, and everything acknowledged is there."""

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
    injecting,
    kept,
    new_store,
    run,
    tracing,
    until,
    write_events,
)


def all_events(size: int = 200) -> Iterator[bytes]:
    """Make events that no compression makes small: each takes new room in the store."""
    for i in itertools.count():
        noise = "".join(chr(33 + (i * 7919 + j * j * 31 + j * 17 + (i * j) % 61) % 90) for j in range(size))
        described = make.dataset(f"d{i}", documentation=make.facet(description=noise.replace('"', " ")))
        yield as_bytes(make.run_event(run=i, outputs=[described]))


def send_until_refused(service: Service, events: Iterator[bytes], most: int = 400) -> tuple[list[bytes], bytes, int]:
    """Give what was acknowledged, then the first event that was not, and how it was answered."""
    acknowledged: list[bytes] = []
    for event in itertools.islice(events, most):
        status = service.send(event)
        if status != 201:
            return acknowledged, event, status
        acknowledged.append(event)
    pytest.fail(f"{most} events were taken: the fault never came")


@pytest.mark.system("strace")
@pytest.mark.parametrize(
    "fault", ["fdatasync:error=EIO:when=1", "fdatasync:error=EIO:when=5", "pwrite64:error=EIO:when=60"]
)
def test_a_failing_disk_stops_the_service_without_an_answer(tmp_path: Path, fault: str) -> None:
    store, events = new_store(tmp_path), all_events()
    with Service(store, wrap=injecting(fault)) as service:
        acknowledged, failed, status = send_until_refused(service, events)
        assert status == 0
        assert service.exit_code() == EXIT_STORAGE
        assert "the store failed" in service.log.read_text()
    assert bool(acknowledged) == (not fault.endswith("=1"))
    with Service(store) as service:
        assert service.send(failed) == 201
    assert_consistent(store, [*acknowledged, failed])


@pytest.mark.system("strace")
def test_after_a_failed_flush_the_next_start_moves_the_log_into_the_store_before_it_answers(tmp_path: Path) -> None:
    """After a failed flush the kernel may hold pages that never reach the disk, and calls them clean.

    Were new commits appended behind such a hole in the write-ahead log, a power cut would take them all.
    """
    store, events, trace = new_store(tmp_path), all_events(), tmp_path / "trace"
    with Service(store, wrap=injecting("fdatasync:error=EIO:when=5")) as service:
        acknowledged, failed, _ = send_until_refused(service, events)
        assert service.exit_code() == EXIT_STORAGE
    assert store.with_name(f"{store.name}-wal").stat().st_size
    with closing(SqliteDatabase.for_reading(store)) as reader:
        # A process that opens the store alone empties the log anyway: one that reads is there before it.
        assert reader.fetch_all("SELECT count(*) FROM run_event")[0][0] >= len(acknowledged)
        with Service(store, wrap=tracing("pwrite64,fdatasync", trace)) as service:
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
def test_a_command_that_meets_a_failing_disk_does_not_claim_success(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    file = write_events(tmp_path / "events.ndjson", itertools.islice(all_events(), 20))
    code, _ = run(store, "ingest", str(file), wrap=injecting("fdatasync:error=EIO:when=1"))
    assert code != 0
    assert run(store, "ingest", str(file))[0] == 0
    assert_consistent(store, file.read_bytes().splitlines(keepends=True))


@pytest.mark.system("strace")
def test_a_disk_that_is_full_for_a_while_is_said_and_then_served_again(tmp_path: Path) -> None:
    """Writes fail from the 60th on, for some commits; nobody but the service itself then tries again."""
    store, events = new_store(tmp_path), all_events()
    with Service(store, wrap=injecting("pwrite64:error=ENOSPC:when=60..63")) as service:
        acknowledged, refused, status = send_until_refused(service, events)
        assert status == 503
        until(lambda: service.ready() == 200, "the service to find room by itself")
        assert service.send(refused) == 201
        acknowledged += [refused, *itertools.islice(events, 20)]
        assert [service.send(event) for event in acknowledged[-20:]] == [201] * 20
        assert service.process.poll() is None
    assert_consistent(store, acknowledged)


@pytest.mark.system("strace")
def test_a_disk_that_stays_full_takes_nothing_and_loses_nothing(tmp_path: Path) -> None:
    store, events = new_store(tmp_path), all_events()
    with Service(store, wrap=injecting("pwrite64:error=ENOSPC:when=80+")) as service:
        acknowledged, refused, status = send_until_refused(service, events)
        assert status == 503
        for event in itertools.islice(events, 5):
            status, headers = service.answer(event)
            assert status == 503
            assert int(headers["retry-after"]) > 0
        assert service.ready() == 503
    assert refused not in kept(store)
    with Service(store) as service:
        assert service.send(refused) == 201
    assert_consistent(store, [*acknowledged, refused])


@pytest.mark.system
def test_a_store_at_its_limit_refuses_and_takes_again_when_the_limit_is_raised(tmp_path: Path) -> None:
    store, events = tmp_path / "store.db", all_events(2_000)
    with Service(store, STORE__MAX_SIZE_MB="1") as service:
        acknowledged, refused, status = send_until_refused(service, events)
        assert acknowledged
        assert status == 503
        status, headers = service.answer(refused)
        assert status == 503
        assert int(headers["retry-after"]) > 0
        assert service.ready() == 503
    assert refused not in kept(store)
    assert_consistent(store, acknowledged)
    with Service(store, STORE__MAX_SIZE_MB="4") as service:
        assert service.send(refused) == 201
        assert service.ready() == 200
    assert_consistent(store, [*acknowledged, refused])


def _limit_files() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (900_000, 900_000))


@pytest.mark.system
def test_a_file_size_limit_loses_nothing(tmp_path: Path) -> None:
    store, events = new_store(tmp_path), all_events(1_000)
    with Service(store, before=_limit_files) as service:
        acknowledged, refused, status = send_until_refused(service, events)
        assert acknowledged
        assert status in (0, 503)
        if status == 0:
            assert service.exit_code() == EXIT_STORAGE
    assert_consistent(store, acknowledged)
    with Service(store) as service:
        assert service.send(refused) == 201
    assert_consistent(store, [*acknowledged, refused])


@pytest.mark.system("strace")
def test_a_disk_that_fails_while_the_log_is_moved_into_the_store_loses_nothing(tmp_path: Path) -> None:
    """The log is flushed and whole: moving it on is tried again until it works, and no answer depends on it."""
    store, events = new_store(tmp_path), all_events(20_000)
    moved = store.stat().st_size
    # Only flushes of the store itself, which happen nowhere else, meet the fault.
    with Service(store, wrap=[*injecting("fdatasync:error=EIO:when=1"), "-P", str(store)]) as service:
        acknowledged = []
        while store.stat().st_size == moved and len(acknowledged) < 1_000:
            acknowledged.append(next(events))
            assert service.send(acknowledged[-1]) == 201
        assert len(acknowledged) < 1_000, "the log was never moved"
        acknowledged += itertools.islice(events, 3)
        assert [service.send(event) for event in acknowledged[-3:]] == [201] * 3
    assert_consistent(store, acknowledged)
    with Service(store) as service:
        assert service.send(acknowledged[0]) == 201
    assert_consistent(store, acknowledged)
