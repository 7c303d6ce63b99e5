"""`lineage-bridge marquez`."""

from typing import Annotated

import typer

from bridge.cli.options import Config, load

marquez = typer.Typer(name="marquez", help="What a Marquez server knows, taken into the store.", no_args_is_help=True)


@marquez.command()
def pull(
    url: Annotated[
        str | None, typer.Argument(help="The server, such as http://127.0.0.1:5000; without: marquez.url.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Read from this time on, such as 2026-11-01T00:00:00Z, whatever was read.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on, until it is stopped.")] = False,
    every: Annotated[float, typer.Option(min=0.1, help="With --follow: ask again after so many seconds.")] = 10.0,
    lookback: Annotated[
        float, typer.Option(min=0, help="So many seconds before the place where it was left are read again.")
    ] = 3_600.0,
    rate: Annotated[float | None, typer.Option(min=0.1, help="At most so many calls a second.")] = None,
    lists: Annotated[
        bool, typer.Option("--lists/--no-lists", help="Then take from its lists what its log lacks.")
    ] = True,
    config: Config = None,
) -> None:
    """Take the events of a server's log, then what only its lists say; goes on where it was left."""
    import threading
    from contextlib import ExitStack, closing

    from bridge.bootstrap import make_marquez_log, make_marquez_model, make_writer
    from bridge.cli.events import tell_troubles
    from bridge.cli.following import Told
    from bridge.intake.following import follow as go_on
    from bridge.log import configure_log

    settings = load(config)
    configure_log(settings.log)
    asked = {key: value for key, value in (("url", url), ("rate", rate)) if value is not None}
    given = settings.marquez.model_copy(update=asked)
    with ExitStack() as opened:
        writer = opened.enter_context(closing(make_writer(settings)))
        log = make_marquez_log(settings, given, writer, _micros(since), lookback)
        opened.enter_context(closing(log))
        found = log.once()
        typer.echo(f"{found.accepted} events taken from the log of {given.url}")
        if lists:
            model = opened.enter_context(closing(make_marquez_model(settings, given, writer)))
            made = model.once()
            typer.echo(f"{made.accepted} datasets and jobs taken from its lists, which no event of a run tells of")
            found = found.plus(made)
        tell_troubles(found.rejected, found.unmerged)
        if follow:
            told = Told("events")
            go_on(log, every, told.of, told.failed, threading.Event())
        elif found.rejected or found.unmerged:
            raise typer.Exit(1)


def _micros(since: str | None) -> int | None:
    from mappers.openlineage.clock_time import parse_time

    if since is None:
        return None
    try:
        return parse_time(since)[0]
    except ValueError as error:
        raise typer.BadParameter(f"--since {since}: is no time, such as 2026-11-01T00:00:00Z") from error
