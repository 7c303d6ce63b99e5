"""Polls asset files, new versions and OpenMetadata events (run by `serve`)."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import structlog

from bridge.governance.applier import AssetApplier
from bridge.governance.asset_files import AssetLoader, FileStamp, file_stamp
from bridge.governance.change_events import ChangeEventReader
from bridge.governance.contracts import ContractCheck, ContractChecker
from bridge.governance.remote_changes import RemoteChangeImporter
from mappers.errors import LineageBridgeError, TransientError

_log = structlog.get_logger()

#: Interval at which assets are matched with new datasets while no file changes.
_MATCH_SECONDS = 60.0
#: After work on all datasets, the watcher pauses for this many times the duration of that work.
_PAUSE_FACTOR = 20.0


class PollResult(NamedTuple):
    """Result of one poll."""

    changed_count: int = 0
    problem_count: int = 0
    contract_checks: tuple[ContractCheck, ...] = ()
    event_count: int = 0
    imported_count: int = 0


class AssetWatcher:
    """Watches asset files, new versions and remote changes. Not thread-safe."""

    def __init__(
        self,
        paths_or_directories: list[Path],
        applier: AssetApplier,
        contracts: ContractChecker | None,
        clock: Callable[[], float],
    ) -> None:
        self._locations = paths_or_directories
        self._applier = applier
        self._contracts = contracts
        self._events: ChangeEventReader | None = None
        self._importer: RemoteChangeImporter | None = None
        self._clock = clock
        self._events_interval_seconds: float | None = None
        #: Ends the calls in flight, from any thread.
        self.cancel: Callable[[], None] = lambda: None
        self._loader = AssetLoader()
        self._stamps: dict[str, FileStamp | None] | None = None
        self._next_match_at = 0.0
        self._next_events_at = 0.0
        self._next_contracts_at = 0.0

    def watch_remote(
        self, events: ChangeEventReader, importer: RemoteChangeImporter, interval_seconds: float | None
    ) -> None:
        """Also import remote changes, and read change events once per interval."""
        self._events, self._importer, self._events_interval_seconds = events, importer, interval_seconds

    def poll(self) -> PollResult:
        """Apply the files, check contracts and import remote changes, each if it is due."""
        changed_count, problem_count = self._apply_files() if self._locations else (0, 0)
        contract_checks = self._check_contracts()
        event_count = self._read_events()
        imported_count = len(self._importer.import_changes()) if self._importer else 0
        return PollResult(changed_count, problem_count, contract_checks, event_count, imported_count)

    def _apply_files(self) -> tuple[int, int]:
        """Apply the files if one of them has changed or new datasets are due to be matched.

        Returns the number of changed datasets and the number of problems.
        """
        started_at = self._clock()
        stamps = {
            str(path): file_stamp(path) for location in self._locations for path in [location, *location.rglob("*")]
        }
        if stamps == self._stamps and started_at < self._next_match_at:
            return 0, 0
        files_changed = stamps != self._stamps
        self._stamps = stamps
        load_result = self._loader.read(self._locations)
        apply_result = self._applier.apply(load_result.loaded)
        finished_at = self._clock()
        has_unmatched = apply_result.pending or any(entry.asset.is_pattern for entry in load_result.loaded)
        self._next_match_at = math.inf
        if has_unmatched:
            self._next_match_at = finished_at + max(_MATCH_SECONDS, _PAUSE_FACTOR * (finished_at - started_at))
        if files_changed:
            for problem in load_result.problems:
                _log.warning("asset file skipped", reason=problem)
            for orphan in apply_result.orphaned:
                if any(problem.startswith(orphan.source) for problem in load_result.problems):
                    continue  # the file exists but is invalid
                _log.warning(
                    "asset file removed; its metadata remains", asset=f"{orphan.namespace} {orphan.name}",
                    remedy="lineage-bridge governance push --prune",
                )  # fmt: skip
        if apply_result.changes:
            _log.info("asset files applied", datasets=len(apply_result.changes), pending=len(apply_result.pending))
        return len(apply_result.changes), len(load_result.problems)

    def _check_contracts(self) -> tuple[ContractCheck, ...]:
        """Check new versions if the pause after the previous check is over."""
        started_at = self._clock()
        if self._contracts is None or started_at < self._next_contracts_at:
            return ()
        checks = tuple(self._contracts.check_new_versions())
        finished_at = self._clock()
        self._next_contracts_at = finished_at + _PAUSE_FACTOR * (finished_at - started_at)
        return checks

    def _read_events(self) -> int:
        """Read new change events if the interval has passed, and return their number."""
        if self._events is None or self._events_interval_seconds is None or self._clock() < self._next_events_at:
            return 0
        self._next_events_at = self._clock() + self._events_interval_seconds
        try:
            return self._events.requeue_changed()
        except LineageBridgeError as error:
            if not isinstance(error, TransientError):
                _log.warning("change events of OpenMetadata cannot be read", reason=str(error))
            else:
                self._next_events_at = self._clock()  # the circuit breaker reports this
            return 0
