"""Errors of connections, targets and local installations."""

from mappers.errors import PermanentError, TransientError


class ConfigError(PermanentError):
    """A setting is missing, unknown or wrong."""


class InvalidData(PermanentError):
    """Data is not what somebody said that it must be."""


class MissingDependency(PermanentError):
    """A program or package that this needs is not installed."""


class TargetRejected(PermanentError):
    """A target refuses what was sent to it, and would again."""

    def __init__(self, reason: str, status: int) -> None:
        super().__init__(reason)
        self.status = status


class TargetUnavailable(TransientError):
    """A target cannot do now what it is asked for."""

    def __init__(self, reason: str, status: int, wait_seconds: float | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.retry_after = wait_seconds


class TargetMisconfigured(TransientError):
    """A target takes no token of ours, or something else answers in its place: a person must look."""


class Unreachable(TransientError):
    """The service does not answer."""


class NoResponse(Unreachable):
    """The service was asked and did not answer: it may have done what it was asked for."""
