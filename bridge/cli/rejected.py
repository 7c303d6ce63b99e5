"""`lineage-bridge rejected`."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import Config, load_settings

if TYPE_CHECKING:
    from bridge.settings.model import Settings
    from bridge.store.database import Database
    from bridge.store.failed_inputs import FailedInput

rejected = typer.Typer(name="rejected", help="List, show and retry rejected or unmerged input.", no_args_is_help=True)


@rejected.command("list")
def list_rejected(config: Config = None) -> None:
    """List rejected input and events that were stored but not merged."""
    _, _, troubles = open_failed_inputs(config)
    for trouble in troubles:
        path = f" at {trouble.path}" if trouble.path else ""
        lost = " (payload evicted)" if trouble.evicted else ""
        typer.echo(
            f"{trouble.hash.hex()[:16]}  {trouble.kind}  x{trouble.receipts}  {trouble.source}  "
            f"{trouble.reason}{path}{lost}"
        )


@rejected.command("show")
def show_rejected(
    prefix: Annotated[str, typer.Argument(metavar="HASH", help="Hash or unique prefix")], config: Config = None
) -> None:
    """Print the original payload of an input."""
    settings, store, troubles = open_failed_inputs(config)
    from bridge.store.failed_inputs import read_payload

    trouble = _find_failed_input(troubles, prefix)
    payload = read_payload(store, settings.org, trouble)
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
    """Retry rejected or unmerged input, for example after an upgrade."""
    settings, store, troubles = open_failed_inputs(config)
    from bridge.log import configure_log

    configure_log(settings.log)
    from bridge.bootstrap.intake import make_event_reader, make_legacy_reader
    from bridge.bootstrap.store import make_writer
    from bridge.intake.retry import InputRetry
    from bridge.store.failed_inputs import read_payload

    chosen = [_find_failed_input(troubles, prefix)] if prefix else troubles
    reader, writer = make_event_reader(settings), make_writer(settings)
    retry = InputRetry(reader, make_legacy_reader(settings, reader))
    taken = 0
    for trouble in chosen:
        payload = read_payload(store, settings.org, trouble)
        found = retry.read(trouble, payload) if payload is not None else "its payload had to make room for newer ones"
        if isinstance(found, str):
            typer.echo(f"{trouble.hash.hex()[:16]}  {trouble.source}  {found}", err=True)
            continue
        writer.write(found)
        if trouble.kind == "rejected":
            writer.delete_rejected(trouble.hash)
        taken += 1
    typer.echo(f"{taken} taken, {len(chosen) - taken} still refused")
    if taken < len(chosen):
        raise typer.Exit(1)


def open_failed_inputs(config: Config) -> "tuple[Settings, Database, list[FailedInput]]":
    settings = load_settings(config)
    from bridge.bootstrap.store import open_store
    from bridge.store.failed_inputs import list_failed_inputs

    store = open_store(settings)
    return settings, store, list(list_failed_inputs(store, settings.org))


def _find_failed_input(troubles: "list[FailedInput]", prefix: str) -> "FailedInput":
    found = [trouble for trouble in troubles if trouble.hash.hex().startswith(prefix.lower())]
    if len(found) != 1:
        raise typer.BadParameter(f"{len(found)} inputs have a hash that begins with {prefix}")
    return found[0]
