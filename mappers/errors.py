"""Errors raised by mappers, and the base classes of all errors."""


class LineageBridgeError(Exception):
    """Base class of all errors that this project raises deliberately."""


class PermanentError(LineageBridgeError):
    """An error that a retry cannot resolve."""


class TransientError(LineageBridgeError):
    """An error that a retry may resolve."""


class InvalidInput(PermanentError):
    """An event, legacy body or row is invalid; `path` is the offending field."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.reason = reason
        self.path = path


class InputTooLarge(PermanentError):
    """The input exceeds a limit."""


class RowLimitExceeded(PermanentError):
    """An event maps to more or larger rows than the limit."""


class InvalidSql(PermanentError):
    """SQL text is not a single read-only query, or names columns that do not exist."""
