"""Keeps asset files, the store and OpenMetadata alike, a look at a time: what the service does all the time."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import structlog

from bridge.governance.adopting import Adopting
from bridge.governance.applying import Stewardship
from bridge.governance.contracts import Contracts, Kept
from bridge.governance.files import AssetReader, Stamp, stamp
from bridge.sync.openmetadata.events import Events
from mappers.errors import LineageBridgeError, TransientError

_log = structlog.get_logger()

#: How often assets are matched with datasets that have come since, though no file has changed.
_MATCH_SECONDS = 60.0
#: What looks again at everything waits so many times as long as it took: it leaves the machine to others.
_REST = 20.0


class Looked(NamedTuple):
    """What a look found."""

    changed: int = 0
    problems: int = 0
    contracts: tuple[Kept, ...] = ()
    events: int = 0
    adopted: int = 0


class Watching:
    """Looks at the files, at what arrived, and at what others changed. Not for several threads at once."""

    def __init__(
        self,
        places: list[Path],
        stewardship: Stewardship,
        contracts: Contracts | None,
        clock: Callable[[], float],
    ) -> None:
        self._places = places
        self._stewardship = stewardship
        self._contracts = contracts
        self._events: Events | None = None
        self._adopting: Adopting | None = None
        self._clock = clock
        self._events_seconds: float | None = None
        self._reader = AssetReader()
        self._seen: dict[str, Stamp | None] | None = None
        self._match_at = 0.0
        self._events_at = 0.0
        self._contracts_at = 0.0

    def listen(self, events: Events, adopting: Adopting, seconds: float | None) -> None:
        """Look at what others change in OpenMetadata too, at its events once in so many seconds."""
        self._events, self._adopting, self._events_seconds = events, adopting, seconds

    def look(self) -> Looked:
        """Look once."""
        changed, problems = self._files() if self._places else (0, 0)
        kept = self._look_at_contracts()
        events = self._read_events()
        adopted = len(self._adopting.look()) if self._adopting else 0
        return Looked(changed, problems, kept, events, adopted)

    def _files(self) -> tuple[int, int]:
        """Take the files when one of them has changed, and now and then for the sake of new datasets."""
        now = self._clock()
        seen = {str(path): stamp(path) for place in self._places for path in [place, *place.rglob("*")]}
        if seen == self._seen and now < self._match_at:
            return 0, 0
        told = seen != self._seen
        self._seen = seen
        read = self._reader.read(self._places)
        applied = self._stewardship.apply(read.loaded)
        done = self._clock()
        open_ended = applied.waiting or any(one.asset.is_pattern for one in read.loaded)
        self._match_at = done + max(_MATCH_SECONDS, _REST * (done - now)) if open_ended else math.inf
        if told:
            for problem in read.problems:
                _log.warning("an asset file is left out", reason=problem)
            for left in applied.left:
                if any(problem.startswith(left.source) for problem in read.problems):
                    continue  # it only cannot be read
                _log.warning(
                    "an asset is in no file any more, and stands", asset=f"{left.namespace} {left.name}",
                    remedy="lineage-bridge governance push --prune",
                )  # fmt: skip
        if applied.changes:
            _log.info("asset files taken", datasets=len(applied.changes), waiting=len(applied.waiting))
        return len(applied.changes), len(read.problems)

    def _look_at_contracts(self) -> tuple[Kept, ...]:
        now = self._clock()
        if self._contracts is None or now < self._contracts_at:
            return ()
        kept = tuple(self._contracts.look())
        done = self._clock()
        self._contracts_at = done + _REST * (done - now)
        return kept

    def _read_events(self) -> int:
        if self._events is None or self._events_seconds is None or self._clock() < self._events_at:
            return 0
        self._events_at = self._clock() + self._events_seconds
        try:
            return self._events.read()
        except LineageBridgeError as error:
            if not isinstance(error, TransientError):
                _log.warning("the events of OpenMetadata cannot be read", reason=str(error))
            else:
                self._events_at = self._clock()  # the target says by itself that it is away
            return 0
