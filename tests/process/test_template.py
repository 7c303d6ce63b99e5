"""`process init` creates a valid process file."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bridge.cli.main import app
from bridge.process.definition import ProcessDefinition
from bridge.settings.yaml_model import read_model
from connectors.errors import ConfigError

ProcessCli = Callable[..., Result]


@pytest.fixture
def process_cli(tmp_path: Path, restore_logging: None, monkeypatch: pytest.MonkeyPatch) -> ProcessCli:
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(app, ["process", *args], catch_exceptions=False)


@pytest.mark.parametrize(
    ("name", "dataset"),
    [
        ("sales.daily", "daily"), ("p", "p"), ("sales.daily-net", "daily_net"), ("on", "on"), ("null", "null"),
        ("of.1", "1"), ("a.2026-01-31", "2026_01_31"), ("_x.", "_x"), ("a.1e3", "1e3"),
    ],
)  # fmt: skip
def test_created_file_is_valid(process_cli: ProcessCli, tmp_path: Path, name: str, dataset: str) -> None:
    created = process_cli("init", name)
    assert (created.exit_code, created.stderr) == (0, "")
    assert process_cli("validate", f"{name}.yaml").exit_code == 0
    definition = read_model(tmp_path / f"{name}.yaml", ProcessDefinition)
    assert (definition.process.name, definition.outputs[0].dataset) == (name, dataset)
    assert {check.on for check in definition.quality} == {dataset}


def test_file_option(process_cli: ProcessCli, tmp_path: Path) -> None:
    assert process_cli("init", "p", "--file", "q.yml").exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["q.yml"]
    assert "lineage-bridge process run q.yml" in (tmp_path / "q.yml").read_text()


def test_existing_file_is_not_overwritten(process_cli: ProcessCli, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("mine")
    with pytest.raises(ConfigError, match=r"p\.yaml already exists; choose another path with --file"):
        process_cli("init", "p")
    assert (tmp_path / "p.yaml").read_text() == "mine"


@pytest.mark.parametrize(
    "name", ["1", "a b", "a: b", "x\ny: 1", "ä", "{a}", "", "-", "a" * 240 + "\"'", "no/such/folder"]
)
def test_invalid_name_creates_no_file(process_cli: ProcessCli, tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError):
        process_cli("init", "--", name)
    assert not list(tmp_path.iterdir())
