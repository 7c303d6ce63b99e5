"""Everything that can go wrong, in one tree. The type decides what happens next.

LineageBridgeError
├── PermanentError          trying again changes nothing: say why and keep the evidence
│   ├── RefusedEvent        the input is not a lineage event; names the field
│   ├── TooLarge            the input is over a limit; names the limit
│   ├── BadSql              a text is not one query, or asks for columns that are not there; names line and column
│   ├── ConfigError         a setting is wrong; names key, file, line and the nearest valid key
│   ├── BadQuestion         what is asked cannot be answered; names the parameter
│   ├── UnknownName         nothing in the store is called so
│   ├── Conflict            what is there forbids what is asked for; names what is there
│   ├── Unready             a process cannot run as things are: an input is missing, or not what it was
│   ├── BadData             data is not what its checks or its manifest say; nothing is published
│   ├── JobFailed           a job of Spark broke; its own words
│   ├── MissingPart         a program or package is not installed; names how to get it
│   ├── RefusedRow          the store cannot hold these values
│   ├── TargetRefused       a target refuses what was sent, and would again; its own words
│   └── StoreMismatch       the store cannot be used by this code; names both versions
├── TransientError          trying again later may work
│   ├── Overloaded          more work is waiting than may wait
│   ├── StoreFull           the disk or the store's size limit is reached
│   ├── StoreBusy           another process holds the store
│   ├── AddressTaken        another process listens there
│   ├── StoreGone           the database server does not answer
│   ├── TargetBusy          a target cannot do it now; says how long it wants to be left alone
│   ├── TargetLocked        a target takes no token of ours, or something else answers in its place
│   └── Unreachable         the service does not answer
│       └── NoAnswer        it was asked, and nobody knows whether it did what it was asked for
└── StorageFailure          nobody knows what reached the disk: stop; the next start recovers
"""

from collections.abc import Mapping, Sequence


class LineageBridgeError(Exception):
    """Any failure this project raises on purpose."""


class PermanentError(LineageBridgeError):
    """Trying the same thing again cannot work."""


class TransientError(LineageBridgeError):
    """The same thing may work later."""


class RefusedEvent(PermanentError):
    """The input is not a lineage event."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.reason = reason
        self.path = path


class TooLarge(PermanentError):
    """The input is over a limit."""


class BadSql(PermanentError):
    """A text is not one query that only reads, or it names columns that are not there."""


class ConfigError(PermanentError):
    """A setting is missing, unknown or wrong."""


class BadQuestion(PermanentError):
    """A parameter of a question is wrong."""

    def __init__(self, reason: str, parameter: str) -> None:
        super().__init__(f"{parameter}: {reason}")
        self.reason = reason
        self.parameter = parameter


class UnknownName(PermanentError):
    """Nothing in the store is called so."""


class Conflict(PermanentError):
    """What is asked for cannot be, because of what is there."""

    def __init__(self, reason: str, conflicts: Sequence[Mapping[str, str | None]] = ()) -> None:
        super().__init__(reason)
        #: For each dataset that is in the way: what it is called, and what is there.
        self.conflicts = [dict(one) for one in conflicts]


class Unready(PermanentError):
    """A process cannot run as things are."""


class BadData(PermanentError):
    """Data is not what somebody said that it must be."""


class JobFailed(PermanentError):
    """A job broke while it was running."""


class MissingPart(PermanentError):
    """A program or package that this needs is not installed."""


class RefusedRow(PermanentError):
    """The store cannot hold these values."""


class StoreMismatch(PermanentError):
    """The store was made by other code than this."""


class TargetRefused(PermanentError):
    """A target refuses what was sent to it, and would again."""

    def __init__(self, reason: str, status: int) -> None:
        super().__init__(reason)
        self.status = status


class Overloaded(TransientError):
    """More work is waiting than may wait."""


class StoreFull(TransientError):
    """There is no room left for another event."""


class StoreBusy(TransientError):
    """Another process holds the store's write lock."""


class AddressTaken(TransientError):
    """Another process listens where this one shall."""


class StoreGone(TransientError):
    """The database server does not answer."""


class TargetBusy(TransientError):
    """A target cannot do now what it is asked for."""

    def __init__(self, reason: str, status: int, wait_seconds: float | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.wait_seconds = wait_seconds


class TargetLocked(TransientError):
    """A target takes no token of ours, or something else answers in its place: a person must look."""


class Unreachable(TransientError):
    """The service does not answer."""


class NoAnswer(Unreachable):
    """The service was asked and did not answer: it may have done what it was asked for."""


class StorageFailure(LineageBridgeError):
    """The disk or the store failed in a way that leaves its content in doubt."""
