"""Polls asset files, new versions and OpenMetadata events (run by `serve`)."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import structlog

from bridge.governance.applier import AssetApplier
from bridge.governance.asset_files import AssetLoader, FileStamp, file_stamp
from bridge.governance.contracts import ContractCheck, ContractChecker
from bridge.governance.remote_changes import RemoteChangeImporter
from bridge.sync.openmetadata.change_events import ChangeEventReader
from mappers.errors import LineageBridgeError, TransientError

_log = structlog.get_logger()

#: How often assets are matched with datasets that have come since, though no file has changed.
_MATCH_SECONDS = 60.0
#: What looks again at everything waits so many times as long as it took: it leaves the machine to others.
_REST = 20.0


class PollResult(NamedTuple):
    """What a look found."""

    changed: int = 0
    problems: int = 0
    contracts: tuple[ContractCheck, ...] = ()
    events: int = 0
    adopted: int = 0


class AssetWatcher:
    """Looks at the files, at what arrived, and at what others changed. Not for several threads at once."""

    def __init__(
        self,
        places: list[Path],
        stewardship: AssetApplier,
        contracts: ContractChecker | None,
        clock: Callable[[], float],
    ) -> None:
        self._places = places
        self._stewardship = stewardship
        self._contracts = contracts
        self._events: ChangeEventReader | None = None
        self._adopting: RemoteChangeImporter | None = None
        self._clock = clock
        self._events_seconds: float | None = None
        self._reader = AssetLoader()
        self._seen: dict[str, FileStamp | None] | None = None
        self._match_at = 0.0
        self._events_at = 0.0
        self._contracts_at = 0.0

    def watch_remote(self, events: ChangeEventReader, adopting: RemoteChangeImporter, seconds: float | None) -> None:
        """Look at what others change in OpenMetadata too, at its events once in so many seconds."""
        self._events, self._adopting, self._events_seconds = events, adopting, seconds

    def poll(self) -> PollResult:
        """Look once."""
        changed, problems = self._files() if self._places else (0, 0)
        kept = self._look_at_contracts()
        events = self._read_events()
        adopted = len(self._adopting.import_changes()) if self._adopting else 0
        return PollResult(changed, problems, kept, events, adopted)

    def _files(self) -> tuple[int, int]:
        """Take the files when one of them has changed, and now and then for the sake of new datasets."""
        now = self._clock()
        seen = {str(path): file_stamp(path) for place in self._places for path in [place, *place.rglob("*")]}
        if seen == self._seen and now < self._match_at:
            return 0, 0
        told = seen != self._seen
        self._seen = seen
        read = self._reader.read(self._places)
        applied = self._stewardship.apply(read.loaded)
        done = self._clock()
        open_ended = applied.pending or any(one.asset.is_pattern for one in read.loaded)
        self._match_at = done + max(_MATCH_SECONDS, _REST * (done - now)) if open_ended else math.inf
        if told:
            for problem in read.problems:
                _log.warning("an asset file is left out", reason=problem)
            for left in applied.orphaned:
                if any(problem.startswith(left.source) for problem in read.problems):
                    continue  # it only cannot be read
                _log.warning(
                    "an asset is in no file any more, and stands", asset=f"{left.namespace} {left.name}",
                    remedy="lineage-bridge governance push --prune",
                )  # fmt: skip
        if applied.changes:
            _log.info("asset files taken", datasets=len(applied.changes), waiting=len(applied.pending))
        return len(applied.changes), len(read.problems)

    def _look_at_contracts(self) -> tuple[ContractCheck, ...]:
        now = self._clock()
        if self._contracts is None or now < self._contracts_at:
            return ()
        kept = tuple(self._contracts.check_new_versions())
        done = self._clock()
        self._contracts_at = done + _REST * (done - now)
        return kept

    def _read_events(self) -> int:
        if self._events is None or self._events_seconds is None or self._clock() < self._events_at:
            return 0
        self._events_at = self._clock() + self._events_seconds
        try:
            return self._events.read_new()
        except LineageBridgeError as error:
            if not isinstance(error, TransientError):
                _log.warning("the events of OpenMetadata cannot be read", reason=str(error))
            else:
                self._events_at = self._clock()  # the target says by itself that it is away
            return 0
