"""A sync item, its outcome and the results of processing it."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, TypeVar

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


class ItemRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the bridge remembers about an item in a target; each kind of item has its own record type."""


R = TypeVar("R", bound=ItemRecord)
#: A record to store, or a record as stored (JSON).
AnyRecord = ItemRecord | str | None


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
    record: AnyRecord
    claimed_by: bytes | None

    def read_record(self, type_: type[R]) -> R:
        """Return the record; an item without a record has an empty one."""
        if isinstance(self.record, type_):
            return self.record
        return msgspec.json.decode(encode_record(self.record) or "{}", type=type_)

    def complete(self, outcome: Outcome, reason: str | None = None, **overrides: Any) -> "Completed":
        """Complete the item; fingerprint, remote entity and record are kept unless overridden."""
        kept: dict[str, Any] = {
            "fingerprint": self.fingerprint,
            "remote": self.remote,
            "created_by_us": self.created_by_us,
            "record": self.record,
        }
        return Completed(self, outcome, reason, **(kept | overrides))

    def complete_if_unchanged(self, content_fingerprint: bytes) -> "Completed | None":
        """Complete the item if this content was the last to be pushed or rejected; otherwise None."""
        if self.fingerprint != content_fingerprint:
            return None
        if self.outcome in ABANDONED:
            return self.complete(Outcome(self.outcome), self.reason)
        if self.remote is None or self.outcome == Outcome.UNRESOLVED:
            return None
        return self.complete(Outcome.UNCHANGED, self.reason)


def new_item(kind: str, key: bytes) -> SyncItem:
    """Create an item that was never pushed."""
    return SyncItem(kind, key, 1, 0, 0, 0, None, None, None, None, None, False, None, None)


def encode_record(record: AnyRecord, request: Any = None) -> str | None:
    """Encode a record together with the request that the target rejected, if any.

    Returns None if there is nothing to store.
    """
    stored = msgspec.json.encode(record).decode() if isinstance(record, ItemRecord) else record
    if request is not None:
        fields = msgspec.json.decode(stored or "{}", type=dict[str, msgspec.Raw])
        return msgspec.json.encode({**fields, "request": request}).decode()
    return None if stored == "{}" else stored


class Completed(NamedTuple):
    """Result of an item that needs no further work until it changes."""

    item: SyncItem
    outcome: Outcome
    reason: str | None = None
    fingerprint: bytes | None = None
    remote: RemoteReference | None = None
    created_by_us: bool = False
    record: AnyRecord = None


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


class DesiredItem(Protocol):
    """The desired state of an item that has to be pushed."""

    @property
    def item(self) -> SyncItem: ...

    @property
    def fingerprint(self) -> bytes: ...

    @property
    def request(self) -> Any:
        """The request to send, which a dead letter shows."""


def failed(desired: DesiredItem, error: LineageBridgeError) -> Completed | Failure:
    """Build the failure of a push, with the request so that a dead letter can show it."""
    return Failure(desired.item, error, desired.request, desired.fingerprint)


def all_failed(batch: Sequence[DesiredItem], error: LineageBridgeError) -> list[Completed | Failure]:
    return [failed(desired, error) for desired in batch]


def pushed(
    desired: DesiredItem,
    remote: RemoteReference,
    reason: str | None = None,
    record: AnyRecord = None,
    *,
    created_by_us: bool = True,
) -> Completed:
    """Complete an item whose desired state is now in the target."""
    return Completed(desired.item, Outcome.PUSHED, reason, desired.fingerprint, remote, created_by_us, record)
