"""What went wrong in Spark, in one line that a person can use."""

import re
from typing import Any

_MOST = 500
_CAUSES = 20
_CLASS = re.compile(r"^(?:[\w$]+\.)+([\w$]+(?:Exception|Error)): ")


def told(error: BaseException) -> str:
    """Say what happened: of a chain of Java's causes the first, which is what all others come from."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    text = _root(java) if java is not None and hasattr(java, "getCause") else f"{error}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = " ".join(lines[:2]) if lines and lines[0].endswith(":") else lines[0] if lines else type(error).__name__
    said = _CLASS.sub(r"\1: ", said)
    return said if len(said) <= _MOST else f"{said[:_MOST]}…"


def _root(java: Any) -> str:
    for _ in range(_CAUSES):
        cause = java.getCause()
        if cause is None:
            break
        java = cause
    return str(java.toString())
