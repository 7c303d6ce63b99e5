"""Acknowledged events survive kill -9 of a busy service and of a writer; killed commands resume."""

import itertools
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests import factories as make
from tests.stores import as_bytes
from tests.system.service import (
    ROOT,
    Response,
    Service,
    assert_consistent,
    assert_stored,
    canonical_export,
    expected_export,
    inject_fault,
    new_store,
    post_event,
    run,
    stored_payloads,
    until,
    write_events,
)

_ROUNDS = 25
_CLIENTS = 4
_MAX_FLUSHES = 60


def random_event(rng: random.Random, number: int) -> bytes:
    """Create a small, unique event about datasets and jobs shared with other events."""
    names = [f"d{rng.randrange(12)}" for _ in range(2)]
    columns = make.columns({"k": [make.field(names[0], rng.choice(("k", "v")))]})
    return as_bytes(
        make.run_event(
            rng.choice(("START", "RUNNING", "COMPLETE", "FAIL")),
            rng.randrange(60),
            run=number // 2,
            job=f"job{rng.randrange(5)}",
            inputs=[make.dataset(names[0], schema=make.schema("k", "v"))],
            outputs=[make.dataset(names[1], columnLineage=columns, symlinks=make.symlinks(f"s{number % 7}"))],
            job_facets={"documentation": make.facet(description=f"text {number}")},
        )
    )


_EVENTS_LOCK = threading.Lock()


class Load:
    """Clients that send events while the service responds, and record the acknowledged ones.

    An event may be refused only with a response that contains `allowed_error`.
    """

    def __init__(self, service: Service, events: Iterator[bytes], *, allowed_error: str | None = None) -> None:
        self.acknowledged: list[bytes] = []
        self._allowed_error = allowed_error
        self._unexpected: list[Response] = []
        self._service = service
        self._events = events
        self._threads = [threading.Thread(target=self._client) for _ in range(_CLIENTS)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive(), "a client hangs"
        assert not self._unexpected

    def _client(self) -> None:
        with closing(self._service.connect()) as connection:
            while True:
                with _EVENTS_LOCK:  # several loads may share the events
                    event = next(self._events)
                response = post_event(connection, event)
                if response.status == 201:
                    self.acknowledged.append(event)
                elif response.status == 0:
                    return
                elif self._allowed_error is None or self._allowed_error not in response.body:
                    self._unexpected.append(response)


@pytest.mark.system
@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", range(2))
def test_killed_service_keeps_acknowledged_events(tmp_path: Path, part: int) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}, part {part}")
    rng = random.Random(seed)
    events = (random_event(rng, number) for number in itertools.count())
    store = new_store(tmp_path)
    acknowledged: list[bytes] = []
    for round_ in range(_ROUNDS):
        with Service(store) as service:
            load = Load(service, events)
            load.start()
            enough = 1 + rng.randrange(80)
            until(lambda: len(load.acknowledged) >= enough, f"{enough} answers")  # noqa: B023 - called at once
            service.kill()
            load.join()
        acknowledged += load.acknowledged
        if round_ % 5 == 0:
            assert_stored(store, acknowledged)
    print(f"{len(acknowledged)} acknowledged")
    assert_consistent(store, acknowledged)


@pytest.mark.system
@pytest.mark.timeout(300)
def test_killed_writer_keeps_acknowledged_events(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    result = subprocess.run(
        [sys.executable, "-m", "tests.system.killed_writer", str(store), str(seed), "150"],
        cwd=ROOT,
        capture_output=True,
        timeout=200,
        check=False,
    )
    assert result.returncode == 0, result.stderr.decode()
    acknowledged = result.stdout.splitlines()
    print(f"{len(acknowledged)} acknowledged")
    assert len(acknowledged) > 150
    assert_consistent(store, acknowledged)


@pytest.fixture(scope="module")
def many_events(
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """File that takes several commits: captured events between generated ones."""
    rng = random.Random(7)
    captured = ROOT / "tests" / "data" / "events" / "spark-4.1.4" / "j_rich_lineage.ndjson"
    generated = [random_event(rng, number) for number in range(1010)]
    return write_events(
        tmp_path_factory.mktemp("events") / "many.ndjson",
        [*generated[:700], *captured.read_bytes().splitlines(), *generated[700:]],
    )


@pytest.mark.system("strace")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("call", ["fdatasync", "pwrite64"])
def test_ingest_killed_at_any_flush_resumes(tmp_path: Path, many_events: Path, call: str) -> None:
    expected = expected_export(many_events.read_bytes().splitlines(keepends=True))
    kills = 0
    # Every flush is tested. Of the many writes, growing steps cover every commit and the checkpoint.
    for number in itertools.accumulate(range(_MAX_FLUSHES), lambda n, _: n + 1 if call == "fdatasync" else n * 4 + 5):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        store = new_store(folder)
        code, output = run(
            store, "ingest", str(many_events), wrap=inject_fault(f"{call}:signal=KILL:when={number + 1}")
        )
        stored = len(stored_payloads(store))
        if code == 0:
            break
        kills += 1
        assert code == -9, output
        assert stored % 500 == 0 or stored == len(many_events.read_bytes().splitlines())
        code, output = run(store, "ingest", str(many_events))
        assert code == 0, output
        if stored:
            assert "bytes ingested earlier" in output
        assert canonical_export(store) == expected
    else:
        pytest.fail("ingest never completed")
    print(f"{kills} kills")
    assert kills >= 4


@pytest.mark.system("strace")
@pytest.mark.timeout(300)
def test_service_killed_around_flushes_keeps_acknowledged_events(tmp_path: Path) -> None:
    """Includes kills between commit and response, and during the response."""
    rng = random.Random(11)
    events = (random_event(rng, number) for number in itertools.count())
    store = new_store(tmp_path)
    acknowledged: list[bytes] = []
    for fault in ("fdatasync:signal=KILL:when=1", "fdatasync:signal=KILL:when=4", "pwrite64:signal=KILL:when=50"):
        with Service(store, wrap=inject_fault(fault)) as service:
            for event in events:
                status = service.send(event)
                if status != 201:
                    break
                acknowledged.append(event)
            assert status == 0
            assert service.exit_code() == -9
        assert_consistent(store, acknowledged)
