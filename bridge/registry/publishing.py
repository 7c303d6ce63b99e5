"""Moves the pointers to published versions: of all datasets that are named, or of none."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

from bridge.registry.history import History, How, Move
from bridge.registry.resolution import Resolver, Wanted
from bridge.registry.selector import Selector
from bridge.registry.versions import Version, Versions
from bridge.store.database import Database
from mappers.errors import BadQuestion, Conflict, UnknownName

_LAST = "SELECT number, moved_at FROM publication WHERE org_id = ?1 ORDER BY number DESC LIMIT 1"
_MOVE = """
INSERT INTO publication (org_id, number, began, dataset_id, version_id, version_tag, follows, how, moved_by, moved_at,
  reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
"""


class _Anything:
    """What somebody expects who says nothing about it."""


ANYTHING = _Anything()


class Change(NamedTuple):
    """What shall be published of a dataset, given by its class; None goes back to what was published before."""

    dataset: bytes
    to: Selector | None
    #: What is published now as far as the caller knows: a tag, key or id; None when nothing is.
    expected: str | _Anything | None = ANYTHING


class Published(NamedTuple):
    """What is published of a dataset now, and what it was; the same where nothing was to be done."""

    dataset: bytes
    version: Version
    before: Move | None
    move: Move


class _Refusal(Exception):
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
        self._history = History(db, org)
        self._versions = Versions(db, org)
        self._resolver = Resolver(db, org, clock)

    def publish(self, changes: Sequence[Change], by: str, why: str | None) -> list[Published]:
        """Publish a version of each dataset; what is published already stays as it is."""
        return self._move("publish", changes, by, why)

    def roll_back(self, changes: Sequence[Change], by: str, why: str | None) -> list[Published]:
        """Go back to what was published before, or to a version that was published at any time."""
        return self._move("rollback", changes, by, why)

    def undo(self, began: int, by: str, why: str | None) -> list[Published]:
        """Roll back every dataset that a publication moved, provided that each of them is still where it put it."""
        moves = self._history.together(began)
        if not moves:
            raise UnknownName(f"no publication {began} in the store")
        classes = self._history.classes(moves)
        back = {classes[move.dataset]: _id_of(move) for move in moves}
        return self.roll_back([Change(dataset, None, version) for dataset, version in back.items()], by, why)

    def _move(self, how: How, changes: Sequence[Change], by: str, why: str | None) -> list[Published]:
        if len({one.dataset for one in changes}) < len(changes):
            raise BadQuestion("a dataset is named twice", "datasets")
        planned: list[tuple[Change, Version, Move | None]] = []
        refused: list[dict[str, str | None]] = []
        for change in changes:
            before = self._history.head(change.dataset)
            try:
                planned.append((change, self._target(how, change, before), before))
            except (_Refusal, Conflict) as error:
                current = error.current if isinstance(error, _Refusal) else before.tag if before else None
                refused.append({"dataset": self._name(change.dataset), "current": current, "reason": str(error)})
        if refused:
            raise Conflict("; ".join(f"{one['dataset']}: {one['reason']}" for one in refused), refused)
        return self._written(how, planned, by, why)

    def _target(self, how: How, change: Change, before: Move | None) -> Version:
        """Find what shall be published; raises Conflict or _Refusal when it may not be."""
        if how == "publish" and change.to is not None:
            version = self._resolver.resolve(Wanted(change.dataset, change.to)).version
            if before is None or before.version != version.id:
                self._expect(change, before)
        else:
            self._expect(change, before)
            version = self._earlier(change, before)
        if (fault := version.fault()) is not None:
            remedy = ": name another to go back to" if how == "rollback" and change.to is None else ""
            raise _Refusal(f"version {version.tag!r}: {fault}{remedy}", before.tag if before else None)
        return version

    def _expect(self, change: Change, before: Move | None) -> None:
        expected = change.expected
        if isinstance(expected, _Anything):
            return
        if before is None:
            if expected is not None:
                raise _Refusal(f"{expected!r} is not published: nothing is")
            return
        if expected is None:
            raise _Refusal(f"version {before.tag!r} is published, where nothing was expected to be", before.tag)
        version = self._versions.get(change.dataset, before.version)
        known = {before.tag, _id_of(before), *((version.tag, version.key) if version else ())}
        if expected not in known:
            raise _Refusal(f"version {before.tag!r} is published, not {expected!r}", before.tag)

    def _earlier(self, change: Change, before: Move | None) -> Version:
        """Find the version to go back to: the one before, or the one that is named.

        One that is not to be read is not passed over: beside others that go back it would be of another time.
        """
        if before is None:
            raise _Refusal("nothing is published")
        if change.to is not None:
            version = self._resolver.resolve(Wanted(change.dataset, change.to)).version
            if not self._history.had(change.dataset, version.id):
                raise _Refusal(f"version {version.tag!r} was never published: publish it", before.tag)
            return version
        stack = self._history.standing(change.dataset)
        below = [move for move in stack if move.version != before.version]
        found = self._versions.get(change.dataset, below[-1].version) if below else None
        if found is None:
            raise _Refusal(f"nothing was published before version {before.tag!r}", before.tag)
        return found

    def _written(
        self, how: How, planned: Iterable[tuple[Change, Version, Move | None]], by: str, why: str | None
    ) -> list[Published]:
        """Write the moves, of which the times go on as their numbers do, whatever the clocks of hosts say."""
        rows = self._db.rows(_LAST, self._org)
        last, at = (rows[0][0], max(rows[0][1], self._clock())) if rows else (0, self._clock())
        number = began = last + 1
        done = []
        for change, version, before in planned:
            if before is not None and before.version == version.id:
                done.append(Published(change.dataset, version, before, before))
                continue
            follows = before.number if before else None
            move = Move(number, began, version.dataset, version.id, version.tag, follows, how, by, at, why)
            self._db.run(_MOVE, self._org, *move)
            done.append(Published(change.dataset, version, before, move))
            number += 1
        return done


def _id_of(move: Move) -> str:
    """Write the id of the version that a move published."""
    return str(UUID(bytes=move.version))
