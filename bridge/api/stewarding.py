"""The asset files and contracts that the service keeps true, beside its requests."""

import asyncio
from contextlib import ExitStack, suppress

import structlog

from bridge.api.metrics import Metrics
from bridge.api.sync_metrics import TargetMetrics
from bridge.bootstrap.governance import open_asset_watcher
from bridge.governance.watcher import AssetWatcher
from bridge.settings.model import Settings

_log = structlog.get_logger()


class GovernanceTask:
    """Looks at asset files, contracts and changes by others from start to stop; its failures are tried again."""

    def __init__(self, settings: Settings, metrics: Metrics, watch: TargetMetrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._watch = watch
        self._stopping = asyncio.Event()
        self._open = ExitStack()
        self._watching: AssetWatcher | None = None
        wanted = settings.governance.assets or settings.governance.contracts or settings.openmetadata.enabled
        self._task = asyncio.create_task(self._run()) if wanted else None

    async def stop(self) -> None:
        """End after the look under way."""
        self._stopping.set()
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                await asyncio.to_thread(self._look)
            except Exception as error:  # noqa: BLE001 - events go on being taken, and the log says what does not
                _log.warning("assets are not looked at: trying again", reason=str(error), exc_info=True)
                await asyncio.to_thread(self._close)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), self._settings.governance.poll_seconds)
        await asyncio.to_thread(self._close)

    def _look(self) -> None:
        if self._watching is None:
            self._watching = self._open.enter_context(
                open_asset_watcher(self._settings, self._watch.on_call, self._watch.on_failed_call)
            )
        looked = self._watching.poll()
        self._metrics.count_contract_checks(
            sum(bool(kept.violations) for kept in looked.contracts), len(looked.contracts)
        )

    def _close(self) -> None:
        self._watching = None
        try:
            self._open.close()
        except Exception as error:  # noqa: BLE001 - drivers raise their own here, and looking goes on with new ones
            _log.warning("connections of the look at assets could not be closed", reason=str(error), exc_info=True)
