"""What was published of a dataset, when, by whom and why: the pointer is where the last move left it."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from bridge.store.database import Database
from bridge.store.edges import EVER

How = Literal["publish", "rollback"]

_COLUMNS = (
    "p.number, p.began, p.dataset_id, p.version_id, p.version_tag, p.follows, p.how, p.moved_by, p.moved_at, p.reason"
)
_MOVES = f"""
SELECT {_COLUMNS} FROM ol_dataset d
JOIN publication p ON p.org_id = d.org_id AND p.dataset_id = d.dataset_id
WHERE d.org_id = ?1 AND d.class_id = ?2 AND p.moved_at <= ?3 AND p.number < ?4
ORDER BY p.number DESC
"""
_SOME = f"{_MOVES} LIMIT ?5"
_TOGETHER = f"SELECT {_COLUMNS} FROM publication p WHERE p.org_id = ?1 AND p.began = ?2 ORDER BY p.number"
_TAG = "SELECT p.version_tag FROM publication p WHERE p.org_id = ?1 AND p.number = ?2"
_HAD = f"SELECT 1 FROM ({_MOVES}) m WHERE m.version_id = ?5 LIMIT 1"
_CLASSES = "SELECT dataset_id, class_id FROM ol_dataset WHERE org_id = ?1 AND dataset_id {among}"
_EVERYTHING = """
SELECT DISTINCT d.class_id FROM publication p
JOIN ol_dataset d ON d.org_id = p.org_id AND d.dataset_id = p.dataset_id WHERE p.org_id = ?1
"""


class Move(NamedTuple):
    """One move of the pointer of one dataset; those of one publication have the same `began`."""

    number: int
    began: int
    #: The name of the dataset under which the version was written.
    dataset: bytes
    version: bytes
    tag: str
    #: The number of the move that it moves on from; None where nothing was published before.
    follows: int | None
    how: How
    by: str
    at: int
    reason: str | None


class History:
    """Reads what was published of datasets, given by their classes."""

    def __init__(self, db: Database, org: str) -> None:
        self._db = db
        self._org = org

    def head(self, dataset: bytes, until: int = EVER) -> Move | None:
        """Give the last move of a dataset, or the last until a time; None when nothing was published."""
        found = self.newest(dataset, 1, until=until)
        return found[0] if found else None

    def newest(self, dataset: bytes, limit: int, *, before: int = EVER, until: int = EVER) -> list[Move]:
        """List the last moves before one of a number."""
        return [_move(row) for row in self._db.rows(_SOME, self._org, dataset, until, before, limit)]

    def together(self, began: int) -> list[Move]:
        """List the moves of one publication."""
        return [_move(row) for row in self._db.rows(_TOGETHER, self._org, began)]

    def tag(self, number: int) -> str:
        """Tell what was published by a move."""
        return str(self._db.rows(_TAG, self._org, number)[0][0])

    def had(self, dataset: bytes, version: bytes) -> bool:
        """Tell whether a version was ever published."""
        return bool(self._db.rows(_HAD, self._org, dataset, EVER, EVER, version))

    def classes(self, moves: Sequence[Move]) -> dict[bytes, bytes]:
        """Give the classes of the datasets that were moved, by the names under which their versions were written."""
        rows = self._db.among(_CLASSES, sorted({move.dataset for move in moves}), self._org)
        return {bytes(member): bytes(dataset) for member, dataset in rows}

    def standing(self, dataset: bytes, until: int = EVER) -> list[Move]:
        """List the moves whose versions are published now, or were at a time, one above the other, the oldest first.

        The last is what is read of the dataset; a version of some partitions lies above those that hold the others.
        A rollback takes away what lies above the version that it goes back to.
        """
        return standing(chain([_move(row) for row in self._db.rows(_MOVES, self._org, dataset, until, EVER)]))

    def datasets(self) -> list[bytes]:
        """List all datasets of which anything was published."""
        return sorted(bytes(dataset) for (dataset,) in self._db.rows(_EVERYTHING, self._org))


def chain(moves: Sequence[Move]) -> list[Move]:
    """Follow the last move, which comes first, back to where it began; gives the oldest first.

    Datasets that became one had a history each: that of the last move goes on.
    """
    numbered = {move.number: move for move in moves}
    found: list[Move] = []
    move = moves[0] if moves else None
    while move is not None:
        found.append(move)
        move = numbered.get(move.follows) if move.follows is not None else None
    return found[::-1]


def standing(moves: Sequence[Move]) -> list[Move]:
    """Fold a history, the oldest move first, to the versions that lie one above the other at its end."""
    stack: list[Move] = []
    for move in moves:
        if move.how == "rollback" and any(one.version == move.version for one in stack):
            while stack[-1].version != move.version:
                stack.pop()
        else:
            stack.append(move)
    return stack


def _move(row: tuple[Any, ...]) -> Move:
    number, began, dataset, version, *rest = row
    return Move(number, began, bytes(dataset), bytes(version), *rest)
