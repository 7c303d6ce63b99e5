"""`lineage-bridge verify`."""

from collections import Counter
from typing import Annotated

import typer

from bridge.cli.escape import escape
from bridge.cli.options import Config, Output, print_json
from bridge.cli.sync import open_reconciler
from bridge.cli.sync_text import counted

verify = typer.Typer(
    name="verify", help="Compares a target with what the store left there, and changes nothing.", no_args_is_help=True
)


@verify.command("openmetadata")
def verify_openmetadata(
    output: Annotated[Output, typer.Option(help="A line for each difference, or one JSON object.")] = Output.text,
    config: Config = None,
) -> None:
    """Print what in OpenMetadata is not as it was left: 0 when nothing differs and nothing is to be pushed."""
    calls: Counter[str] = Counter()
    reconciler = open_reconciler(config, calls)
    differences = []
    looked_at = 0
    try:
        for compared in reconciler.compare():
            looked_at += compared.looked_at
            differences += [(one.kind, one.name, one.what) for one in compared.differences]
            if output is Output.text:
                for one in compared.differences:
                    typer.echo(escape(f"{one.kind}  {one.name}  {one.what}"))
        found = reconciler.status()
    finally:
        reconciler.close()
    if output is Output.json:
        told = [dict(zip(("kind", "name", "what"), one, strict=True)) for one in differences]
        print_json(
            {"looked_at": looked_at, "differences": told, "left": found.left, "calls": dict(sorted(calls.items()))}
        )
    else:
        typer.echo(f"{looked_at} looked at, {len(differences)} differ; calls: {counted(calls)}")
        if found.left:
            typer.echo(f"{found.left} to be pushed still, or refused: see `lineage-bridge sync status`", err=True)
        if found.enabled_at is None:
            typer.echo("nothing was ever sent: start the service, or `lineage-bridge sync --once`", err=True)
    if differences or found.left:
        raise typer.Exit(1)
