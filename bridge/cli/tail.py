"""`lineage-bridge tail`."""

from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.ingest_report import print_rejections
from bridge.cli.options import Config, load_settings
from bridge.cli.output import echo
from mappers.counts import count_of

if TYPE_CHECKING:
    from bridge.intake.file_follower import FileFollower, Item
    from bridge.settings.model import Settings


def tail(
    paths: Annotated[list[str], typer.Argument(help="Files, directories or glob patterns; they may not exist yet")],
    config: Config = None,
    once: Annotated[bool, typer.Option("--once", help="Load what exists now and exit")] = False,
) -> None:
    """Follow event files as they grow, rotate or are truncated; resumes where it stopped."""
    settings = load_settings(config)
    from bridge.log import configure_log

    configure_log(settings.log)
    import asyncio

    from bridge.bootstrap.intake import tune_garbage_collector

    counter = _IngestCounter()
    tune_garbage_collector()
    asyncio.run(_follow_files(settings, paths, counter, once=once))
    echo(f"ingested {count_of(counter.accepted, 'event')}")
    print_rejections(counter.rejected, counter.unmerged)
    if once and (counter.rejected or counter.unmerged or counter.unreadable):
        raise typer.Exit(1)


class _IngestCounter:
    """Counts the ingested items by outcome, and the files that could not be read."""

    accepted = rejected = unmerged = unreadable = 0

    def count(self, item: "Item") -> None:
        from bridge.store.event_log import RejectedInput

        if isinstance(item, RejectedInput):
            self.rejected += 1
        else:
            self.accepted += 1
            self.unmerged += item.failure is not None


async def _follow_files(settings: "Settings", paths: list[str], counter: _IngestCounter, *, once: bool) -> None:
    """Ingest files until stopped or, with `once`, up to their current ends. Outcomes are counted in `counter`."""
    from bridge.bootstrap.intake import make_async_reader, make_file_follower
    from bridge.bootstrap.store import make_writer
    from bridge.intake.child_process import ChildProcess
    from bridge.intake.group_commit import GroupCommitter

    writer = make_writer(settings)
    committer = GroupCommitter(writer, max_group=settings.intake.max_group, max_pending=settings.intake.max_waiting)
    process = ChildProcess(settings.log)
    follower = make_file_follower(settings, paths, make_async_reader(settings, process), committer, counter.count)
    _stop_on_signals(follower)
    try:
        await (follower.read_all() if once else follower.run())
    finally:
        await committer.close()
        follower.close()
        process.close()
        writer.close()
    counter.unreadable = len(follower.problems)


def _stop_on_signals(follower: "FileFollower") -> None:
    """Finish the current group on the first signal. Exit at once on the second."""
    import asyncio
    import signal

    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)

    def stop() -> None:
        for signal_number in signals:
            loop.remove_signal_handler(signal_number)
            signal.signal(signal_number, signal.SIG_DFL)
        follower.stop()

    for signal_number in signals:
        loop.add_signal_handler(signal_number, stop)
