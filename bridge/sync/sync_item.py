"""A sync item, its outcome and the results of processing it."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from mappers.canonical.identity import digest
from mappers.errors import LineageBridgeError

#: Kind of items that request a deletion; all other kinds name objects of the store.
DELETION = "removal"


class Outcome(StrEnum):
    """Result of the last attempt to sync an item."""

    PUSHED = "pushed"
    UNCHANGED = "unchanged"
    #: No complete run has read or written it yet.
    WAITING = "waiting"
    #: It has no location in the target, or several; an operator must choose.
    UNRESOLVED = "unresolved"
    #: The target rejected it permanently.
    DEAD = "dead"
    #: Dropped by an operator; retried only after it changes.
    DROPPED = "dropped"
    #: Not synced, because it is shown as another item or has nothing to push.
    UNWANTED = "unwanted"
    #: Excluded by the settings.
    OFF = "off"


#: An operator has to act.
NEEDS_ATTENTION = (Outcome.UNRESOLVED, Outcome.DEAD)
#: Retry interval of unresolved items, in microseconds.
UNRESOLVED_RETRY_US = 600 * 1_000_000
#: Not expected in the target.
EXCLUDED = (Outcome.UNWANTED, Outcome.OFF)
#: Retried only after a change.
ABANDONED = (Outcome.DEAD, Outcome.DROPPED)


class RemoteReference(NamedTuple):
    """An entity of the target."""

    type: str
    id: str
    name: str


class SyncItem(NamedTuple):
    """A claimed item: the change to push, and the record of the last push."""

    kind: str
    key: bytes
    generation: int
    pending_since: int
    #: Consecutive failures, and those that the item itself may have caused.
    attempts: int
    counted_failures: int
    outcome: str | None
    reason: str | None
    completed_at: int | None
    fingerprint: bytes | None
    remote: RemoteReference | None
    #: Whether this bridge created the entity.
    created_by_us: bool
    record: dict[str, Any]
    claimed_by: bytes | None

    def complete(self, outcome: Outcome, reason: str | None = None, **overrides: Any) -> "Completed":
        """Complete the item; fingerprint, remote entity and record are kept unless overridden."""
        unchanged: dict[str, Any] = {
            "remote": self.remote,
            "created_by_us": self.created_by_us,
            "record": self.record,
        }
        return Completed(self, outcome, reason, **({"fingerprint": self.fingerprint} | unchanged | overrides))


def new_item(kind: str, key: bytes) -> SyncItem:
    """Create an item that was never pushed."""
    return SyncItem(kind, key, 1, 0, 0, 0, None, None, None, None, None, False, {}, None)


class Completed(NamedTuple):
    """Result of an item that needs no further work until it changes."""

    item: SyncItem
    outcome: Outcome
    reason: str | None = None
    fingerprint: bytes | None = None
    remote: RemoteReference | None = None
    created_by_us: bool = False
    record: Mapping[str, Any] = MappingProxyType({})


class Postponed(NamedTuple):
    """Result of an item to retry; `due_at` is in microseconds."""

    item: SyncItem
    reason: str
    due_at: int
    #: Whether the item itself may be the cause.
    counts_as_failure: bool = False


class Released(NamedTuple):
    """Result of an item whose claim was released; the item stays due."""

    item: SyncItem


ItemResult = Completed | Postponed | Released


class Failure(NamedTuple):
    """An item that could not be pushed, with the server's message and the request."""

    item: SyncItem
    error: LineageBridgeError
    request: Any = None
    #: Fingerprint of the rejected content, which is not retried until it changes.
    fingerprint: bytes | None = None


def fingerprint(content: Any) -> bytes:
    return digest(msgspec.json.encode(content, order="deterministic"))


def is_unchanged(item: SyncItem, content_fingerprint: bytes) -> bool:
    """Whether the content equals the last pushed or rejected content."""
    return item.fingerprint == content_fingerprint and bool(item.remote or item.outcome in ABANDONED)


def complete_unchanged(item: SyncItem) -> Completed:
    return item.complete(Outcome.UNCHANGED if item.remote else Outcome(item.outcome or ""), item.reason)
