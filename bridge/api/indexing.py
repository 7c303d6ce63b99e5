"""The search index that the service keeps up to date while nobody else needs the processor."""

import asyncio
import time
from contextlib import suppress

import structlog

from bridge.bootstrap.store import make_indexer
from bridge.settings.model import Settings
from bridge.store.search.indexer import SearchIndexer

_log = structlog.get_logger()

#: How often an index that is up to date looks for changes, and how long it rests between batches.
_LOOK_SECONDS, _REST_SECONDS = 0.5, 0.02
#: While the rest of the process uses more than this part of a processor, a batch rests many times as long as it took.
_BUSY, _PATIENCE = 0.15, 50
#: How long a failure rests, at first and at most.
_RETRY_SECONDS, _LONGEST_RETRY = 1.0, 60.0


class SearchIndexTask:
    """Runs an indexer from start to stop, in a thread beside the loop; its failures are logged and tried again."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stopping = asyncio.Event()
        self._indexer: SearchIndexer | None = None
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End after the batch under way."""
        self._stopping.set()
        await self._task

    async def _run(self) -> None:
        retry = _RETRY_SECONDS
        rest = _LOOK_SECONDS
        while not await self._wait(rest):
            try:
                rest = await self._batch()
                retry = _RETRY_SECONDS
            except Exception as error:  # noqa: BLE001 - events go on being taken, and the log says what does not
                _log.warning("the search index is behind: trying again", reason=str(error), seconds=retry)
                await asyncio.to_thread(self._close)
                rest, retry = retry, min(retry * 2, _LONGEST_RETRY)
        await asyncio.to_thread(self._close)

    async def _batch(self) -> float:
        """Index a batch; gives how long to rest after it."""
        begun = time.monotonic()
        if not await asyncio.to_thread(self._catch_up):
            return _LOOK_SECONDS
        took = time.monotonic() - begun
        begun, used = time.monotonic(), time.process_time()
        await self._wait(_REST_SECONDS)
        load = (time.process_time() - used) / (time.monotonic() - begun)
        return took * _PATIENCE if load > _BUSY else 0

    def _catch_up(self) -> int:
        if self._indexer is None:
            self._indexer = make_indexer(self._settings)
        return self._indexer.index_batch()

    def _close(self) -> None:
        indexer, self._indexer = self._indexer, None
        if indexer is not None:
            indexer.close()

    async def _wait(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)
        return self._stopping.is_set()
