"""Output of `process run`."""

import pytest

from bridge.cli.process_text import run_lines
from bridge.process.runner import RunConclusion, RunResult


@pytest.mark.parametrize(
    ("conclusion", "line"), [("published", "sales: published  run 0189"), ("unchanged", "sales: unchanged")]
)
def test_only_a_reported_run_is_shown_with_its_id(conclusion: RunConclusion, line: str) -> None:
    result = RunResult("sales", "0189", "key", conclusion, None, [], [])
    assert list(run_lines(result)) == [line]
