"""`governance` commands against a stand-in of OpenMetadata."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bridge.cli.main import app as command
from tests.cli.test_sync import COPY, Shell
from tests.governance.asset_harness import asset, asset_with_governance, write_asset
from tests.standins.openmetadata import OpenMetadata
from tests.sync.other_writers import Person

STORE_URL = "LINEAGE_BRIDGE__STORE__URL"
PLAN = """\
db t  ({assets}/t.yaml)
  ~ store         tags: a
  ~ openmetadata  tags: LineageBridge.a
nowhere *
  ? pending: no dataset matches this pattern yet
plan: 1 of 1 dataset to change, 1 asset pending
"""


@pytest.fixture
def shell(tmp_path: Path, restore_logging: None) -> Iterator[Shell]:
    with OpenMetadata() as standin:
        synced = Shell(tmp_path, standin, COPY)
        synced("sync --once")
        yield synced


@pytest.fixture
def assets(tmp_path: Path) -> Path:
    folder = tmp_path / "assets"
    folder.mkdir()
    write_asset(folder, asset_with_governance("t", tags=["a"]))
    return folder


def pushed_tags(shell: Shell) -> list[str]:
    table = Person(shell.standin).request("GET", "tables/name/warehouse.d.s.t?fields=tags")
    return [tag["tagFQN"] for tag in table["tags"]]


def test_plan_prints_changes_and_pending_assets(shell: Shell, assets: Path) -> None:
    (assets / "waits.yaml").write_text("asset: {name: '*', namespace: nowhere}", encoding="utf-8")
    result = shell(f"governance plan {assets}")
    assert (result.exit_code, result.stdout) == (0, PLAN.format(assets=assets))


def test_diff_is_empty_after_push(shell: Shell, assets: Path) -> None:
    assert shell(f"governance diff {assets}").exit_code == 5
    result = shell(f"governance push {assets}")
    assert (result.exit_code, result.stdout) == (
        0, "pushed      db t\ndatasets: 1 pushed; 1 changed in the store, 0 assets pending\n"
    )  # fmt: skip
    assert shell(f"governance diff {assets}").exit_code == 0
    assert pushed_tags(shell) == ["LineageBridge.a"]


@pytest.mark.parametrize("broken", ["asset: [", None], ids=["invalid file", "missing folder"])
def test_prune_is_ignored_while_files_are_invalid(shell: Shell, assets: Path, broken: str | None) -> None:
    shell(f"governance push {assets}")
    if broken:
        (assets / "t.yaml").write_text(broken, encoding="utf-8")
    path = assets if broken else assets / "nowhere"
    assert "--prune removes its metadata" in shell(f"governance plan --prune {path}").stdout
    result = shell(f"governance push --prune {path}")
    assert result.exit_code == 1
    assert "--prune is ignored until all files are valid" in result.stderr
    assert pushed_tags(shell) == ["LineageBridge.a"]
    (assets / "t.yaml").unlink()
    assert shell(f"governance push --prune {assets}").exit_code == 0
    assert pushed_tags(shell) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"SERVER__HOST": "http://127.0.0.1:1"}, "does not respond"), ({"AUTH__JWT_TOKEN": "wrong"}, "Invalid token")],
)
def test_push_reports_pending_datasets_with_reason(
    shell: Shell, assets: Path, settings: dict[str, str], message: str
) -> None:
    result = shell(f"governance push {assets}", **settings)
    assert (result.exit_code, result.stdout.startswith("pending     db t: ")) == (1, True)
    assert message in result.stdout
    assert shell(f"governance push {assets}").stdout.startswith("datasets: 1 pushed;")
    assert pushed_tags(shell) == ["LineageBridge.a"]


def test_pull_writes_remote_changes_and_reports_unsupported_values(shell: Shell, assets: Path) -> None:
    write_asset(assets, asset("t", description="old", governance={"retention_days": 90}))
    shell(f"governance push {assets}")
    Person(shell.standin).patch("table", "warehouse.d.s.t", {"/description": "new", "/retentionPeriod": "P1M"})
    result = shell(f"governance pull --dry-run {assets}")
    assert (result.exit_code, "-  description: old\n+  description: new\n" in result.stdout) == (1, True)
    assert result.stdout.endswith("1 file would be changed\n")
    assert "a retention of P1M is not a whole number of days" in result.stderr
    assert shell(f"governance pull {assets}").stdout.endswith("1 file changed\n")
    assert "description: new" in (assets / "t.yaml").read_text(encoding="utf-8")
    diff = json.loads(shell(f"governance diff {assets} --output json").stdout)
    assert diff["datasets"][0]["store"] == {"description": "new"}
    assert diff["datasets"][0]["openmetadata"] == {}


def test_validate_and_push_report_unknown_names(shell: Shell, assets: Path) -> None:
    (assets / "bad.yaml").write_text("asset: {name: a, namespace: db, schema: [{name: k, type: strng}]}", "utf-8")
    (assets / "typo.yaml").write_text("asset: {name: t, namespace: bd, sla: {freshness: 1d}}", "utf-8")
    error = f"{assets}/bad.yaml:1: asset.schema.0.type: unknown type strng; did you mean string?"
    warning = f"{assets}/typo.yaml:1: asset.name: no event has reported the dataset bd t; did you mean db t?"
    result = shell(f"governance validate {assets}")
    assert result.exit_code == 1
    assert result.stdout == f"{error}\nwarning: {warning}\n3 files, 2 assets, 1 problem, 1 warning\n"
    result = shell(f"governance push {assets}")
    assert (result.exit_code, result.stderr) == (1, f"problem: {error}\nwarning: {warning}\n")
    with closing(sqlite3.connect(shell.store_file)) as store:
        facets = {name for (name,) in store.execute("SELECT name FROM facet")}
    assert ("lineageBridge_sla" in facets, "lineageBridge_contract" in facets) == (True, False)
    without_store = CliRunner().invoke(
        command, ["governance", "validate", str(assets)], env={STORE_URL: "sqlite:///no.db"}
    )
    assert without_store.stdout.splitlines()[1].startswith(
        "3 files, 2 assets, 1 problem, 0 warnings (there is no store"
    )
    (assets / "bad.yaml").unlink()
    assert shell(f"governance validate {assets}").exit_code == 0
    answer = json.loads(shell(f"governance push {assets} --output json").stdout)
    assert (answer["done"], answer["problems"], answer["warnings"]) == (True, [], [warning])
