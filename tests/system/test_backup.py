"""Backup and restore by the very commands of docs/guides/operations.md, while the service is busy."""

import itertools
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from bridge.store.postgres import PostgresDatabase
from bridge.store.schema import upgrade_postgres
from tests.postgres import running_server
from tests.system.service import ROOT, Service, assert_consistent, kept, new_store, until
from tests.system.test_kill import Load, some_event
from tests.system.test_two_daemons import payloads

WHOLE = "\nok: conservation: every received event is accounted for\n"
_BLOCKS = re.findall(
    r"^```\n(.*?)^```$",
    (ROOT / "docs" / "guides" / "operations.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)


def documented(word: str, **named: str | Path) -> str:
    """Run the block of the page that holds a word, with other places than its own."""
    (block,) = (block for block in _BLOCKS if word in block)
    places = {"lineage-bridge doctor": f"{sys.executable} -m bridge doctor", **named}
    for place, ours in places.items():
        block = block.replace(place, str(ours))
    assert "/var/" not in block
    done = subprocess.run(
        ["bash", "-euc", block], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def busy(store: Path, **settings: str) -> Iterator[Load]:
    """Keep a service busy; gives the load once events were acknowledged."""
    chance = random.Random(1)
    events = (some_event(chance, number) for number in itertools.count())
    with Service(store, **settings) as service:
        load = Load(service, events)
        load.start()
        until(lambda: len(load.acknowledged) > 50, "the first answers")
        yield load
        service.kill()
        load.join()


@pytest.mark.system("sqlite3")
def test_a_backup_of_a_busy_sqlite_store_is_whole_and_has_all_that_was_acknowledged(tmp_path: Path) -> None:
    store, backups = new_store(tmp_path), tmp_path / "backups"
    backups.mkdir()
    with busy(store) as load:
        before = list(load.acknowledged)
        said = documented(
            "VACUUM", **{"/var/backups/lineage-bridge": backups, "/var/lib/lineage-bridge/store.db": store}
        )
        until(lambda: len(load.acknowledged) > len(before), "answers after the backup")
    (backup,) = backups.iterdir()
    assert said.endswith(WHOLE)
    assert_consistent(backup, before)
    assert len(kept(backup)) < len(kept(store))
    with Service(backup) as restored:
        assert restored.send(before[0]) == 201


@pytest.mark.system("postgres", "pg_dump")
def test_a_dump_of_a_busy_postgresql_store_is_whole_when_it_is_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_server("max_connections=60") as server:
        url = server.new_database("lineage")
        upgrade_postgres(url, "backup")
        named = {
            "/var/backups/lineage-bridge": tmp_path,
            "postgresql://bridge@db.example.com/": server.url(""),
            "--owner=bridge": "--owner=tests",
        }
        with busy(tmp_path / "unused", STORE__URL=url) as load:
            before = {event.strip() for event in load.acknowledged}
            documented("pg_dump", **named)
            until(lambda: len(load.acknowledged) > len(before), "answers after the backup")
        for name, value in (("PGHOST", "127.0.0.1"), ("PGPORT", str(server.port)), ("PGUSER", "tests")):
            monkeypatch.setenv(name, value)
        assert documented("pg_restore", **named).endswith(WHOLE)
        with closing(PostgresDatabase(server.url("lineage_restored"), writing=False)) as db:
            assert before <= payloads(db)
