"""Stores, spools and agent state that commit 464eb09 wrote keep working."""

import gzip
import json
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bridge.cli.main import app
from tests.system.service import until
from tests.system.test_agent import AgentRunner, StubService, runner, service

pytestmark = [pytest.mark.system, pytest.mark.timeout(120)]

FOLDER = Path(__file__).parents[1] / "data" / "upgrade"
__all__ = ["runner", "service"]


@pytest.fixture
def run_on_old_store(tmp_path: Path, restore_logging: None) -> Callable[..., str]:
    """Run a command on the store of 464eb09, and return its output."""
    path = tmp_path / "store.db"
    path.write_bytes(gzip.decompress((FOLDER / "store-464eb09.db.gz").read_bytes()))
    environment = {
        "LINEAGE_BRIDGE__STORE__URL": f"sqlite:///{path}",
        "LINEAGE_BRIDGE__OPENMETADATA__ENABLED": "true",
        "LINEAGE_BRIDGE__OPENMETADATA__SERVER__HOST": "http://127.0.0.1:9",
        "LINEAGE_BRIDGE__OPENMETADATA__AUTH__JWT_TOKEN": "token",
    }

    def run(*arguments: str) -> str:
        result = CliRunner(env=environment).invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


def test_store_keeps_its_canonical_state(run_on_old_store: Callable[..., str]) -> None:
    expected = gzip.decompress((FOLDER / "canonical-464eb09.ndjson.gz").read_bytes()).decode()
    assert run_on_old_store("export", "--canonical") == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("dataset history file:/data/warehouse/sales.orders", {"how": "publish", "by": "alice", "why": "first"}),
        ("dataset pins", {"name": "month-end", "until": "2036-11-16T23:57:14.534997Z"}),
        ("dead list", {"outcome": "unresolved", "kind": "governance"}),
    ],
)
def test_store_keeps_decisions_and_sync_items(
    run_on_old_store: Callable[..., str], command: str, expected: dict[str, Any]
) -> None:
    [item] = json.loads(run_on_old_store(*command.split(), "--output", "json"))["items"]
    assert item.items() >= expected.items()


def test_store_keeps_sync_outcomes(run_on_old_store: Callable[..., str]) -> None:
    status = json.loads(run_on_old_store("sync", "status", "--output", "json"))
    outcomes = Counter()
    for counts in status["outcomes"].values():
        outcomes.update(counts)
    assert (status["marks"], outcomes["pushed"], outcomes["unresolved"]) == (25, 32, 1), (
        "18 marks of 464eb09, and 7 pushed profiles of actions, which the migration checks again"
    )


def test_agent_delivers_an_old_spool_and_continues_its_attempts(runner: AgentRunner, service: StubService) -> None:
    runner.spool.mkdir(parents=True, mode=0o700)
    with tarfile.open(FOLDER / "spool-464eb09.tar.gz") as archive:
        archive.extractall(runner.spool, filter=_without_times)  # noqa: S202 - our own archive
    runner.url = service.url
    runner.run("true", AUTO_JOB_NAME="LOAD", AUTORUN="12")
    until(
        lambda: runner.call("flush")[0] == 0, "the delivery of the spool"
    )  # the sender of the run may hold the lock
    old, new = service.received[:5], service.received[5:]
    assert Counter(body["run"]["runId"] for _, body in old) == {"4711/1": 3, "12/1": 2}
    assert [(body["run"]["runId"], body["eventType"]) for _, body in new] == [("12/2", "START"), ("12/2", "COMPLETE")]


def _without_times(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo:
    """Extract with the current time: attempt counters expire."""
    return member.replace(mtime=None) if (member := tarfile.data_filter(member, path)) else member
