"""One thing that a target shall have: a dataset, a job, or the lineage into one of them."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from mappers.canonical.identity import digest
from mappers.errors import LineageBridgeError

#: The kind of items that are to be taken back; all others are of the store's own kinds.
REMOVAL = "removal"


class Outcome(StrEnum):
    """What became of an item when it was last looked at."""

    PUSHED = "pushed"
    UNCHANGED = "unchanged"
    #: No run that touched it is complete.
    WAITING = "waiting"
    #: It has no place in the target, or several: a person must say which.
    UNRESOLVED = "unresolved"
    #: The target refuses it, and would again.
    DEAD = "dead"
    #: A person gave it up; it is tried again when it changes.
    DROPPED = "dropped"
    #: The target shall not have it: it is shown under another, or nothing is to be said of it.
    UNWANTED = "unwanted"
    #: The settings leave it out.
    OFF = "off"


#: What a person must look at.
TROUBLED = (Outcome.UNRESOLVED, Outcome.DEAD)
#: How long it is held that a thing has no place, in microseconds; then it is looked for again.
UNRESOLVED_FOR = 600 * 1_000_000
#: What the target shall not have.
NOT_WANTED = (Outcome.UNWANTED, Outcome.OFF)
#: What is not tried again before it changes.
GIVEN_UP = (Outcome.DEAD, Outcome.DROPPED)


class Remote(NamedTuple):
    """A thing as the target knows it."""

    type: str
    id: str
    name: str


class Item(NamedTuple):
    """A thing as it stands: which change of it is worked on, and what is known from the last time."""

    kind: str
    key: bytes
    marked: int
    since: int
    #: How often it failed in a row, and how often that may have been its own fault.
    attempts: int
    refusals: int
    outcome: str | None
    reason: str | None
    settled_at: int | None
    fingerprint: bytes | None
    remote: Remote | None
    #: Whether it was us who made it in the target.
    ours: bool
    detail: dict[str, Any]
    claim: bytes | None

    def linked(self, outcome: Outcome, reason: str | None = None, **more: Any) -> "Settled":
        """Settle it without a change of what it is in the target."""
        kept: dict[str, Any] = {"remote": self.remote, "ours": self.ours, "detail": self.detail}
        return Settled(self, outcome, reason, **({"fingerprint": self.fingerprint} | kept | more))


def new_item(kind: str, key: bytes) -> Item:
    """Give a thing that was never pushed."""
    return Item(kind, key, 1, 0, 0, 0, None, None, None, None, None, False, {}, None)


class Settled(NamedTuple):
    """An item that is done with until it changes."""

    item: Item
    outcome: Outcome
    reason: str | None = None
    fingerprint: bytes | None = None
    remote: Remote | None = None
    ours: bool = False
    detail: Mapping[str, Any] = MappingProxyType({})


class Postponed(NamedTuple):
    """An item to be tried again, at a time in microseconds."""

    item: Item
    reason: str
    due_at: int
    #: Whether it may be its own fault.
    refused: bool = False


class Released(NamedTuple):
    """An item that is given back as it was: it is due as before."""

    item: Item


Done = Settled | Postponed | Released


class Failed(NamedTuple):
    """An item that could not be pushed, with what the target said and what it was sent."""

    item: Item
    error: LineageBridgeError
    request: Any = None
    #: What it was that was refused: the same is not tried again by itself.
    fingerprint: bytes | None = None


def fingerprint(said: Any) -> bytes:
    """Hash what is to be pushed."""
    return digest(msgspec.json.encode(said, order="deterministic"))


def is_known(item: Item, mark: bytes) -> bool:
    """Tell whether this is what was last pushed, or refused."""
    return item.fingerprint == mark and bool(item.remote or item.outcome in GIVEN_UP)


def as_it_was(item: Item) -> Settled:
    """Settle what has not changed."""
    return item.linked(Outcome.UNCHANGED if item.remote else Outcome(item.outcome or ""), item.reason)
