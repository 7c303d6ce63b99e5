"""Messages of failed jobs."""

import logging
from pathlib import Path

import pytest

from bridge.process.job_failure import job_failure
from connectors.spark.session import log_query_errors

PYTHON_ERROR = """
An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "/jobs/rates.py", line 4, in bad
    raise ValueError("rate of 0 is not allowed")
ValueError: rate of 0 is not allowed

"""


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PYTHON_ERROR, "ValueError: rate of 0 is not allowed"),
        ("org.apache.spark.SparkException: no rates\n\tat x.y", "SparkException: no rates"),
        ("java.util.concurrent.ExecutionException: could not run:\n  disk full", "ExecutionException: could not run: disk full"),
        ("", "RuntimeError"),
    ],
    ids=["Python function", "Java exception", "message on the next line", "no message"],
)  # fmt: skip
def test_message_is_meaningful_line(error: str, message: str) -> None:
    assert str(job_failure(RuntimeError(error), "steps.made")) == f"steps.made: {message}"


def test_python_exception_is_shown_with_its_type() -> None:
    assert str(job_failure(KeyError("order"), "steps.made")) == "steps.made: KeyError: 'order'"


def test_stack_traces_of_queries_go_to_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyspark.logger")
    log = tmp_path / "work" / "errors.log"
    with log_query_errors(log):
        logging.getLogger("SQLQueryContextLogger").error("[UNRESOLVED_ROUTINE] Cannot resolve routine foo")
    assert "UNRESOLVED_ROUTINE" in log.read_text(encoding="utf-8")
    assert capsys.readouterr().err == ""


def test_no_error_creates_no_log_file(tmp_path: Path) -> None:
    with log_query_errors(tmp_path / "errors.log"):
        pass
    assert not list(tmp_path.iterdir())
