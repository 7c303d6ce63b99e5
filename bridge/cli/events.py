"""`lineage-bridge ingest` and `rejected`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import Config, load

if TYPE_CHECKING:
    from bridge.intake.ingest import Progress
    from bridge.intake.source import Report
    from bridge.settings import Settings
    from bridge.store.database import Database
    from bridge.store.rejected import Trouble

rejected = typer.Typer(
    name="rejected", help="What could not be taken or merged: list it, show it, try it again.", no_args_is_help=True
)


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files or folders of events; - reads standard input.")],
    config: Config = None,
    historical: Annotated[bool, typer.Option("--historical", help="Mark the events as history.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Start at the beginning, even of files already taken.")
    ] = False,
) -> None:
    """Take events from files: ndjson, JSON, a JSON array, gzipped or not. Goes on where it stopped."""
    settings = load(config)
    from bridge.log import configure_log

    configure_log(settings.log)
    from bridge.bootstrap import calm_collector, make_reader, make_writer
    from bridge.intake.ingest import EventFile, Ingestion
    from bridge.intake.source import Report
    from connectors.openlineage.files import event_files

    files = event_files([path for path in paths if str(path) != "-"])
    missing = [path for path in files if not path.exists()]
    if missing:
        raise typer.BadParameter(f"no such file: {missing[0]}")
    calm_collector()
    ingestion = Ingestion(make_reader(settings), make_writer(settings), historical=historical, again=again)
    total = Report()
    for path in files:
        with show_progress(path) as progress:
            total = total.plus(EventFile(ingestion, path, progress).once())
    if any(str(path) == "-" for path in paths):
        total = total.plus(ingestion.stream(sys.stdin.buffer, "stdin"))
    _print_report(total, len(files))


def _print_report(total: "Report", files: int) -> None:
    text = f"{total.accepted} events taken from {files} file(s)"
    if total.resumed_at:
        text += f", {total.resumed_at} bytes had been taken before (--again takes them anew)"
    typer.echo(text)
    for reason in total.unreadable:
        typer.echo(f"error: cannot read on in {reason}", err=True)
    tell_troubles(total.rejected, total.unmerged)
    if total.rejected or total.unmerged or total.unreadable:
        raise typer.Exit(1)


def tell_troubles(refused: int, unmerged: int) -> None:
    """Say how much was not taken or merged, and where it is listed."""
    if refused or unmerged:
        typer.echo(
            f"{refused} rejected, {unmerged} kept but not merged: see `lineage-bridge rejected list`", err=True
        )


@contextmanager
def show_progress(path: Path) -> "Iterator[Progress]":
    """Show a progress bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(path.name, total=path.stat().st_size)
        yield lambda position: bar.update(task, completed=position)


@rejected.command("list")
def list_rejected(config: Config = None) -> None:
    """List what was refused (rejected) or kept but not merged (unmerged)."""
    _, _, troubles = _open(config)
    for trouble in troubles:
        path = f" at {trouble.path}" if trouble.path else ""
        lost = " (payload evicted)" if trouble.evicted else ""
        typer.echo(
            f"{trouble.hash.hex()[:16]}  {trouble.kind}  x{trouble.receipts}  {trouble.source}  "
            f"{trouble.reason}{path}{lost}"
        )


@rejected.command("show")
def show_rejected(
    prefix: Annotated[str, typer.Argument(metavar="HASH", help="The hash, or its beginning.")], config: Config = None
) -> None:
    """Print an input as it was sent."""
    settings, store, troubles = _open(config)
    from bridge.store.rejected import payload_of

    trouble = _one(troubles, prefix)
    payload = payload_of(store, settings.org, trouble)
    if payload is None:
        raise typer.BadParameter(f"the payload of {prefix} had to make room for newer ones; its sender has it")
    where = f" at {trouble.path}" if trouble.path else ""
    typer.echo(f"{trouble.kind} from {trouble.source}, {trouble.receipts} time(s): {trouble.reason}{where}", err=True)
    sys.stdout.buffer.write(payload)
    if sys.stdout.isatty():
        typer.echo()


@rejected.command("retry")
def retry_rejected(
    prefix: Annotated[
        str | None, typer.Argument(metavar="HASH", help="The hash, or its beginning; all without.")
    ] = None,
    config: Config = None,
) -> None:
    """Try again to take what was refused or not merged, for instance after an upgrade."""
    settings, store, troubles = _open(config)
    from bridge.log import configure_log

    configure_log(settings.log)
    from bridge.bootstrap import make_legacy_reader, make_reader, make_writer
    from bridge.intake.retry import Retry
    from bridge.store.rejected import payload_of

    chosen = [_one(troubles, prefix)] if prefix else troubles
    reader, writer = make_reader(settings), make_writer(settings)
    retry = Retry(reader, make_legacy_reader(settings, reader))
    taken = 0
    for trouble in chosen:
        payload = payload_of(store, settings.org, trouble)
        found = retry.read(trouble, payload) if payload is not None else "its payload had to make room for newer ones"
        if isinstance(found, str):
            typer.echo(f"{trouble.hash.hex()[:16]}  {trouble.source}  {found}", err=True)
            continue
        writer.write(found)
        if trouble.kind == "rejected":
            writer.forget_rejected(trouble.hash)
        taken += 1
    typer.echo(f"{taken} taken, {len(chosen) - taken} still refused")
    if taken < len(chosen):
        raise typer.Exit(1)


def _open(config: Config) -> "tuple[Settings, Database, list[Trouble]]":
    settings = load(config)
    from bridge.bootstrap import open_store
    from bridge.store.rejected import list_troubles

    store = open_store(settings)
    return settings, store, list(list_troubles(store, settings.org))


def _one(troubles: "list[Trouble]", prefix: str) -> "Trouble":
    found = [trouble for trouble in troubles if trouble.hash.hex().startswith(prefix.lower())]
    if len(found) != 1:
        raise typer.BadParameter(f"{len(found)} inputs have a hash that begins with {prefix}")
    return found[0]
