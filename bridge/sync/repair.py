"""Compares a target with what was left there, once a period, and lets what differs be pushed again."""

from collections.abc import Callable, Iterator

import structlog

from bridge.store.database import Database
from bridge.sync.edge_states import EdgeStates
from bridge.sync.figures import Tally, write_figures
from bridge.sync.items import Items
from bridge.sync.target import Compared, Target
from mappers.errors import NoAnswer, PermanentError, TargetBusy, TransientError

_log = structlog.get_logger()

#: Of several daemons the one that writes down that it begins does it; the others look again a while later.
_BEGIN = """
UPDATE sync_target SET compared_at = ?3
WHERE org_id = ?1 AND target = ?2 AND coalesce(compared_at, enabled_at) <= ?4 RETURNING target
"""
_AGAIN = "UPDATE sync_target SET compared_at = NULL WHERE org_id = ?1 AND target = ?2"
_SERVER_FAILED = 500
_LOOK_EVERY = 60 * 1_000_000
#: After so many counts what is due is pushed first.
_COUNTS_AT_ONCE = 10


class Repair:
    """The comparison of one target, a bit at a time. Not for several threads at once."""

    def __init__(
        self,
        db: Database,
        org: str,
        target: Target,
        items: Items,
        clock: Callable[[], int],
        every_seconds: float | None,
    ) -> None:
        self._db = db
        self._bound = (org, target.name)
        self._target = target
        self._items = items
        self._states = EdgeStates(db, org, target.name)
        self._clock = clock
        self._every = None if every_seconds is None else int(every_seconds * 1_000_000)
        self._look_at = 0
        self._slices: Iterator[Compared] | None = None

    def step(self) -> Compared | None:
        """Compare a bit, if a comparison is under way or due; None when none is."""
        if self._slices is None and not self._begun():
            return None
        assert self._slices is not None  # noqa: S101 - begun just now
        try:
            compared = next(self._slices, None)
        except TransientError as error:
            self._slices = None
            if isinstance(error, NoAnswer) or (isinstance(error, TargetBusy) and error.status == _SERVER_FAILED):
                _log.warning("the comparison is given up until its next time", reason=str(error))
                return None
            self._again()
            raise
        except PermanentError as error:
            _log.warning("the comparison is given up until its next time", reason=str(error))
            self._slices = None
            return None
        if compared is None:
            self._slices = None
        elif compared.differences:
            self._doubt(compared)
        return compared

    def _begun(self) -> bool:
        now = self._clock()
        if self._every is None or now < self._look_at:
            return False
        self._look_at = now + min(self._every, _LOOK_EVERY)
        with self._db.transaction():
            mine = bool(self._db.rows(_BEGIN, *self._bound, now, now - self._every))
        if mine:
            self._slices = self._counted_and_compared()
        return mine

    def _counted_and_compared(self) -> Iterator[Compared]:
        """Count first what shall be there: what differs is to be pushed again, and would be counted twice.

        Only what came to its end is written down.
        """
        tally = Tally()
        for number, owed in enumerate(self._target.owed(), 1):
            tally.add_owed(owed)
            if number % _COUNTS_AT_ONCE == 0:
                yield Compared(owed.kind, 0, ())
        for compared in self._target.compare():
            tally.add(compared)
            yield compared
        write_figures(self._db, *self._bound, tally.figures(self._target.compared), self._clock())

    def _again(self) -> None:
        """Let it be due at once: it was not finished."""
        self._look_at = 0
        with self._db.transaction():
            self._db.run(_AGAIN, *self._bound)

    def _doubt(self, compared: Compared) -> None:
        with self._db.transaction():
            self._items.doubt((one.kind, one.key) for one in compared.differences)
            self._states.doubt_into({one.key for one in compared.differences if one.kind == "lineage"})
