"""`sync`, `dead` and `verify` against a stand-in of OpenMetadata."""

import json
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bridge.bootstrap import targets
from bridge.bootstrap.targets import service_layout
from bridge.cli.main import app as command
from bridge.store.sqlite import SqliteDatabase
from tests.commands import create_store
from tests.factories import Json, columns, dataset, facet, field, run_event, schema, transformation
from tests.standins.openmetadata import OpenMetadata, error, failing_rows
from tests.stores import Store

COPY = run_event(
    inputs=[dataset("a", schema=schema("k"))],
    outputs=[dataset("t", schema=schema("k"), columnLineage=columns({"k": [field("a", "k", transformation())]}))],
)
PLAN = """\
+ create services/databaseServices warehouse
+ create databases warehouse.d
+ create databaseSchemas warehouse.d.s
+ create tables warehouse.d.s.a
+ create tables warehouse.d.s.t
+ create services/pipelineServices lineage_bridge
+ create pipelines lineage_bridge.jobs/job
+ create edge warehouse.d.s.a -> warehouse.d.s.t
+ create status lineage_bridge.jobs/job: 1 run
plan: create 9
"""
PUSHED = """\
items: pushed 6, unchanged 2
calls: bulk 2, get 10, get edge 2, put 4, put edge 1, put last run 1, put statuses 1, version 1
OpenMetadata is in sync: not compared with the server yet; `sync --compare` compares it now
"""
STATUS = """\
openmetadata responding
  in sync
  no worker is active: is the service running?
  no comparison has completed yet; completeness is unknown
  latency of recent changes: 0.0 s (p50), 0.0 s (p99)
  requests of the last 24 hours: 100 % succeeded; bulk 2, get 10, get edge 2, put 4, put edge 1, put last run 1, put statuses 1, version 1
  dataset: pushed 2
  job: pushed 1
  last_run: pushed 1
  lineage: pushed 1, unchanged 2
  run: pushed 1
"""
EXPLAINED = """\
db t
  dataset: pushed at 2026
    entity: table warehouse.d.s.t, created by lineage-bridge
  last_run: pushed at 2026
    entity: pipelineObservability warehouse.d.s.t, created by lineage-bridge
  lineage: pushed at 2026
  <- db a by jobs job, 1 column
"""


class Shell:
    """Runs commands on one store, with a stand-in of OpenMetadata as target."""

    def __init__(self, folder: Path, standin: OpenMetadata, *events: Json) -> None:
        self.standin = standin
        self.store_file = folder / "store.db"
        prefix = "LINEAGE_BRIDGE__OPENMETADATA__"
        self.env = {
            "LINEAGE_BRIDGE__STORE__URL": create_store(folder, *events),
            f"{prefix}ENABLED": "true",
            f"{prefix}SERVER__HOST": standin.url,
            f"{prefix}AUTH__JWT_TOKEN": standin.bot_token,
            f"{prefix}MAPPINGS": json.dumps(
                [{"namespace": "db", "service": "warehouse", "database": "d", "schema": "s"}]
            ),
            f"{prefix}RETRY_CONFIG__BACKOFF_SECONDS": "0.01",
        }

    def __call__(self, args: str, **settings: str) -> Result:
        env = self.env | {f"LINEAGE_BRIDGE__OPENMETADATA__{name}": value for name, value in settings.items()}
        return CliRunner(env=env).invoke(command, args.split())

    def make_comparison_due(self) -> None:
        with closing(sqlite3.connect(self.store_file)) as store:
            store.execute("UPDATE sync_target SET enabled_at = 1")
            store.commit()

    def apply(self, *events: Json) -> None:
        with closing(SqliteDatabase.for_writing(self.store_file)) as db:
            Store(db=db).apply_each(*events)


@pytest.fixture
def shell(tmp_path: Path, restore_logging: None) -> Iterator[Shell]:
    with OpenMetadata() as standin:
        yield Shell(tmp_path, standin, COPY)


def truncate_times(text: str) -> str:
    """Truncate times to their year."""
    return "\n".join(line.partition(" at 2026")[0] + " at 2026" * (" at 2026" in line) for line in text.split("\n"))


def test_dry_run_writes_nothing(shell: Shell) -> None:
    result = shell("sync --dry-run")
    assert (result.exit_code, result.stdout) == (0, PLAN)
    assert {request.method for request in shell.standin.requests} == {"GET"}
    assert shell("sync status").stdout.startswith("openmetadata: never enabled: ")


def test_once_pushes_pending_items(shell: Shell) -> None:
    result = shell("sync --once")
    assert (result.exit_code, result.stdout) == (0, PUSHED)
    assert re.sub(r"\d+\.\d s", "0.0 s", shell("sync status").stdout) == STATUS
    assert truncate_times(shell("sync explain db t").stdout) == EXPLAINED
    assert shell("sync --dry-run").stdout == "plan: none\n"


def test_status_shows_completeness_of_comparison(shell: Shell) -> None:
    shell("sync --once")
    shell.standin.store.edges.clear()
    shell.make_comparison_due()
    assert shell("sync --once", SYNC__SYNC_FREQUENCY="1s").exit_code == 0
    text = shell("sync status").stdout
    assert "    dataset: 2 of 2, 100 %\n    job: 1 of 1, 100 %\n    lineage completeness: 0 of 1, 0 %\n" in text
    status = json.loads(shell("sync status --output json").stdout)
    assert (status["lineage_completeness"], status["quality_published"]) == (0.0, None)
    assert status["comparison"]["kinds"]["lineage"] == {
        "wanted": 1, "lacking": 0, "looked_at": 1, "differing": 1, "found": 0, "percent": 0.0
    }  # fmt: skip
    assert status["comparison"]["ended_at"] >= status["enabled_at"]


def test_status_counts_failed_calls(shell: Shell) -> None:
    shell.standin.faults.next(error(500), path="/tables/bulk")
    shell("sync --once")
    status = json.loads(shell("sync status --output json").stdout)
    assert status["calls_failed"] == {"bulk": 1}
    calls = sum(status["calls"].values())
    assert status["success_percent"] == (calls - 1) * 10_000 // calls / 100
    assert "failed: bulk 1\n" in shell("sync status").stdout


def test_second_push_sends_no_requests(shell: Shell) -> None:
    shell("sync --once")
    output = json.loads(shell("sync --once --output json").stdout)
    assert (output["converged"], output["calls"], output["pushed"]) == (True, {}, {})


def test_dead_letters_are_listed_shown_and_retried(shell: Shell) -> None:
    shell.standin.faults.next(failing_rows("t", message="Too odd"), path="/tables/bulk")
    result = shell("sync --once")
    assert (result.exit_code, result.stderr.splitlines()) == (
        1,
        ["1 dead or unresolved: see `lineage-bridge dead list`"],
    )
    (line,) = shell("dead list").stdout.splitlines()
    id_, outcome, *_ = line.split()
    assert (outcome, "Too odd" in line) == ("dead", True)
    assert '"name": "t"' in shell(f"dead show {id_}").stdout
    assert shell("dead retry").stdout.startswith("1 item queued ")
    assert shell("sync --once").exit_code == 0
    assert shell("dead list").stdout == ""


def test_dropped_item_is_retried_after_change_only(shell: Shell) -> None:
    shell.standin.faults.next(failing_rows("t"), path="/tables/bulk")
    shell("sync --once")
    (id_,) = (line.split()[0] for line in shell("dead list").stdout.splitlines())
    assert shell(f"dead drop {id_}").exit_code == 0
    assert (shell("sync --once").exit_code, shell("dead list").stdout) == (0, "")
    shell.apply(run_event(second=9, run=2, outputs=[dataset("t", schema=schema("k", "v"))]))
    shell("sync --once")
    assert ("table", "warehouse.d.s.t") in shell.standin.state()["entities"]


def test_unresolved_item_is_listed_and_retried(shell: Shell) -> None:
    result = shell("sync --once", CREATE="nothing")
    assert result.exit_code == 1
    listed = shell("dead list").stdout
    assert "unresolved  db t  warehouse.d.s.t is not in OpenMetadata" in listed
    assert shell("sync retry db t").stdout.startswith("3 items queued ")
    shell("sync --once")
    assert ("table", "warehouse.d.s.t") in shell.standin.state()["entities"]


@pytest.mark.parametrize(
    ("settings", "code", "message"),
    [
        ({"ENABLED": "false"}, 2, "error: openmetadata.enabled is false"),
        ({"SERVER__HOST": "http://127.0.0.1:1"}, 3, "error: http://127.0.0.1:1 does not respond"),
        ({"AUTH__JWT_TOKEN": "not-a-token"}, 3, "Invalid token"),
    ],
)
def test_push_errors_have_exit_codes(shell: Shell, settings: dict[str, str], code: int, message: str) -> None:
    env = shell.env | {f"LINEAGE_BRIDGE__OPENMETADATA__{name}": value for name, value in settings.items()}
    result = subprocess.run(
        [sys.executable, "-m", "bridge", "sync", "--once"], env=env, capture_output=True, check=False
    )
    assert (result.returncode, message in result.stderr.decode()) == (code, True)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("sync explain db nothing", "no dataset 'nothing' in namespace 'db'"),
        ("sync explain db --job", "a job requires NAMESPACE and NAME"),
        ("dead show nothing", "no item with an id that starts with nothing"),
        ("sync --output json", "specify --once, --compare or --dry-run"),
    ],
)
def test_errors(shell: Shell, args: str, message: str) -> None:
    result = shell(args)
    assert (result.exit_code != 0, message in result.stderr) == (True, True)


def test_compare_repairs_differences_at_once(shell: Shell) -> None:
    shell("sync --once")
    edges = dict(shell.standin.store.edges)
    shell.standin.store.edges.clear()
    assert shell("sync --once").exit_code == 0
    assert shell.standin.state()["edges"] == {}
    result = shell("sync --compare")
    assert result.exit_code == 0
    assert "OpenMetadata is in sync: last compared with the server at 20" in result.stdout
    assert shell.standin.store.edges.keys() == edges.keys()


def test_comparison_with_a_server_that_is_down_does_not_claim_to_be_in_sync(shell: Shell) -> None:
    shell("sync --once")
    result = shell("sync --compare", SERVER__HOST="http://127.0.0.1:9")
    assert (result.exit_code, "in sync" in result.stdout) == (3, False)


def test_verify_reports_differences_without_repair(shell: Shell) -> None:
    assert shell("verify openmetadata").stderr.startswith("never synced: ")
    shell("sync --once")
    result = shell("verify openmetadata")
    assert (result.exit_code, result.stdout) == (
        0,
        "5 compared, 0 differences; requests: get 3, get edge 1, get statuses 1, version 1\n",
    )
    shell.standin.store.edges.clear()
    (table,) = (entity for entity in shell.standin.store.by_id.values() if entity.fqn == "warehouse.d.s.t")
    table.data["columns"] = []
    result = shell("verify openmetadata")
    assert (result.exit_code, result.stdout.splitlines()) == (
        1,
        [
            "dataset  warehouse.d.s.t  differs: columns",
            "lineage  warehouse.d.s.a -> warehouse.d.s.t  was changed",
            "5 compared, 2 differences; requests: get 3, get edge 1, get statuses 1, version 1",
        ],
    )
    assert shell.standin.state()["edges"] == {}
    report = json.loads(shell("verify openmetadata --output json").stdout)
    assert (report["looked_at"], len(report["differences"]), report["left"]) == (5, 2, 0)


def test_explain_job(shell: Shell) -> None:
    shell("sync --once")
    assert (
        "entity: pipeline lineage_bridge.jobs/job, created by lineage-bridge"
        in shell("sync explain jobs job --job").stdout
    )


def test_deletions_above_limit_need_permission(shell: Shell) -> None:
    shell("sync --once")
    dropped = dataset("t", lifecycleStateChange=facet(lifecycleStateChange="DROP"))
    shell.apply(run_event(second=9, run=2, job="drop", outputs=[dropped]))
    result = shell("sync --once --output json", MOST_DELETIONS="0")
    assert (result.exit_code, json.loads(result.stdout)["pending"]) == (1, 1)
    assert "openmetadata.most_deletions is 0" in shell("dead list --outcome pending").stdout
    result = shell("sync --once --allow-delete 1", MOST_DELETIONS="0")
    assert (result.exit_code, result.stderr) == (0, "")
    assert shell.standin.state()["entities"]["table", "warehouse.d.s.t"]["deleted"]


FILE_RUN = run_event(second=5, run=2, job="save", outputs=[dataset("/data/out/t", "file", schema=schema("k"))])
FLAT, NESTED = "lineage_bridge.file.default./data/out/t", "lineage_bridge.file./data/out.t"


def test_relocate_moves_tables_of_the_flat_layout(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.apply(FILE_RUN)
    with monkeypatch.context() as patch:
        patch.setattr(
            targets, "service_layout", lambda settings: service_layout(settings)._replace(folders_as_schemas=False)
        )
        shell("sync --once")
    assert shell("sync relocate --dry-run").stdout == f"move {FLAT} -> {NESTED}\n1 table to move\n"
    moves = json.loads(shell("sync relocate --dry-run --output json").stdout)
    assert moves == {"moves": [{"from": FLAT, "to": NESTED}]}
    result = shell("sync relocate")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "moved 1 of 1 table")
    assert shell("sync relocate").stdout == "0 tables to move\n"
    entities = shell.standin.state()["entities"]
    assert (entities["table", FLAT]["deleted"], entities["table", NESTED]["deleted"]) == (True, False)


def test_failed_comparison_does_not_count(shell: Shell) -> None:
    shell("sync --compare")
    compared = shell("sync --once").stdout.splitlines()[-1]
    assert "last compared with the server at" in compared
    shell.apply(FILE_RUN)
    shell.standin.faults.plan = lambda *_: error(503)
    assert shell("sync --compare").exit_code == 3
    shell.standin.faults.clear()
    assert shell("sync --once").stdout.splitlines()[-1] == compared


def test_once_does_not_wait_for_an_interval(shell: Shell) -> None:
    """A daemon has just pushed the last run of a table; `sync --once` does not wait until it may push it again."""
    shell("sync --once")
    with closing(sqlite3.connect(shell.store_file)) as store:
        store.execute("UPDATE sync_item SET marked = marked + 1, due_at = due_at + 55000000 WHERE kind = 'last_run'")
        store.commit()
    start = time.monotonic()
    assert shell("sync --once").exit_code == 0
    assert time.monotonic() - start < 20
