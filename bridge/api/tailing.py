"""The files that the service follows beside its requests."""

import asyncio

import structlog

from bridge.api.metrics import Metrics
from bridge.bootstrap.intake import make_file_follower
from bridge.intake.event_reader import EventReader
from bridge.intake.file_follower import FileFollower
from bridge.intake.group_commit import GroupCommitter
from bridge.settings.model import Settings

_log = structlog.get_logger()


class FileFollowerTask:
    """Runs a tailer from start to stop, and remembers what ended it before its time."""

    def __init__(self, settings: Settings, reader: EventReader, gate: GroupCommitter, metrics: Metrics) -> None:
        self.failure: str | None = None
        self._task: asyncio.Task[None] | None = None
        if settings.intake.tail:
            self._tailer = make_file_follower(settings, settings.intake.tail, reader, gate, metrics.count_ingested)
            self._task = asyncio.create_task(self._follow(self._tailer))

    async def stop(self) -> None:
        """End after the group under way."""
        if self._task is not None:
            self._tailer.stop()
            await self._task

    async def _follow(self, tailer: FileFollower) -> None:
        try:
            await tailer.run()
        except Exception as error:  # noqa: BLE001 - the requests go on; readiness and the log say what does not
            self.failure = f"files are not tailed any more: {type(error).__name__}: {error}"
            _log.critical("tailing ended", exc_info=True)
        finally:
            tailer.close()
