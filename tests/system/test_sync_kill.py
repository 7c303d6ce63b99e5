"""The target converges whatever dies: the service is killed at random moments of a busy sync."""

import itertools
import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bridge.store.sqlite import SqliteDatabase
from tests import factories as make
from tests.standins.openmetadata import OpenMetadata
from tests.stores import Store, as_bytes
from tests.sync import model
from tests.system.service import Service, new_store, run, until
from tests.system.test_kill import Load

_ROUNDS = 8


def some_event(chance: random.Random, number: int) -> bytes:
    """Make a run that reads and writes what others speak of, too, and now and then something new."""
    source, target = (f"d{max(0, number // 3 - chance.randrange(4))}" for _ in range(2))
    fields = chance.sample("kvwx", 3)
    lines = make.columns({fields[0]: [make.field(source, chance.choice(fields), make.transformation())]})
    linked = {"symlinks": make.symlinks(f"s{number // 9}")} if chance.random() < 0.1 else {}
    return as_bytes(
        make.run_event(
            chance.choice(("START", "COMPLETE", "COMPLETE")),
            number % 60,
            run=number,
            job=f"job{chance.randrange(number // 20 + 2)}",
            inputs=[make.dataset(source, schema=make.schema(*fields))],
            outputs=[make.dataset(target, schema=make.schema(*fields), columnLineage=lines, **linked)],
        )
    )


def settings_of(standin: OpenMetadata) -> dict[str, str]:
    mappings = [
        {"namespace": "db", "service": "warehouse", "database": "d", "schema": "s"},
        {"namespace": "jobs", "service": "runs"},
    ]
    of = {
        "ENABLED": "true",
        "SERVER__HOST": standin.url,
        "AUTH__JWT_TOKEN": standin.bot_token,
        "MAPPINGS": json.dumps(mappings),
        "RETRY_CONFIG__BACKOFF_SECONDS": "0.05",
    }
    # the model knows nothing of edges that are gone
    return {f"OPENMETADATA__{name}": value for name, value in of.items()} | {"FOLDING__RETIRE_AFTER_RUNS": "0"}


def end_leases(store: Path) -> None:
    """Do what time does to the claims of the dead."""
    with closing(sqlite3.connect(store, timeout=30)) as connection:
        connection.execute("DELETE FROM sync_worker")
        connection.commit()


@pytest.mark.system
@pytest.mark.timeout(300)
def test_a_service_killed_at_any_moment_of_a_sync_leaves_nothing_wrong(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    store = new_store(tmp_path)
    events = (some_event(chance, number) for number in itertools.count())
    with OpenMetadata() as standin:
        settings = settings_of(standin)
        for _ in range(_ROUNDS):
            asked = len(standin.requests)
            with Service(store, **settings) as service:
                load = Load(service, events)
                load.start()
                calls = chance.randrange(1, 60)
                until(lambda: len(standin.requests) > asked + calls, f"{calls} calls")  # noqa: B023 - called at once
                service.kill()
                load.join()
            end_leases(store)
        code, said = run(store, "sync", "--once", "--output", "json", **settings)
        assert (code, json.loads(said)["converged"]) == (0, True), said
        with closing(SqliteDatabase.for_writing(store)) as db:
            there = model.actual_state(standin)
            assert there == model.expected_state(
                Store(db=db), register_on_completion=True, existing_tables=there.tables
            )
        assert there.edges
        code, said = run(store, "sync", "--once", "--output", "json", **settings)
        assert (code, json.loads(said)["calls"]) == (0, {})
