"""`process init`: a first file that is right as it stands."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bridge.cli.main import app
from bridge.process.definition import ProcessDefinition
from bridge.settings.yaml_model import read_model
from connectors.errors import ConfigError
from tests.conftest import log  # noqa: F401 - taken back after each command

Do = Callable[..., Result]


@pytest.fixture
def do(tmp_path: Path, restore_logging: None, monkeypatch: pytest.MonkeyPatch) -> Do:  # noqa: F811 - the fixture of that name
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, ["process", *words], catch_exceptions=False)


@pytest.mark.parametrize(
    ("name", "dataset"),
    [
        ("sales.daily", "daily"), ("p", "p"), ("sales.daily-net", "daily_net"), ("on", "on"), ("null", "null"),
        ("of.1", "1"), ("a.2026-01-31", "2026_01_31"), ("_x.", "_x"), ("a.1e3", "1e3"),
    ],
)  # fmt: skip
def test_what_is_written_is_taken(do: Do, tmp_path: Path, name: str, dataset: str) -> None:
    made = do("init", name)
    assert (made.exit_code, made.stderr) == (0, "")
    assert do("validate", f"{name}.yaml").exit_code == 0
    definition = read_model(tmp_path / f"{name}.yaml", ProcessDefinition)
    assert (definition.process.name, definition.outputs[0].dataset) == (name, dataset)
    assert {one.on for one in definition.quality} == {dataset}


def test_another_file_is_written_where_it_is_wanted(do: Do, tmp_path: Path) -> None:
    assert do("init", "p", "--file", "q.yml").exit_code == 0
    assert [one.name for one in tmp_path.iterdir()] == ["q.yml"]
    assert "lineage-bridge process run q.yml" in (tmp_path / "q.yml").read_text()


def test_a_file_that_is_there_stays_as_it_is(do: Do, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("mine")
    with pytest.raises(ConfigError, match=r"p\.yaml already exists; choose another path with --file"):
        do("init", "p")
    assert (tmp_path / "p.yaml").read_text() == "mine"


@pytest.mark.parametrize(
    "name", ["1", "a b", "a: b", "x\ny: 1", "ä", "{a}", "", "-", "a" * 240 + "\"'", "no/such/folder"]
)
def test_a_name_that_cannot_be_leaves_no_file(do: Do, tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError):
        do("init", "--", name)
    assert not list(tmp_path.iterdir())
