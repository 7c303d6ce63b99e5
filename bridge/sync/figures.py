"""How much of what a target shall have it has, as it was read there: what the last comparison found, by kind."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

from bridge.store.database import Database, Insert
from bridge.sync.item import REMOVAL
from bridge.sync.target import Compared, Owed

_PUT = Insert(
    "sync_comparison",
    {
        "org_id": str, "target": str, "kind": str, "wanted": int, "lacking": int, "looked_at": int,
        "differing": int, "ended_at": int,
    },
    "ON CONFLICT (org_id, target, kind) DO UPDATE SET wanted = excluded.wanted, lacking = excluded.lacking,"
    " looked_at = excluded.looked_at, differing = excluded.differing, ended_at = excluded.ended_at",
)  # fmt: skip
_FORGET = "DELETE FROM sync_comparison WHERE org_id = ?1 AND target = ?2"
_READ = """
SELECT kind, wanted, lacking, looked_at, differing, ended_at FROM sync_comparison
WHERE org_id = ?1 AND target = ?2 ORDER BY kind
"""


class Figures(NamedTuple):
    """What a comparison found of one kind of things."""

    #: How many there shall be, and how many of them the target was not told of, or of another state of them.
    wanted: int
    lacking: int
    #: How many were looked at, and how many of them are not as they were left.
    looked_at: int
    differing: int

    @property
    def found(self) -> int:
        """Count what is there as it should be."""
        return max(0, self.wanted - self.lacking - self.differing)

    @property
    def percent(self) -> float | None:
        """Say how much of what there shall be is there; None where nothing shall be."""
        return percent(self.found, self.wanted)


class LastComparison(NamedTuple):
    """What the last comparison found that came to its end, by kind; the time is in microseconds."""

    ended_at: int
    kinds: Mapping[str, Figures]


class Tally:
    """Adds up what a comparison finds on its way."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}

    def add_owed(self, owed: Owed) -> None:
        """Count what shall be there."""
        self._of(owed.kind).update(wanted=owed.wanted, lacking=owed.lacking)

    def add(self, compared: Compared) -> None:
        """Count what was looked at."""
        self._of(compared.kind).update(looked_at=compared.looked_at, differing=len(compared.differences), read=1)

    def figures(self, kinds: Collection[str]) -> dict[str, Figures]:
        """Give the figures of these kinds, and of all others of which anything was read."""
        read = {kind for kind, counts in self._counts.items() if counts["read"] and kind != REMOVAL}
        return {kind: Figures(*(self._of(kind)[name] for name in Figures._fields)) for kind in read.union(kinds)}

    def _of(self, kind: str) -> Counter[str]:
        return self._counts.setdefault(kind, Counter())


def write_figures(db: Database, org: str, target: str, found: Mapping[str, Figures], now: int) -> None:
    """Write down what a comparison found that came to its end now, in the place of the one before."""
    with db.transaction():
        db.run(_FORGET, org, target)
        db.insert(_PUT, [(org, target, kind, *one, now) for kind, one in sorted(found.items())])


def forget_figures(db: Database, org: str, target: str) -> None:
    """Forget what was found: it is another system. Within a transaction of the caller."""
    db.run(_FORGET, org, target)


def read_figures(db: Database, org: str, target: str) -> LastComparison | None:
    """Read what the last comparison found that came to its end; None when none did."""
    rows = db.rows(_READ, org, target)
    return (
        LastComparison(max(row[-1] for row in rows), {row[0]: Figures(*row[1:-1]) for row in rows}) if rows else None
    )


def percent(part: int, whole: int) -> float | None:
    """Give a part in percent, rounded down: it is a hundred only when nothing is missing. None of nothing."""
    return part * 10_000 // whole / 100 if whole else None
