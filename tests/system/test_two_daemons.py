"""Two daemons on one PostgreSQL, killed at random, lose no events and merge consistently."""

import itertools
import random
import secrets
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
import zstandard

from bridge.store.canonical_export import export_canonical
from bridge.store.intake_audit import audit_intake
from bridge.store.postgres import PostgresDatabase
from bridge.store.schema import upgrade_postgres
from tests.postgres import server
from tests.system.service import Service, expected_export, finish, start, until, write_events
from tests.system.test_kill import Load, random_event

_ROUNDS = 20


def payloads(db: PostgresDatabase) -> set[bytes]:
    unpack = zstandard.ZstdDecompressor().decompress
    return {unpack(payload).strip() for (payload,) in db.fetch_all("SELECT payload FROM run_event")}


def new_database() -> str:
    url = server().new_database(f"daemons_{secrets.token_hex(4)}")
    upgrade_postgres(url, "daemons")
    return url


@pytest.mark.system("postgres")
@pytest.mark.timeout(400)
def test_killed_daemons_lose_no_events_and_merge_consistently(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    events = (random_event(rng, number) for number in itertools.count())
    url, acknowledged = new_database(), []

    def start_daemon(number: int) -> tuple[Service, Load]:
        daemon = stack.enter_context(Service(tmp_path / f"{number}", STORE__URL=url))
        load = Load(daemon, events)
        load.start()
        return daemon, load

    with ExitStack() as stack:
        running = [start_daemon(number) for number in range(2)]
        for _ in range(_ROUNDS):
            victims = [0, 1] if rng.random() < 0.2 else [rng.randrange(2)]
            enough = 5 + rng.randrange(60)
            until(lambda: all(len(load.acknowledged) >= enough for _, load in running), f"{enough} answers")  # noqa: B023
            for victim in victims:
                daemon, load = running[victim]
                daemon.kill()
                load.join()
                acknowledged += load.acknowledged
                running[victim] = start_daemon(victim)
        for daemon, load in running:
            daemon.kill()
            load.join()
            acknowledged += load.acknowledged
    assert_consistent_state(url, acknowledged)


def assert_consistent_state(url: str, acknowledged: list[bytes]) -> None:
    """The store has all acknowledged events, passes the audit, and equals that of a single process."""
    with closing(PostgresDatabase(url, writing=False)) as db:
        stored = payloads(db)
        print(f"{len(acknowledged)} acknowledged, {len(stored)} stored")
        assert set(acknowledged) <= stored
        assert audit_intake(db, "default").discrepancies == []
        assert b"".join(export_canonical(db, "default")) == expected_export(stored)


@pytest.mark.system("postgres")
def test_concurrent_ingests_of_overlapping_files(tmp_path: Path) -> None:
    rng = random.Random(5)
    events = [random_event(rng, number) for number in range(600)]
    url = server().new_database(f"halves_{secrets.token_hex(4)}")
    files = [
        write_events(tmp_path / "a.ndjson", events[:400]),
        write_events(tmp_path / "b.ndjson", events[200:][::-1]),
    ]
    processes = [start(tmp_path / "x", "ingest", str(file), STORE__URL=url) for file in files]
    for process in processes:
        code, output = finish(process)
        assert code == 0, output
    assert_consistent_state(url, events)
