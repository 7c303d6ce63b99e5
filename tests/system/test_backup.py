"""Backup and restore with the documented commands while the service is busy."""

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
from tests.system.service import ROOT, Service, assert_consistent, new_store, stored_payloads, until
from tests.system.test_kill import Load, random_event
from tests.system.test_two_daemons import payloads

AUDIT_PASSED = "\nok: conservation: every received event is accounted for\n"
_BLOCKS = re.findall(
    r"^```\n(.*?)^```$",
    (ROOT / "docs" / "guides" / "operations.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)


def run_documented(keyword: str, **replacements: str | Path) -> str:
    """Run the code block of docs/guides/operations.md that contains a keyword, with replaced paths and commands."""
    (block,) = (block for block in _BLOCKS if keyword in block)
    replacements = {"lineage-bridge doctor": f"{sys.executable} -m bridge doctor", **replacements}
    for documented, actual in replacements.items():
        block = block.replace(documented, str(actual))
    assert "/var/" not in block
    result = subprocess.run(
        ["bash", "-euc", block], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@contextmanager
def busy(store: Path, **settings: str) -> Iterator[Load]:
    """Run a service under load; yield the load after the first acknowledgements."""
    rng = random.Random(1)
    events = (random_event(rng, number) for number in itertools.count())
    with Service(store, **settings) as service:
        load = Load(service, events)
        load.start()
        until(lambda: len(load.acknowledged) > 50, "the first answers")
        yield load
        service.kill()
        load.join()


@pytest.mark.system("sqlite3")
def test_sqlite_backup_of_busy_store_is_complete(tmp_path: Path) -> None:
    store, backups = new_store(tmp_path), tmp_path / "backups"
    backups.mkdir()
    with busy(store) as load:
        acknowledged_before = list(load.acknowledged)
        output = run_documented(
            "VACUUM", **{"/var/backups/lineage-bridge": backups, "/var/lib/lineage-bridge/store.db": store}
        )
        until(lambda: len(load.acknowledged) > len(acknowledged_before), "answers after the backup")
    (backup,) = backups.iterdir()
    assert output.endswith(AUDIT_PASSED)
    assert_consistent(backup, acknowledged_before)
    assert len(stored_payloads(backup)) < len(stored_payloads(store))
    with Service(backup) as restored:
        assert restored.send(acknowledged_before[0]) == 201


@pytest.mark.system("postgres", "pg_dump")
def test_postgresql_dump_of_busy_store_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_server("max_connections=60") as server:
        url = server.new_database("lineage")
        upgrade_postgres(url, "backup")
        replacements = {
            "/var/backups/lineage-bridge": tmp_path,
            "postgresql://bridge@db.example.com/": server.url(""),
            "--owner=bridge": "--owner=tests",
        }
        with busy(tmp_path / "unused", STORE__URL=url) as load:
            acknowledged_before = {event.strip() for event in load.acknowledged}
            run_documented("pg_dump", **replacements)
            until(lambda: len(load.acknowledged) > len(acknowledged_before), "answers after the backup")
        for name, value in (("PGHOST", "127.0.0.1"), ("PGPORT", str(server.port)), ("PGUSER", "tests")):
            monkeypatch.setenv(name, value)
        assert run_documented("pg_restore", **replacements).endswith(AUDIT_PASSED)
        with closing(PostgresDatabase(server.url("lineage_restored"), writing=False)) as db:
            assert acknowledged_before <= payloads(db)
