"""A store moved by the very commands of docs/guides/operations.md, and a move that is killed on its way."""

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
from tests.system.service import ROOT, exported, finish, injecting, kept, new_store, run, start, write_events
from tests.system.test_backup import WHOLE
from tests.system.test_kill import some_event

COUNT = 2_500


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """Make a store of many events, one refused input and one event that came twice."""
    chance = random.Random(7)
    store = new_store(tmp_path)
    events = [some_event(chance, number) for number in range(COUNT)]
    code, said = run(store, "ingest", str(write_events(tmp_path / "events", [*events, b"{", events[0]])))
    assert code == 1, said
    return store


@pytest.mark.system("postgres", "bash")
def test_the_documented_commands_move_a_store_to_postgresql(tmp_path: Path, filled: Path) -> None:
    page = (ROOT / "docs" / "guides" / "operations.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```\n(old=.*?)^```$", page, re.MULTILINE | re.DOTALL)
    with running_server() as server:
        url = server.new_database("moved")
        for place, ours in (
            ("/var/lib/lineage-bridge/store.db", filled),
            ("postgresql://bridge@db.example.com/lineage", url),
            ("/var/backups/lineage-bridge", tmp_path),
            ("lineage-bridge", f"{sys.executable} -m bridge"),
        ):
            block = block.replace(str(place), str(ours))
        assert "/var/" not in block
        done = subprocess.run(
            ["bash", "-euc", block], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.startswith(f"imported {COUNT} events and 1 rejected inputs; 0 were already stored\n")
        assert done.stdout.endswith(WHOLE)
        with closing(PostgresDatabase(url, writing=False)) as db:
            assert db.fetch_all("SELECT receipts FROM run_event WHERE receipts > 1") == [(2,)]


@pytest.mark.system("strace")
@pytest.mark.parametrize("flush", [1, 2, 4])
def test_a_move_that_was_killed_is_begun_anew_and_is_whole(tmp_path: Path, filled: Path, flush: int) -> None:
    lines = tmp_path / "lines"
    with start(filled, "export", "--events") as exporting:
        assert exporting.stdout is not None
        lines.write_text(exporting.stdout.read())
    (tmp_path / "new").mkdir()
    new = new_store(tmp_path / "new")
    code, said = run(new, "import", str(lines), wrap=injecting(f"fdatasync:signal=KILL:when={flush}"))
    assert code == -signal.SIGKILL, said
    known = len(kept(new))
    assert known < COUNT
    with closing(SqliteDatabase.for_reading(new)) as db:
        assert audit_intake(db, "default").discrepancies == []
    code, said = finish(start(new, "import", str(lines)))
    assert (code, said) == (
        0,
        f"imported {COUNT - known} events and 1 rejected inputs; {known} were already stored\n",
    )
    assert exported(new) == exported(filled)
    again = run(new, "import", str(lines))
    assert again == (0, f"imported 0 events and 0 rejected inputs; {COUNT + 1} were already stored\n")
    assert exported(new) == exported(filled)
