"""`lineage-bridge doctor`."""

import typer

from bridge.cli.options import Config, load


def doctor(config: Config = None) -> None:
    """Check the store: that it can be used, and that everything that came in is accounted for."""
    settings = load(config)
    from bridge.bootstrap import open_store
    from bridge.store.conservation import read_books
    from bridge.store.location import StoreLocation

    db = open_store(settings)
    typer.echo(f"store: {StoreLocation(settings.store.url).name} ({db.version})")
    faults = db.faults()
    books = read_books(db, settings.org)
    for account in books.accounts:
        typer.echo(
            f"{account.source}: {account.received} received = {account.applied} applied"
            f" + {account.duplicate} duplicate + {account.rejected} rejected + {account.unmerged} not merged"
        )
    faults += books.faults
    for fault in faults:
        typer.echo(f"error: {fault}", err=True)
    if faults:
        raise typer.Exit(1)
    if any(account.rejected or account.unmerged for account in books.accounts):
        typer.echo("what was rejected or not merged: `lineage-bridge rejected list`")
    typer.echo("everything that came in is accounted for")
