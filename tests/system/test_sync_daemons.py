"""Two daemons on one PostgreSQL, killed and paused at random, push everything to OpenMetadata once."""

import itertools
import os
import random
import signal
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from bridge.store.postgres import PostgresDatabase
from tests import factories as make
from tests.standins.openmetadata import OpenMetadata
from tests.stores import Json, Store, as_bytes
from tests.sync import model
from tests.system.service import ROOT, Service, finish, start, until
from tests.system.test_kill import Load
from tests.system.test_sync_kill import sync_settings
from tests.system.test_two_daemons import new_database

_ROUNDS = 8
#: One-second leases, so that daemons do not wait half a minute for a dead or paused one.
_SHORT_LEASES = """
import bridge.sync.lease
bridge.sync.lease.LEASE_SECONDS, bridge.sync.lease.RENEW_SECONDS = 1.0, 0.2
"""


def random_event(rng: random.Random, number: int) -> bytes:
    """Create a run that reads and writes datasets shared with other runs, and checks its output."""
    source, target = (f"d{max(0, number // 6 - rng.randrange(4))}" for _ in range(2))
    fields = rng.sample("kvw", 2)
    checks = make.facet(assertions=[{"assertion": "rows", "success": rng.random() < 0.7}])
    written = make.dataset(target, schema=make.schema(*fields), dataQualityAssertions=checks)
    return as_bytes(
        make.run_event(
            "COMPLETE",
            number % 60,
            run=number,
            job=f"job{rng.randrange(5)}",
            inputs=[make.dataset(source, schema=make.schema(*fields))],
            outputs=[written],
        )
    )


class Daemons:
    """Two daemons under load that can be killed and restarted."""

    def __init__(self, folder: Path, url: str, settings: dict[str, str], rng: random.Random) -> None:
        self._folder = folder
        self._settings = {"STORE__URL": url, **settings}
        self._events = (random_event(rng, number) for number in itertools.count())
        self._stack = ExitStack()
        self.running = [self._start(number) for number in range(2)]

    def _start(self, number: int) -> tuple[Service, Load]:
        daemon = self._stack.enter_context(Service(self._folder / f"{number}", **self._settings))
        # The other daemon ends the database session of a paused one that blocks it: that session's events are refused.
        load = Load(daemon, self._events, allowed_error="the database server does not respond")
        load.start()
        return daemon, load

    def kill(self, number: int) -> None:
        daemon, load = self.running[number]
        daemon.kill()
        load.join()

    def restart(self, number: int) -> None:
        self.running[number] = self._start(number)

    def close(self) -> None:
        for number in range(2):
            self.kill(number)
        self._stack.close()


@pytest.mark.system("postgres")
@pytest.mark.timeout(400)
def test_killed_and_paused_daemons_push_everything_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    (tmp_path / "sitecustomize.py").write_text(_SHORT_LEASES)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}")  # the code of this checkout
    url = new_database()
    with OpenMetadata() as standin:
        settings = sync_settings(standin)
        with closing(Daemons(tmp_path, url, settings, rng)) as daemons:
            for _ in range(_ROUNDS):
                requests_before = len(standin.requests)
                calls = rng.randrange(5, 60)
                until(lambda: len(standin.requests) > requests_before + calls, f"{calls} calls")  # noqa: B023 - called at once
                victim = rng.randrange(2)
                if rng.random() < 0.5:
                    daemons.kill(victim)
                    daemons.restart(victim)
                else:
                    process = daemons.running[victim][0].process
                    process.send_signal(signal.SIGSTOP)
                    requests_at_stop = len(standin.requests)
                    until(lambda: len(standin.requests) > requests_at_stop + 40, "requests of the other daemon")  # noqa: B023 - called at once
                    process.send_signal(signal.SIGCONT)
        code, output = finish(
            start(tmp_path / "x", "sync", "--once", "--output", "json", STORE__URL=url, **settings), 200
        )
        assert code == 0, output
        with closing(PostgresDatabase(url, writing=True)) as db:
            assert_pushed_once(standin, Store(db=db))


def assert_pushed_once(standin: OpenMetadata, store: Store) -> None:
    """OpenMetadata is in sync and has every run status and test result exactly once."""
    actual = model.actual_state(standin)
    assert actual == model.expected_state(store, register_on_completion=True, existing_tables=actual.tables)
    assert actual.edges
    state = standin.state()
    statuses = Counter(status["executionId"] for group in state["statuses"].values() for status in group)
    runs = {run for (run,) in store.rows("SELECT run_uuid FROM ol_run WHERE least_claimant IS NOT NULL")}
    assert statuses == Counter(runs)
    results = [result for group in state["results"].values() for result in group]
    ((expected_count,),) = store.rows("SELECT count(*) FROM quality_check_result")
    assert len(results) == expected_count
    expected: Json = dict(store.rows("SELECT status, count(*) FROM quality_check_result GROUP BY status"))
    actual_counts = Counter(result["testCaseStatus"] for result in results)
    expected_counts = (expected.get("PASS", 0), expected.get("FAIL", 0))
    assert (actual_counts["Success"], actual_counts["Failed"]) == expected_counts
