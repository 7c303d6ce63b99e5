"""Errors and warnings with file and line."""

from typing import Any, Literal, NamedTuple

DiagnosticLevel = Literal["error", "warning"]


class Diagnostic(NamedTuple):
    """An error or a warning, with its position."""

    file: str
    line: int
    level: DiagnosticLevel
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.level}: {self.message}"

    def as_json(self) -> dict[str, Any]:
        """Convert to the public JSON form, with stable keys."""
        return {"file": self.file, "line": self.line, "level": self.level, "said": self.message}
