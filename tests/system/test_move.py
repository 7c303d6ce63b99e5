"""Moving a store to PostgreSQL with the documented commands, and repeating a killed import."""

import random
import re
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from bridge.store.intake_audit import audit_intake
from bridge.store.postgres import PostgresDatabase
from bridge.store.sqlite import SqliteDatabase
from tests.postgres import running_server
from tests.system.service import (
    ROOT,
    canonical_export,
    finish,
    inject_fault,
    new_store,
    run,
    start,
    stored_payloads,
    write_events,
)
from tests.system.test_backup import AUDIT_PASSED
from tests.system.test_kill import random_event

COUNT = 2_500


@pytest.fixture
def source_store(tmp_path: Path) -> Path:
    """Store with many events, one rejected input and one duplicate."""
    rng = random.Random(7)
    store = new_store(tmp_path)
    events = [random_event(rng, number) for number in range(COUNT)]
    code, output = run(store, "ingest", str(write_events(tmp_path / "events", [*events, b"{", events[0]])))
    assert code == 1, output
    return store


@pytest.mark.system("postgres", "bash")
def test_documented_commands_move_store_to_postgresql(tmp_path: Path, source_store: Path) -> None:
    page = (ROOT / "docs" / "guides" / "operations.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```\n(old=.*?)^```$", page, re.MULTILINE | re.DOTALL)
    with running_server() as server:
        url = server.new_database("moved")
        for documented, actual in (
            ("/var/lib/lineage-bridge/store.db", source_store),
            ("postgresql://bridge@db.example.com/lineage", url),
            ("/var/backups/lineage-bridge", tmp_path),
            ("lineage-bridge", f"{sys.executable} -m bridge"),
        ):
            block = block.replace(documented, str(actual))
        assert "/var/" not in block
        result = subprocess.run(
            ["bash", "-euc", block], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
        )  # fmt: skip
        assert result.returncode == 0, result.stdout + result.stderr
        assert result.stdout.startswith(f"imported {COUNT:,} events and 1 rejected input; already stored: 0\n")
        assert result.stdout.endswith(AUDIT_PASSED)
        with closing(PostgresDatabase(url, writing=False)) as db:
            assert db.fetch_all("SELECT receipts FROM run_event WHERE receipts > 1") == [(2,)]


@pytest.mark.system("strace")
@pytest.mark.parametrize("flush", [1, 2, 4])
def test_killed_import_can_be_repeated(tmp_path: Path, source_store: Path, flush: int) -> None:
    export_file = tmp_path / "lines"
    with start(source_store, "export", "--events") as exporter:
        assert exporter.stdout is not None
        export_file.write_text(exporter.stdout.read())
    (tmp_path / "new").mkdir()
    new = new_store(tmp_path / "new")
    code, output = run(new, "import", str(export_file), wrap=inject_fault(f"fdatasync:signal=KILL:when={flush}"))
    assert code == -signal.SIGKILL, output
    imported = len(stored_payloads(new))
    assert imported < COUNT
    with closing(SqliteDatabase.for_reading(new)) as db:
        assert audit_intake(db, "default").discrepancies == []
    code, output = finish(start(new, "import", str(export_file)))
    assert (code, output) == (
        0,
        f"imported {COUNT - imported:,} events and 1 rejected input; already stored: {imported:,}\n",
    )
    assert canonical_export(new) == canonical_export(source_store)
    repeated = run(new, "import", str(export_file))
    assert repeated == (0, f"imported 0 events and 0 rejected inputs; already stored: {COUNT + 1:,}\n")
    assert canonical_export(new) == canonical_export(source_store)
