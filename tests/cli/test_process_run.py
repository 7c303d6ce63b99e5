"""Output of `process run` and `process validate`."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from bridge.cli.main import app
from bridge.cli.process_text import run_lines
from bridge.process.runner import RunConclusion, RunResult

PROCESS = """\
process: {name: sales, owner: a@example.com}
steps: [{name: totals, sql: SELECT 1 AS id}]
outputs: [{dataset: sales, from: totals}]
"""


@pytest.mark.parametrize(
    ("conclusion", "line"), [("published", "sales: published  run 0189"), ("unchanged", "sales: unchanged")]
)
def test_only_a_reported_run_is_shown_with_its_id(conclusion: RunConclusion, line: str) -> None:
    result = RunResult("sales", "0189", "key", conclusion, None, [], [])
    assert list(run_lines(result)) == [line]


def test_validate_counts_valid_processes(tmp_path: Path) -> None:
    (tmp_path / "valid.yaml").write_text(PROCESS, encoding="utf-8")
    (tmp_path / "typo.yaml").write_text(PROCESS.replace("SELECT", "SELEC"), encoding="utf-8")
    result = CliRunner().invoke(app, ["process", "validate", *map(str, sorted(tmp_path.iterdir()))])
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "2 files, 1 valid process, 1 problem")
