"""Two daemons on one PostgreSQL, killed at random moments: nothing is lost, and both merge as one would."""

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
from tests.system.test_kill import Load, some_event

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
def test_two_busy_daemons_killed_at_any_moment_lose_nothing_and_merge_as_one(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    events = (some_event(chance, number) for number in itertools.count())
    url, acknowledged = new_database(), []

    def begin(number: int) -> tuple[Service, Load]:
        daemon = stack.enter_context(Service(tmp_path / f"{number}", STORE__URL=url))
        load = Load(daemon, events)
        load.start()
        return daemon, load

    with ExitStack() as stack:
        running = [begin(number) for number in range(2)]
        for _ in range(_ROUNDS):
            victims = [0, 1] if chance.random() < 0.2 else [chance.randrange(2)]
            enough = 5 + chance.randrange(60)
            until(lambda: all(len(load.acknowledged) >= enough for _, load in running), f"{enough} answers")  # noqa: B023
            for victim in victims:
                daemon, load = running[victim]
                daemon.kill()
                load.join()
                acknowledged += load.acknowledged
                running[victim] = begin(victim)
        for daemon, load in running:
            daemon.kill()
            load.join()
            acknowledged += load.acknowledged
    assert_one_state(url, acknowledged)


def assert_one_state(url: str, acknowledged: list[bytes]) -> None:
    """All that was acknowledged is there, all is accounted for, and the facts are what one process would make."""
    with closing(PostgresDatabase(url, writing=False)) as db:
        known = payloads(db)
        print(f"{len(acknowledged)} acknowledged, {len(known)} kept")
        assert set(acknowledged) <= known
        assert audit_intake(db, "default").discrepancies == []
        assert b"".join(export_canonical(db, "default")) == expected_export(known)


@pytest.mark.system("postgres")
def test_two_ingestions_of_overlapping_halves_make_one_state(tmp_path: Path) -> None:
    chance = random.Random(5)
    events = [some_event(chance, number) for number in range(600)]
    url = server().new_database(f"halves_{secrets.token_hex(4)}")
    files = [
        write_events(tmp_path / "a.ndjson", events[:400]),
        write_events(tmp_path / "b.ndjson", events[200:][::-1]),
    ]
    started = [start(tmp_path / "x", "ingest", str(file), STORE__URL=url) for file in files]
    for process in started:
        code, said = finish(process)
        assert code == 0, said
    assert_one_state(url, events)
