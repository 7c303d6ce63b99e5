"""Publishes and rolls back versions of several datasets atomically (compare-and-set)."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

from bridge.errors import InvalidParameter, NotFound, StateConflict
from bridge.store.database import Database
from bridge.versions.publication import PublicationEntry, PublicationHistory, PublicationKind
from bridge.versions.reader import Version, VersionReader
from bridge.versions.resolver import VersionRequest, VersionResolver
from bridge.versions.selector import Selector

_LAST = "SELECT number, moved_at FROM publication WHERE org_id = ?1 ORDER BY number DESC LIMIT 1"
_MOVE = """
INSERT INTO publication (org_id, number, began, dataset_id, version_id, version_tag, follows, how, moved_by, moved_at,
  reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
"""


class _Unchecked:
    """What somebody expects who says nothing about it."""


UNCHECKED = _Unchecked()


class PublicationRequest(NamedTuple):
    """What shall be published of a dataset, given by its class; None goes back to what was published before."""

    dataset: bytes
    selector: Selector | None
    #: What is published now as far as the caller knows: a tag, key or id; None when nothing is.
    expected: str | _Unchecked | None = UNCHECKED


class PublicationOutcome(NamedTuple):
    """What is published of a dataset now, and what it was; the same where nothing was to be done."""

    dataset: bytes
    version: Version
    previous: PublicationEntry | None
    entry: PublicationEntry


class _PublicationRefused(Exception):
    def __init__(self, reason: str, current: str | None = None) -> None:
        super().__init__(reason)
        self.current = current


class Publisher:
    """Publishes and rolls back. Every call is to be made in a transaction that holds the lock of the registry."""

    def __init__(self, db: Database, org: str, clock: Callable[[], int], name: Callable[[bytes], str]) -> None:
        self._db = db
        self._org = org
        self._clock = clock
        self._name = name
        self._history = PublicationHistory(db, org)
        self._versions = VersionReader(db, org)
        self._resolver = VersionResolver(db, org, clock)

    def publish(self, changes: Sequence[PublicationRequest], by: str, why: str | None) -> list[PublicationOutcome]:
        """Publish a version of each dataset; what is published already stays as it is."""
        return self._apply("publish", changes, by, why)

    def roll_back(self, changes: Sequence[PublicationRequest], by: str, why: str | None) -> list[PublicationOutcome]:
        """Go back to what was published before, or to a version that was published at any time."""
        return self._apply("rollback", changes, by, why)

    def roll_back_publication(self, began: int, by: str, why: str | None) -> list[PublicationOutcome]:
        """Roll back every dataset that a publication moved, provided that each of them is still where it put it."""
        moves = self._history.entries(began)
        if not moves:
            raise NotFound(f"no publication {began} in the store")
        classes = self._history.group_ids(moves)
        back = {classes[move.dataset]: _id_of(move) for move in moves}
        return self.roll_back(
            [PublicationRequest(dataset, None, version) for dataset, version in back.items()], by, why
        )

    def _apply(
        self, how: PublicationKind, changes: Sequence[PublicationRequest], by: str, why: str | None
    ) -> list[PublicationOutcome]:
        if len({one.dataset for one in changes}) < len(changes):
            raise InvalidParameter("a dataset is named twice", "datasets")
        planned: list[tuple[PublicationRequest, Version, PublicationEntry | None]] = []
        refused: list[dict[str, str | None]] = []
        for change in changes:
            before = self._history.current(change.dataset)
            try:
                planned.append((change, self._target_version(how, change, before), before))
            except (_PublicationRefused, StateConflict) as error:
                current = error.current if isinstance(error, _PublicationRefused) else before.tag if before else None
                refused.append({"dataset": self._name(change.dataset), "current": current, "reason": str(error)})
        if refused:
            raise StateConflict("; ".join(f"{one['dataset']}: {one['reason']}" for one in refused), refused)
        return self._write_entries(how, planned, by, why)

    def _target_version(
        self, how: PublicationKind, change: PublicationRequest, before: PublicationEntry | None
    ) -> Version:
        """Find what shall be published; raises Conflict or _Refusal when it may not be."""
        if how == "publish" and change.selector is not None:
            version = self._resolver.resolve(VersionRequest(change.dataset, change.selector)).version
            if before is None or before.version != version.id:
                self._check_expected(change, before)
        else:
            self._check_expected(change, before)
            version = self._rollback_target(change, before)
        if (fault := version.unreadable_reason()) is not None:
            remedy = ": name another to go back to" if how == "rollback" and change.selector is None else ""
            raise _PublicationRefused(f"version {version.tag!r}: {fault}{remedy}", before.tag if before else None)
        return version

    def _check_expected(self, change: PublicationRequest, before: PublicationEntry | None) -> None:
        expected = change.expected
        if isinstance(expected, _Unchecked):
            return
        if before is None:
            if expected is not None:
                raise _PublicationRefused(f"{expected!r} is not published: nothing is")
            return
        if expected is None:
            raise _PublicationRefused(
                f"version {before.tag!r} is published, where nothing was expected to be", before.tag
            )
        version = self._versions.get(change.dataset, before.version)
        known = {before.tag, _id_of(before), *((version.tag, version.key) if version else ())}
        if expected not in known:
            raise _PublicationRefused(f"version {before.tag!r} is published, not {expected!r}", before.tag)

    def _rollback_target(self, change: PublicationRequest, before: PublicationEntry | None) -> Version:
        """Find the version to go back to: the one before, or the one that is named.

        One that is not to be read is not passed over: beside others that go back it would be of another time.
        """
        if before is None:
            raise _PublicationRefused("nothing is published")
        if change.selector is not None:
            version = self._resolver.resolve(VersionRequest(change.dataset, change.selector)).version
            if not self._history.was_published(change.dataset, version.id):
                raise _PublicationRefused(f"version {version.tag!r} was never published: publish it", before.tag)
            return version
        stack = self._history.layers(change.dataset)
        below = [move for move in stack if move.version != before.version]
        found = self._versions.get(change.dataset, below[-1].version) if below else None
        if found is None:
            raise _PublicationRefused(f"nothing was published before version {before.tag!r}", before.tag)
        return found

    def _write_entries(
        self,
        how: PublicationKind,
        planned: Iterable[tuple[PublicationRequest, Version, PublicationEntry | None]],
        by: str,
        why: str | None,
    ) -> list[PublicationOutcome]:
        """Write the moves, of which the times go on as their numbers do, whatever the clocks of hosts say."""
        rows = self._db.fetch_all(_LAST, self._org)
        last, at = (rows[0][0], max(rows[0][1], self._clock())) if rows else (0, self._clock())
        number = began = last + 1
        done = []
        for change, version, before in planned:
            if before is not None and before.version == version.id:
                done.append(PublicationOutcome(change.dataset, version, before, before))
                continue
            follows = before.number if before else None
            move = PublicationEntry(
                number, began, version.dataset, version.id, version.tag, follows, how, by, at, why
            )
            self._db.execute(_MOVE, self._org, *move)
            done.append(PublicationOutcome(change.dataset, version, before, move))
            number += 1
        return done


def _id_of(move: PublicationEntry) -> str:
    """Write the id of the version that a move published."""
    return str(UUID(bytes=move.version))
