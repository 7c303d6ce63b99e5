"""Errors of the store, of queries and of commands."""

from collections.abc import Mapping, Sequence

from mappers.errors import LineageBridgeError, PermanentError, TransientError


class InvalidParameter(PermanentError):
    """A parameter of a question is wrong."""

    def __init__(self, reason: str, parameter: str) -> None:
        super().__init__(f"{parameter}: {reason}")
        self.reason = reason
        self.parameter = parameter


class NotFound(PermanentError):
    """Nothing in the store is called so."""


class StateConflict(PermanentError):
    """The request conflicts with the current state."""

    def __init__(self, reason: str, conflicts: Sequence[Mapping[str, str | None]] = ()) -> None:
        super().__init__(reason)
        #: For each dataset that is in the way: what it is called, and what is there.
        self.conflicts = [dict(one) for one in conflicts]


class ProcessNotReady(PermanentError):
    """A process cannot run as things are."""


class JobFailed(PermanentError):
    """A job broke while it was running."""


class UnstorableRow(PermanentError):
    """The store cannot hold these values."""


class IncompatibleStore(PermanentError):
    """The store was made by other code than this."""


class Overloaded(TransientError):
    """More work is waiting than may wait."""


class StoreFull(TransientError):
    """The disk has no space for another event."""


class StoreBusy(TransientError):
    """Another process holds the store's write lock."""


class AddressInUse(TransientError):
    """Another process uses the listen address."""


class StoreUnreachable(TransientError):
    """The database server does not respond."""


class StorageFailure(LineageBridgeError):
    """The disk or the store failed in a way that leaves its content in doubt."""
