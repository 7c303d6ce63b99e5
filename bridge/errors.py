"""Errors of the store, of queries and of commands."""

from collections.abc import Mapping, Sequence

from mappers.errors import LineageBridgeError, PermanentError, TransientError


class InvalidParameter(PermanentError):
    """A parameter of a query or command is invalid."""

    def __init__(self, reason: str, parameter: str) -> None:
        super().__init__(f"{parameter}: {reason}")
        self.reason = reason
        self.parameter = parameter


class AmbiguousName(InvalidParameter):
    """Several datasets match a name."""

    def __init__(self, candidates: Sequence[Mapping[str, str]]) -> None:
        names = ", ".join(f"{candidate['namespace']} {candidate['name']}" for candidate in candidates)
        super().__init__(f"several datasets match: {names}; specify namespace and name", "name")
        #: Id, namespace and name of each dataset.
        self.candidates = [dict(candidate) for candidate in candidates]


class NotFound(PermanentError):
    """The store does not contain the requested object."""

    def __init__(self, reason: str, similar: Sequence[str] = ()) -> None:
        super().__init__(f"{reason}; similar: {', '.join(similar)}" if similar else reason)
        self.reason = reason
        #: Names that are similar to the requested name.
        self.similar = list(similar)


class StateConflict(PermanentError):
    """The request conflicts with the current state."""

    def __init__(self, reason: str, conflicts: Sequence[Mapping[str, str | None]] = ()) -> None:
        super().__init__(reason)
        #: The conflicting datasets, each with its current state and the reason.
        self.conflicts = [dict(conflict) for conflict in conflicts]


class ProcessNotReady(PermanentError):
    """A process cannot run yet: an input is missing, invalid or not as expected."""


class JobFailed(PermanentError):
    """A job failed while it was running."""


class UnstorableRow(PermanentError):
    """The database cannot store the values of a row."""


class IncompatibleStore(PermanentError):
    """This version of lineage-bridge cannot use the store."""


class DamagedStore(PermanentError):
    """The file of the store is damaged."""


class Overloaded(TransientError):
    """The queue of pending work is full."""


class TooManyRequests(Overloaded):
    """One sender has too much work pending."""


class StoreFull(TransientError):
    """The disk has no space for another event."""


class StoreBusy(TransientError):
    """Another process holds the store's write lock."""


class StoreLocked(TransientError):
    """A lock was not available within the lock timeout, so another attempt would wait for as long again."""


class StoreLost(TransientError):
    """A file of the open store was deleted, moved, replaced or truncated."""


class QueryTimeout(TransientError):
    """A query took too long."""


class AddressInUse(TransientError):
    """Another process uses the listen address."""


class StoreUnreachable(TransientError):
    """The database server does not respond."""


class StorageFailure(LineageBridgeError):
    """The disk or the store failed, and stored data may be damaged."""
