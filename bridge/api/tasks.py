"""Background tasks of the service: search index, sync, governance, file follower."""

import asyncio
import time
from contextlib import ExitStack

import structlog

from bridge.api.background import BackgroundTask
from bridge.api.metrics import Metrics
from bridge.api.sync_metrics import TargetMetrics
from bridge.bootstrap.governance import open_asset_watcher
from bridge.bootstrap.intake import make_file_follower, make_pending_event_merger
from bridge.bootstrap.store import make_indexer
from bridge.bootstrap.targets import disable_sync_target, make_reconciler
from bridge.governance.watcher import AssetWatcher
from bridge.intake.child_process import ChildProcess
from bridge.intake.file_follower import FileFollower
from bridge.intake.group_commit import GroupCommitter
from bridge.intake.large_events import AsyncEventReader, PendingEventMerger
from bridge.intake.pending_events import PendingEvents
from bridge.settings.model import Settings
from bridge.settings.target_names import TargetName, enabled_targets
from bridge.store.search.indexer import SearchIndexer
from bridge.sync.reconciler import Reconciler
from mappers.errors import LineageBridgeError

_log = structlog.get_logger()

#: How often an idle task checks for work.
_INDEX_POLL_SECONDS, _SYNC_POLL_SECONDS, _PENDING_POLL_SECONDS = 0.5, 0.25, 0.1
#: How often the store is searched for pending events that no process merges.
_PENDING_SEARCH_SECONDS = 60.0
#: After each batch, the indexer measures the CPU load of the process for this time. Above the load limit, it pauses
#: for a multiple of the time that the batch took.
_LOAD_SAMPLE_SECONDS, _MAX_LOAD, _PAUSE_FACTOR = 0.02, 0.15, 50
#: How often sync progress is queried for the metrics, and the largest share of time the queries may take.
_PROGRESS_SECONDS, _PROGRESS_MAX_SHARE = 2.0, 0.05


class SearchIndexTask(BackgroundTask):
    """Keeps the search index up to date. Pauses between batches while the process is busy."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._indexer: SearchIndexer | None = None
        self.start(_INDEX_POLL_SECONDS)

    def step(self) -> float:
        """Index a batch, and return the seconds to pause, depending on the load of the process."""
        started_at = time.monotonic()
        if self._indexer is None:
            self._indexer = make_indexer(self._settings)
        if not self._indexer.index_batch():
            return _INDEX_POLL_SECONDS
        batch_seconds = time.monotonic() - started_at
        sample_started_at = time.monotonic()
        cpu_seconds_before = time.process_time()
        self.stop_requested.wait(_LOAD_SAMPLE_SECONDS)
        load = (time.process_time() - cpu_seconds_before) / (time.monotonic() - sample_started_at)
        return batch_seconds * _PAUSE_FACTOR if load > _MAX_LOAD else 0.0

    def close(self) -> None:
        """Close the connection of the indexer."""
        indexer, self._indexer = self._indexer, None
        if indexer is not None:
            indexer.close()

    def on_failure(self, error: Exception, retry_seconds: float) -> None:
        """Log a failed batch."""
        _log.warning("search indexing failed, retrying", reason=str(error), seconds=retry_seconds)


class LargeEventTask(BackgroundTask):
    """Merges pending events, also those that an earlier process left behind."""

    def __init__(self, settings: Settings, process: ChildProcess, pending_events: PendingEvents) -> None:
        super().__init__()
        self._settings = settings
        self._process = process
        self._pending_events = pending_events
        self._merger: PendingEventMerger | None = None
        self._next_search_at = 0.0
        self.start()

    def step(self) -> float:
        """Merge one event, and return the seconds until the next one: none while events are pending."""
        if self._merger is None:
            self._merger = make_pending_event_merger(self._settings, self._process, self._pending_events)
            self._merger.load_abandoned(seconds=0)
            self._next_search_at = time.monotonic() + _PENDING_SEARCH_SECONDS
        if self._merger.merge_next():
            return 0.0
        if time.monotonic() > self._next_search_at:
            self._merger.load_abandoned()
            self._next_search_at = time.monotonic() + _PENDING_SEARCH_SECONDS
        return _PENDING_POLL_SECONDS

    def close(self) -> None:
        """Close the connection of the merger."""
        merger, self._merger = self._merger, None
        if merger is not None:
            merger.close()

    def on_failure(self, error: Exception, retry_seconds: float) -> None:
        """Log a failed merge, unless it was interrupted by the shutdown."""
        if not self.stop_requested.is_set():
            _log.warning("large event not merged, retrying", reason=str(error), seconds=retry_seconds)


class SyncTask(BackgroundTask):
    """Keeps one target in sync. If the target is disabled, drops its dirty marks."""

    def __init__(self, settings: Settings, metrics: Metrics, target: TargetName) -> None:
        super().__init__()
        self._settings = settings
        self._target = target
        self.metrics = TargetMetrics()
        self._reconciler: Reconciler | None = None
        self._last_pause_reason: str | None = None
        self._next_progress_at = 0.0
        if target in enabled_targets(settings):
            metrics.add_target(target, self.metrics)
            self.start()
        else:
            self._task = asyncio.create_task(self._disable())

    async def _disable(self) -> None:
        """Drop the dirty marks of a disabled target, which would otherwise accumulate without limit."""
        try:
            if await asyncio.to_thread(disable_sync_target, self._settings, self._target):
                _log.info("sync disabled", target=self._target, setting=f"{self._target}.enabled is false")
        except LineageBridgeError as error:
            _log.warning(
                "dirty marks are still written for a disabled target", target=self._target, reason=str(error)
            )

    def step(self) -> float:
        """Sync one batch, and return the seconds until the next batch: none while items are due."""
        if self._reconciler is None:
            self._reconciler = make_reconciler(
                self._settings,
                self._target,
                self.metrics.on_call,
                self.metrics.on_failed_call,
                self.metrics.on_pushed,
            )
            _log.info("sync started", target=self._target, url=self._reconciler.url)
            if self._reconciler.enable():
                _log.info("full sync scheduled", target=self._target)
        result = self._reconciler.step(self._update_metrics_and_check_stop)
        self._log_circuit_change(self._reconciler.pause_reason)
        self._update_metrics()
        if not result.idle:
            _log.debug("synced", target=self._target, **result.outcomes)
        self.metrics.running = True
        return _SYNC_POLL_SECONDS if result.idle else 0.0

    def _log_circuit_change(self, pause_reason: str | None) -> None:
        if pause_reason == self._last_pause_reason:
            return
        self._last_pause_reason = pause_reason
        if pause_reason:
            _log.warning("circuit open: target not responding", target=self._target, reason=pause_reason)
        else:
            _log.info("circuit closed: target responding", target=self._target)

    def _update_metrics_and_check_stop(self) -> bool:
        """Update the metrics between batches, because the first sync may take a long time. Return True to stop."""
        self._update_metrics()
        return self.stop_requested.is_set()

    def _update_metrics(self) -> None:
        """Query the progress of the sync, but not so often that the queries slow the sync down."""
        if self._reconciler is None or time.monotonic() < self._next_progress_at:
            return
        started_at = time.monotonic()
        progress = self._reconciler.progress()
        self.metrics.pending, self.metrics.needs_attention = progress.waiting, progress.troubled
        self.metrics.oldest_pending_at = progress.oldest_at
        self.metrics.circuit_open = self._reconciler.pause_reason is not None
        self.metrics.comparison = self._reconciler.last_comparison()
        ended_at = time.monotonic()
        self._next_progress_at = ended_at + max(_PROGRESS_SECONDS, (ended_at - started_at) / _PROGRESS_MAX_SHARE)

    async def stop(self) -> None:
        """End the calls in flight, whatever the target does, and stop."""
        self.stop_requested.set()
        if self._reconciler is not None:
            self._reconciler.cancel()
        await super().stop()

    def close(self) -> None:
        """Release claimed items and close the connections."""
        reconciler, self._reconciler = self._reconciler, None
        if reconciler is not None:
            try:
                reconciler.close()
            except LineageBridgeError as error:
                _log.warning("claimed items not released; their lease will expire", reason=str(error))

    def on_failure(self, error: Exception, retry_seconds: float) -> None:
        """Log a failed step, and show it in the metrics."""
        self.metrics.running = False
        _log.warning(
            "sync failed, retrying", target=self._target, reason=str(error), seconds=retry_seconds, exc_info=error
        )


class GovernanceTask(BackgroundTask):
    """Applies asset files, checks contracts and reports remote changes at each polling interval."""

    def __init__(self, settings: Settings, metrics: Metrics, target_metrics: TargetMetrics) -> None:
        super().__init__()
        self._settings = settings
        self._metrics = metrics
        self._target_metrics = target_metrics
        self._resources = ExitStack()
        self._watcher: AssetWatcher | None = None
        if settings.governance.assets or settings.governance.contracts or settings.openmetadata.enabled:
            self.start(retry_seconds=settings.governance.poll_seconds)

    def step(self) -> float:
        """Poll once, and return the seconds until the next poll."""
        if self._watcher is None:
            self._watcher = self._resources.enter_context(
                open_asset_watcher(self._settings, self._target_metrics.on_call, self._target_metrics.on_failed_call)
            )
        checks = self._watcher.poll().contract_checks
        violated_count = sum(bool(check.violations) for check in checks)
        self._metrics.count_contract_checks(violated_count, len(checks))
        return self._settings.governance.poll_seconds

    async def stop(self) -> None:
        """End the calls in flight, whatever OpenMetadata does, and stop."""
        self.stop_requested.set()
        if self._watcher is not None:
            self._watcher.cancel()
        await super().stop()

    def close(self) -> None:
        """Close the connections of the watcher."""
        self._watcher = None
        try:
            self._resources.close()
        except Exception as error:  # noqa: BLE001 - drivers raise their own errors here; the next poll opens new connections
            _log.warning("connections of the asset watcher could not be closed", reason=str(error), exc_info=True)

    def on_failure(self, error: Exception, retry_seconds: float) -> None:
        """Log a failed poll."""
        _log.warning("asset watcher failed, retrying", reason=str(error), seconds=retry_seconds, exc_info=error)


class FileFollowerTask:
    """Runs the file follower until stopped. If the follower fails, `failure` holds the reason."""

    def __init__(
        self, settings: Settings, reader: AsyncEventReader, committer: GroupCommitter, metrics: Metrics
    ) -> None:
        self.failure: str | None = None
        self._task: asyncio.Task[None] | None = None
        if settings.intake.tail:
            self._follower = make_file_follower(
                settings, settings.intake.tail, reader, committer, metrics.count_ingested
            )
            self._task = asyncio.create_task(self._run_follower(self._follower))

    async def stop(self) -> None:
        """Stop after the current group of events."""
        if self._task is not None:
            self._follower.stop()
            await self._task

    async def _run_follower(self, follower: FileFollower) -> None:
        try:
            await follower.run()
        except Exception as error:  # noqa: BLE001 - requests are still served; readiness and the log show the failure
            self.failure = f"file follower stopped: {type(error).__name__}: {error}"
            _log.critical("file follower stopped", exc_info=True)
        finally:
            follower.close()
