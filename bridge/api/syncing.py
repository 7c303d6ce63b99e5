"""The target that the service keeps what the store says, beside its requests."""

import asyncio
import threading
import time
from contextlib import suppress

import structlog

from bridge.api.metrics import Metrics
from bridge.api.sync_metrics import TargetMetrics
from bridge.bootstrap.targets import disable_sync_target, make_reconciler
from bridge.settings.model import Settings
from bridge.settings.target_names import TargetName, enabled_targets
from bridge.sync.reconciler import Reconciler
from mappers.errors import LineageBridgeError

_log = structlog.get_logger()

#: How often it is looked whether anything is due.
_LOOK_SECONDS = 0.25
#: How long a failure of the store rests, at first and at most.
_RETRY_SECONDS, _LONGEST_RETRY = 1.0, 60.0
#: How often the metrics are told how far it is, and the most part of the time that it may take.
_TELL_SECONDS, _TELL_PART = 2.0, 0.05


class SyncTask:
    """Runs a reconciler from start to stop, in a thread beside the loop; its failures are logged and tried again."""

    def __init__(self, settings: Settings, metrics: Metrics, target: TargetName) -> None:
        self._settings = settings
        self._target = target
        self.watch = TargetMetrics()
        enabled = target in enabled_targets(settings)
        if enabled:
            metrics.add_target(target, self.watch)
        self._stopping = asyncio.Event()
        self._stopped = threading.Event()
        self._reconciler: Reconciler | None = None
        self._last_error: str | None = None
        self._tell_at = 0.0
        self._task = asyncio.create_task(self._run() if enabled else self._forget())

    async def stop(self) -> None:
        """End after the batch under way."""
        self._stopping.set()
        self._stopped.set()
        await self._task

    async def _forget(self) -> None:
        """Keep no marks for a target that is not to be kept: they would be without number."""
        try:
            if await asyncio.to_thread(disable_sync_target, self._settings, self._target):
                _log.info(f"nothing is sent any more: {self._target}.enabled is false", target=self._target)
        except LineageBridgeError as error:
            _log.warning("marks go on being made for a target that is not enabled", reason=str(error))

    async def _run(self) -> None:
        rest, retry = 0.0, _RETRY_SECONDS
        while not await self._wait(rest):
            try:
                idle = await asyncio.to_thread(self.run_once)
                rest, retry = _LOOK_SECONDS if idle else 0.0, _RETRY_SECONDS
                self.watch.running = True
            except Exception as error:  # noqa: BLE001 - events go on being taken, and the log says what does not
                self.watch.running = False
                _log.warning("syncing stopped: trying again", reason=str(error), seconds=retry, exc_info=True)
                await asyncio.to_thread(self._close)
                rest, retry = retry, min(retry * 2, _LONGEST_RETRY)
        await asyncio.to_thread(self._close)

    def run_once(self) -> bool:
        """Do what is due; tells whether there was nothing."""
        if self._reconciler is None:
            watch = self.watch
            self._reconciler = make_reconciler(
                self._settings, self._target, watch.on_call, watch.on_failed_call, watch.on_pushed
            )
            _log.info("kept like the store", target=self._target, url=self._reconciler.url)
            if self._reconciler.enable():
                _log.info("everything is to be sent", target=self._target)
        done = self._reconciler.step(self._report_and_check_stop)
        trouble = self._reconciler.breaker.pause_reason
        if trouble != self._last_error:
            self._last_error = trouble
            said = _log.warning if trouble else _log.info
            said("the target is left alone" if trouble else "the target answers", target=self._target, reason=trouble)
        self._update_metrics()
        if not done.idle:
            _log.debug("synced", target=self._target, **done.outcomes)
        return done.idle

    def _report_and_check_stop(self) -> bool:
        """Tell how far it is between two lots, for a first round takes long; says whether to end."""
        self._update_metrics()
        return self._stopped.is_set()

    def _update_metrics(self) -> None:
        """Let the metrics know how far it is, now and then."""
        if self._reconciler is not None and time.monotonic() >= self._tell_at:
            began = time.monotonic()
            progress = self._reconciler.progress()
            self.watch.pending, self.watch.needs_attention = progress.waiting, progress.troubled
            self.watch.oldest_pending_at, self.watch.circuit_open = progress.oldest_at, self._reconciler.breaker.open
            self.watch.comparison = self._reconciler.last_comparison()
            ended = time.monotonic()
            self._tell_at = ended + max(_TELL_SECONDS, (ended - began) / _TELL_PART)

    def _close(self) -> None:
        reconciler, self._reconciler = self._reconciler, None
        if reconciler is not None:
            try:
                reconciler.close()
            except LineageBridgeError as error:
                _log.warning("what was taken is given back when its lease ends", reason=str(error))

    async def _wait(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)
        return self._stopping.is_set()
