"""Errors of connections, targets and local installations."""

from mappers.errors import PermanentError, TransientError


class ConfigError(PermanentError):
    """A setting is missing, unknown or wrong."""


class InvalidData(PermanentError):
    """Data violates an expectation declared for it."""


class MissingDependency(PermanentError):
    """A required program or package is not installed."""


class TargetRejected(PermanentError):
    """The target rejected a request, and would reject it again."""

    def __init__(self, reason: str, status: int) -> None:
        super().__init__(reason)
        self.status = status


class TargetUnavailable(TransientError):
    """The target cannot handle a request now."""

    def __init__(self, reason: str, status: int, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.retry_after = retry_after


class TargetMisconfigured(TransientError):
    """The target rejects the token, or another server responds in its place; someone must correct the settings."""


class Unreachable(TransientError):
    """The service does not respond."""


class NoResponse(Unreachable):
    """A request got no response; the service may have handled it."""
