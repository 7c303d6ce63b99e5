"""Publication history of datasets; the last entry is the published version."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from bridge.store.database import Database
from bridge.store.identity_groups import group_ids
from bridge.store.lineage.evidence import NO_TIME_LIMIT

PublicationKind = Literal["publish", "rollback"]

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
_EVERYTHING = """
SELECT DISTINCT d.class_id FROM publication p
JOIN ol_dataset d ON d.org_id = p.org_id AND d.dataset_id = p.dataset_id WHERE p.org_id = ?1
"""


class PublicationEntry(NamedTuple):
    """One move of the pointer of one dataset; those of one publication have the same `began`."""

    number: int
    publication: int
    #: The name of the dataset under which the version was written.
    dataset: bytes
    version: bytes
    tag: str
    #: The number of the move that it moves on from; None where nothing was published before.
    previous_number: int | None
    kind: PublicationKind
    published_by: str
    published_at: int
    reason: str | None


class PublicationHistory:
    """Reads what was published of datasets, given by their classes."""

    def __init__(self, db: Database, org: str) -> None:
        self._db = db
        self._org = org

    def current(self, dataset: bytes, until: int = NO_TIME_LIMIT) -> PublicationEntry | None:
        """Give the last move of a dataset, or the last until a time; None when nothing was published."""
        found = self.list_newest(dataset, 1, until=until)
        return found[0] if found else None

    def list_newest(
        self, dataset: bytes, limit: int, *, before: int = NO_TIME_LIMIT, until: int = NO_TIME_LIMIT
    ) -> list[PublicationEntry]:
        """List the last moves before one of a number."""
        return [_move(row) for row in self._db.fetch_all(_SOME, self._org, dataset, until, before, limit)]

    def entries(self, began: int) -> list[PublicationEntry]:
        """List the moves of one publication."""
        return [_move(row) for row in self._db.fetch_all(_TOGETHER, self._org, began)]

    def version_tag(self, number: int) -> str:
        """Tell what was published by a move."""
        return str(self._db.fetch_all(_TAG, self._org, number)[0][0])

    def was_published(self, dataset: bytes, version: bytes) -> bool:
        """Tell whether a version was ever published."""
        return bool(self._db.fetch_all(_HAD, self._org, dataset, NO_TIME_LIMIT, NO_TIME_LIMIT, version))

    def group_ids(self, moves: Sequence[PublicationEntry]) -> dict[bytes, bytes]:
        """Give the classes of the datasets that were moved, by the names under which their versions were written."""
        return group_ids(self._db, self._org, {move.dataset for move in moves})

    def layers(self, dataset: bytes, until: int = NO_TIME_LIMIT) -> list[PublicationEntry]:
        """List the moves whose versions are published now, or were at a time, one above the other, the oldest first.

        The last is what is read of the dataset; a version of some partitions lies above those that hold the others.
        A rollback takes away what lies above the version that it goes back to.
        """
        return fold_layers(
            follow_chain([_move(row) for row in self._db.fetch_all(_MOVES, self._org, dataset, until, NO_TIME_LIMIT)])
        )

    def published_datasets(self) -> list[bytes]:
        """List all datasets of which anything was published."""
        return sorted(bytes(dataset) for (dataset,) in self._db.fetch_all(_EVERYTHING, self._org))


def follow_chain(moves: Sequence[PublicationEntry]) -> list[PublicationEntry]:
    """Follow the last move, which comes first, back to where it began; gives the oldest first.

    Datasets that became one had a history each: that of the last move goes on.
    """
    numbered = {move.number: move for move in moves}
    found: list[PublicationEntry] = []
    move = moves[0] if moves else None
    while move is not None:
        found.append(move)
        move = numbered.get(move.previous_number) if move.previous_number is not None else None
    return found[::-1]


def fold_layers(moves: Sequence[PublicationEntry]) -> list[PublicationEntry]:
    """Fold a history, the oldest move first, to the versions that lie one above the other at its end."""
    stack: list[PublicationEntry] = []
    for move in moves:
        if move.kind == "rollback" and any(one.version == move.version for one in stack):
            while stack[-1].version != move.version:
                stack.pop()
        else:
            stack.append(move)
    return stack


def _move(row: tuple[Any, ...]) -> PublicationEntry:
    number, began, dataset, version, *rest = row
    return PublicationEntry(number, began, bytes(dataset), bytes(version), *rest)
