"""`lineage-bridge tail`."""

from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.events import tell_troubles
from bridge.cli.options import Config, load

if TYPE_CHECKING:
    from bridge.intake.tail import Item, Tailer
    from bridge.settings import Settings


def tail(
    paths: Annotated[list[str], typer.Argument(help="Files, folders or patterns; they need not be there yet.")],
    config: Config = None,
    once: Annotated[bool, typer.Option("--once", help="Take what is there, and end.")] = False,
) -> None:
    """Follow files of events while they are written, rotated and cut off. Goes on where it stopped."""
    settings = load(config)
    from bridge.log import configure_log

    configure_log(settings.log)
    import asyncio

    from bridge.bootstrap import calm_collector

    count = _Count()
    calm_collector()
    asyncio.run(_follow(settings, paths, count, once=once))
    typer.echo(f"{count.accepted} events taken")
    tell_troubles(count.rejected, count.unmerged)
    if once and (count.rejected or count.unmerged or count.unreadable):
        raise typer.Exit(1)


class _Count:
    accepted = rejected = unmerged = unreadable = 0

    def __call__(self, item: "Item") -> None:
        from bridge.store.writer import Rejected

        if isinstance(item, Rejected):
            self.rejected += 1
        else:
            self.accepted += 1
            self.unmerged += item.failure is not None


async def _follow(settings: "Settings", paths: list[str], count: _Count, *, once: bool) -> None:
    from bridge.bootstrap import make_reader, make_tailer, make_writer
    from bridge.intake.gate import Gate

    writer = make_writer(settings)
    gate = Gate(writer, max_group=settings.intake.max_group, max_waiting=settings.intake.max_waiting)
    tailer = make_tailer(settings, paths, make_reader(settings), gate, count)
    _stop_at_signals(tailer)
    try:
        await (tailer.once() if once else tailer.run())
    finally:
        await gate.close()
        tailer.close()
        writer.close()
    count.unreadable = len(tailer.problems)


def _stop_at_signals(tailer: "Tailer") -> None:
    """Finish the group under way at the first signal; the second does not wait."""
    import asyncio
    import signal

    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)

    def stop() -> None:
        for number in numbers:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)
        tailer.stop()

    for number in numbers:
        loop.add_signal_handler(number, stop)
