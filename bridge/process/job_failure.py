"""Summarizes errors of Spark and of Python steps in one line."""

import re
from typing import Any

from bridge.errors import JobFailed

_MAX_CHARACTERS = 500
_MAX_CAUSES = 20
_TRACEBACK = "Traceback (most recent call last):"
_EXCEPTION_CLASS = re.compile(r"^(?:[\w$]+\.)+([\w$]+(?:Exception|Error)): ")


def job_failure(error: Exception, action: str | None) -> JobFailed:
    """Build the error of a job that failed with any exception of Spark or of the Python code of a step."""
    return JobFailed(f"{action}: {_summarize(error)}" if action else _summarize(error))


def _summarize(error: BaseException) -> str:
    """Summarize an error in one line. For a Java exception, summarize its root cause."""
    java_exception = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    is_java = hasattr(java_exception, "getCause")
    message = _root_cause_message(java_exception) if is_java else str(error)
    lines = [line.strip() for line in message.splitlines() if line.strip()] or [type(error).__name__]
    if any(_TRACEBACK in line for line in lines):  # the error of a Python function is at the end of its traceback
        lines = [lines[-1]]
    elif message and not is_java and not _EXCEPTION_CLASS.match(lines[0]):  # a KeyError contains only the key
        lines[0] = f"{type(error).__name__}: {lines[0]}"
    summary, *other_lines = lines
    if summary.endswith(":") and other_lines:  # the message itself is on the next line
        summary = f"{summary} {other_lines[0]}"
    summary = _EXCEPTION_CLASS.sub(r"\1: ", summary)
    return summary if len(summary) <= _MAX_CHARACTERS else f"{summary[:_MAX_CHARACTERS]}…"


def _root_cause_message(java_exception: Any) -> str:
    """Follow the causes of a Java exception, and return the message of the last one."""
    root_cause = java_exception
    for _ in range(_MAX_CAUSES):
        cause = root_cause.getCause()
        if cause is None:
            break
        root_cause = cause
    return str(root_cause.toString())
