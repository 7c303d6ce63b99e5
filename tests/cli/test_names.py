"""Names of datasets on the command line: last parts, relative paths, similar names."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bridge.store.search.indexer import SearchIndexer
from tests.commands import RunCli, create_store
from tests.factories import dataset, run_event

DATASETS = ["sales.revenue", "sales.orders", "old.orders", "hr.Staff"]
EVENT = run_event(outputs=[*(dataset(name) for name in DATASETS), dataset("/lake/out/bands", "file")])
CANDIDATES = """\
error: several datasets match 'orders'; specify namespace and name:
   1  db old.orders
   2  db sales.orders
"""


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("revenue", "db sales.revenue"),
        ("REVENUE", "db sales.revenue"),
        ("staff", "db hr.Staff"),
        ("sales.orders", "db sales.orders"),
        ("bands", "file /lake/out/bands"),
    ],
)
def test_unique_last_part_of_a_name_is_enough(run_cli: RunCli, name: str, found: str) -> None:
    for command in ("lineage", "show", "impact", "dataset versions"):
        result = run_cli(f"{command} {name}", EVENT)
        assert (result.exit_code, result.stderr) == (0, "")
    assert run_cli(f"lineage {name}", EVENT).stdout.splitlines()[0] == found


def test_candidates_for_an_ambiguous_name_are_listed(run_cli: RunCli) -> None:
    result = run_cli("lineage orders", EVENT)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", CANDIDATES)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("lineage revenu", "no dataset 'revenu' in the store; similar: db sales.revenue"),
        ("lineage revnue", "no dataset 'revnue' in the store; similar: db sales.revenue"),
        ("lineage db revenu", "no dataset 'revenu' in namespace 'db' in the store; similar: db sales.revenue"),
        ("lineage file revenu", "no dataset 'revenu' in namespace 'file' in the store"),
        (
            "lineage db/sales.order",
            "no dataset 'db/sales.order' in the store; similar: db sales.orders",
        ),
        ("lineage /lake/out/band", "no dataset '/lake/out/band' in the store; similar: file /lake/out/bands"),
        ("show db revenu", "no dataset or job 'revenu' in namespace 'db' in the store; similar: db sales.revenue"),
        ("lineage xyz", "no dataset 'xyz' in the store"),
        ("lineage jOb", "no dataset 'jOb' in the store"),
        ("show job", "no dataset 'job' in the store; jobs with this name: jobs job"),
        ("impact jobs job", "no dataset 'job' in namespace 'jobs' in the store; jobs with this name: jobs job"),
        ("lineage ?", "no dataset '?' in the store"),
    ],
)
def test_similar_names_are_listed(run_cli: RunCli, args: str, message: str) -> None:
    result = run_cli(args, EVENT, prepare=lambda db: SearchIndexer(db, "default").index_all())
    assert (result.exit_code, result.stderr) == (1, f"error: {message}\n")


def test_relative_path_is_resolved(run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a" / "orders"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder.parent)
    event = run_event(outputs=[dataset(str(folder), "file"), dataset("old.orders")])
    for path in ("orders", "./orders", "../a/orders"):
        assert run_cli(f"lineage {path}", event).stdout.splitlines()[0] == f"file {folder}"


@pytest.mark.system
def test_terminal_user_selects_a_candidate(tmp_path: Path) -> None:
    env = {**os.environ, "LINEAGE_BRIDGE__STORE__URL": create_store(tmp_path, EVENT)}
    controller, terminal = os.openpty()
    os.write(controller, b"2\n")
    completed = subprocess.run(
        [sys.executable, "-m", "bridge", "lineage", "orders"],
        stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, env=env, check=True, timeout=60,
    )  # fmt: skip
    os.close(terminal)
    os.close(controller)
    assert completed.stdout.splitlines()[0] == b"db sales.orders"
