"""Promise 1 under kill -9: at random moments of a busy service and a bare writer, at every flush of a command."""

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
    Service,
    assert_consistent,
    assert_kept,
    expected_export,
    exported,
    injecting,
    kept,
    new_store,
    run,
    send,
    until,
    write_events,
)

_ROUNDS = 25
_CLIENTS = 4
_MAX_FLUSHES = 60


def some_event(chance: random.Random, number: int) -> bytes:
    """Make a small event that no other is equal to, about names that others speak of, too."""
    names = [f"d{chance.randrange(12)}" for _ in range(2)]
    columns = make.columns({"k": [make.field(names[0], chance.choice(("k", "v")))]})
    return as_bytes(
        make.run_event(
            chance.choice(("START", "RUNNING", "COMPLETE", "FAIL")),
            chance.randrange(60),
            run=number // 2,
            job=f"job{chance.randrange(5)}",
            inputs=[make.dataset(names[0], schema=make.schema("k", "v"))],
            outputs=[make.dataset(names[1], columnLineage=columns, symlinks=make.symlinks(f"s{number % 7}"))],
            job_facets={"documentation": make.facet(description=f"text {number}")},
        )
    )


_NEXT = threading.Lock()


class Load:
    """Clients that send events for as long as the service answers, and remember what was acknowledged."""

    def __init__(self, service: Service, events: Iterator[bytes]) -> None:
        self.acknowledged: list[bytes] = []
        self.strange: list[int] = []
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
        assert not self.strange

    def _client(self) -> None:
        with closing(self._service.connect()) as connection:
            while True:
                with _NEXT:  # several crowds may share the events
                    event = next(self._events)
                status, _ = send(connection, event)
                if status == 201:
                    self.acknowledged.append(event)
                elif status == 0:
                    return
                else:
                    self.strange.append(status)


@pytest.mark.system
@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", range(2))
def test_a_busy_service_killed_at_any_moment_keeps_what_it_acknowledged(tmp_path: Path, part: int) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}, part {part}")
    chance = random.Random(seed)
    events = (some_event(chance, number) for number in itertools.count())
    store = new_store(tmp_path)
    acknowledged: list[bytes] = []
    for round_ in range(_ROUNDS):
        with Service(store) as service:
            load = Load(service, events)
            load.start()
            enough = 1 + chance.randrange(80)
            until(lambda: len(load.acknowledged) >= enough, f"{enough} answers")  # noqa: B023 - called at once
            service.kill()
            load.join()
        acknowledged += load.acknowledged
        if round_ % 5 == 0:
            assert_kept(store, acknowledged)
    print(f"{len(acknowledged)} acknowledged")
    assert_consistent(store, acknowledged)


@pytest.mark.system
@pytest.mark.timeout(300)
def test_a_bare_writer_killed_at_any_moment_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    done = subprocess.run(
        [sys.executable, "-m", "tests.system.killed_writer", str(store), str(seed), "150"],
        cwd=ROOT,
        capture_output=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    acknowledged = done.stdout.splitlines()
    print(f"{len(acknowledged)} acknowledged")
    assert len(acknowledged) > 150
    assert_consistent(store, acknowledged)


@pytest.fixture(scope="module")
def many_events(
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Make a file that takes several commits: real events, and generated ones around them."""
    chance = random.Random(7)
    captured = ROOT / "tests" / "data" / "events" / "spark-4.1.4" / "j_rich_lineage.ndjson"
    made = [some_event(chance, number) for number in range(1010)]
    return write_events(
        tmp_path_factory.mktemp("events") / "many.ndjson",
        [*made[:700], *captured.read_bytes().splitlines(), *made[700:]],
    )


@pytest.mark.system("strace")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("call", ["fdatasync", "pwrite64"])
def test_an_ingestion_killed_at_every_flush_goes_on_where_it_stopped(
    tmp_path: Path, many_events: Path, call: str
) -> None:
    wanted = expected_export(many_events.read_bytes().splitlines(keepends=True))
    kills = 0
    # Flushes are few: each is tried. Writes are many: growing steps reach into every commit and the checkpoint.
    for number in itertools.accumulate(range(_MAX_FLUSHES), lambda n, _: n + 1 if call == "fdatasync" else n * 4 + 5):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        store = new_store(folder)
        code, said = run(store, "ingest", str(many_events), wrap=injecting(f"{call}:signal=KILL:when={number + 1}"))
        before = len(kept(store))
        if code == 0:
            break
        kills += 1
        assert code == -9, said
        assert before % 500 == 0 or before == len(many_events.read_bytes().splitlines())
        code, said = run(store, "ingest", str(many_events))
        assert code == 0, said
        if before:
            assert "bytes ingested earlier" in said
        assert exported(store) == wanted
    else:
        pytest.fail("the ingestion has never completed")
    print(f"{kills} kills")
    assert kills >= 4


@pytest.mark.system("strace")
@pytest.mark.timeout(300)
def test_a_service_killed_before_and_after_each_flush_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    """The moment between the commit and its answer, and the answer itself, are among those tried."""
    chance = random.Random(11)
    events = (some_event(chance, number) for number in itertools.count())
    store = new_store(tmp_path)
    acknowledged: list[bytes] = []
    for fault in ("fdatasync:signal=KILL:when=1", "fdatasync:signal=KILL:when=4", "pwrite64:signal=KILL:when=50"):
        with Service(store, wrap=injecting(fault)) as service:
            for event in events:
                status = service.send(event)
                if status != 201:
                    break
                acknowledged.append(event)
            assert status == 0
            assert service.exit_code() == -9
        assert_consistent(store, acknowledged)
