"""OpenMetadata converges although the service is killed at random times of a busy sync."""

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


def random_event(rng: random.Random, number: int) -> bytes:
    """Create a run that reads and writes datasets shared with other runs, sometimes under a new name."""
    source, target = (f"d{max(0, number // 3 - rng.randrange(4))}" for _ in range(2))
    fields = rng.sample("kvwx", 3)
    column_lineage = make.columns({fields[0]: [make.field(source, rng.choice(fields), make.transformation())]})
    symlinks = {"symlinks": make.symlinks(f"s{number // 9}")} if rng.random() < 0.1 else {}
    return as_bytes(
        make.run_event(
            rng.choice(("START", "COMPLETE", "COMPLETE")),
            number % 60,
            run=number,
            job=f"job{rng.randrange(number // 20 + 2)}",
            inputs=[make.dataset(source, schema=make.schema(*fields))],
            outputs=[make.dataset(target, schema=make.schema(*fields), columnLineage=column_lineage, **symlinks)],
        )
    )


def sync_settings(standin: OpenMetadata) -> dict[str, str]:
    mappings = [
        {"namespace": "db", "service": "warehouse", "database": "d", "schema": "s"},
        {"namespace": "jobs", "service": "runs"},
    ]
    options = {
        "ENABLED": "true",
        "SERVER__HOST": standin.url,
        "AUTH__JWT_TOKEN": standin.bot_token,
        "MAPPINGS": json.dumps(mappings),
        "RETRY_CONFIG__BACKOFF_SECONDS": "0.05",
    }
    # the model does not cover retired edges
    return {f"OPENMETADATA__{name}": value for name, value in options.items()} | {"FOLDING__RETIRE_AFTER_RUNS": "0"}


def expire_leases(store: Path) -> None:
    """Expire the leases of killed processes."""
    with closing(sqlite3.connect(store, timeout=30)) as connection:
        connection.execute("DELETE FROM sync_worker")
        connection.commit()


@pytest.mark.system
@pytest.mark.timeout(300)
def test_killed_service_converges_in_next_sync(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    store = new_store(tmp_path)
    events = (random_event(rng, number) for number in itertools.count())
    with OpenMetadata() as standin:
        settings = sync_settings(standin)
        for _ in range(_ROUNDS):
            requests_before = len(standin.requests)
            with Service(store, **settings) as service:
                load = Load(service, events)
                load.start()
                calls = rng.randrange(1, 60)
                until(lambda: len(standin.requests) > requests_before + calls, f"{calls} calls")  # noqa: B023 - called at once
                service.kill()
                load.join()
            expire_leases(store)
        code, output = run(store, "sync", "--once", "--output", "json", **settings)
        assert (code, json.loads(output)["converged"]) == (0, True), output
        with closing(SqliteDatabase.for_writing(store)) as db:
            actual = model.actual_state(standin)
            assert actual == model.expected_state(
                Store(db=db), register_on_completion=True, existing_tables=actual.tables
            )
        assert actual.edges
        code, output = run(store, "sync", "--once", "--output", "json", **settings)
        assert (code, json.loads(output)["calls"]) == (0, {})
