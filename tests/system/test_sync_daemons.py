"""Two daemons on one PostgreSQL keep one OpenMetadata: killed and held up at random, each thing is told once."""

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
from tests.system.test_sync_kill import settings_of
from tests.system.test_two_daemons import new_database

_ROUNDS = 8
#: Leases of a second: nobody waits half a minute for a daemon that is dead or stands still.
_HASTY = """
import bridge.sync.lease
bridge.sync.lease.LEASE_SECONDS, bridge.sync.lease.RENEW_SECONDS = 1.0, 0.2
"""


def some_event(chance: random.Random, number: int) -> bytes:
    """Make a run with a job of few, that reads and writes what others speak of, and checks what it wrote."""
    source, target = (f"d{max(0, number // 6 - chance.randrange(4))}" for _ in range(2))
    fields = chance.sample("kvw", 2)
    checks = make.facet(assertions=[{"assertion": "rows", "success": chance.random() < 0.7}])
    written = make.dataset(target, schema=make.schema(*fields), dataQualityAssertions=checks)
    return as_bytes(
        make.run_event(
            "COMPLETE",
            number % 60,
            run=number,
            job=f"job{chance.randrange(5)}",
            inputs=[make.dataset(source, schema=make.schema(*fields))],
            outputs=[written],
        )
    )


class Daemons:
    """Two daemons under load, one of which now and then dies or stands still."""

    def __init__(self, folder: Path, url: str, settings: dict[str, str], chance: random.Random) -> None:
        self._folder = folder
        self._settings = {"STORE__URL": url, **settings}
        self._events = (some_event(chance, number) for number in itertools.count())
        self._stack = ExitStack()
        self.running = [self._begin(number) for number in range(2)]

    def _begin(self, number: int) -> tuple[Service, Load]:
        daemon = self._stack.enter_context(Service(self._folder / f"{number}", **self._settings))
        load = Load(daemon, self._events)
        load.start()
        return daemon, load

    def kill(self, number: int) -> None:
        daemon, load = self.running[number]
        daemon.kill()
        load.join()

    def begin(self, number: int) -> None:
        self.running[number] = self._begin(number)

    def close(self) -> None:
        for number in range(2):
            self.kill(number)
        self._stack.close()


@pytest.mark.system("postgres")
@pytest.mark.timeout(400)
def test_daemons_that_die_or_stand_still_tell_each_thing_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    (tmp_path / "sitecustomize.py").write_text(_HASTY)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}")  # the code beside these tests, wherever that is
    url = new_database()
    with OpenMetadata() as standin:
        settings = settings_of(standin)
        with closing(Daemons(tmp_path, url, settings, chance)) as daemons:
            for _ in range(_ROUNDS):
                asked = len(standin.requests)
                calls = chance.randrange(5, 60)
                until(lambda: len(standin.requests) > asked + calls, f"{calls} calls")  # noqa: B023 - called at once
                victim = chance.randrange(2)
                if chance.random() < 0.5:
                    daemons.kill(victim)
                    daemons.begin(victim)
                else:
                    process = daemons.running[victim][0].process
                    process.send_signal(signal.SIGSTOP)
                    behind = len(standin.requests)
                    until(lambda: len(standin.requests) > behind + 40, "calls of the other")  # noqa: B023 - as above
                    process.send_signal(signal.SIGCONT)
        code, said = finish(
            start(tmp_path / "x", "sync", "--once", "--output", "json", STORE__URL=url, **settings), 200
        )
        assert code == 0, said
        with closing(PostgresDatabase(url, writing=True)) as db:
            assert_told_once(standin, Store(db=db))


def assert_told_once(standin: OpenMetadata, store: Store) -> None:
    """What is there is in sync, and every run and every result is there, and no more often than once."""
    there = model.actual_state(standin)
    assert there == model.expected_state(store, register_on_completion=True, existing_tables=there.tables)
    assert there.edges
    state = standin.state()
    statuses = Counter(one["executionId"] for of in state["statuses"].values() for one in of)
    runs = {run for (run,) in store.rows("SELECT run_uuid FROM ol_run WHERE least_claimant IS NOT NULL")}
    assert statuses == Counter(runs)
    results = [one for of in state["results"].values() for one in of]
    ((made,),) = store.rows("SELECT count(*) FROM quality_check_result")
    assert len(results) == made
    words: Json = dict(store.rows("SELECT status, count(*) FROM quality_check_result GROUP BY status"))
    told = Counter(one["testCaseStatus"] for one in results)
    assert (told["Success"], told["Failed"]) == (words.get("PASS", 0), words.get("FAIL", 0))
