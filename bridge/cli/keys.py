"""`lineage-bridge keys`."""

import hashlib
import json
import secrets
from enum import StrEnum
from typing import Annotated

import typer

from bridge.cli.options import Config, load_settings
from bridge.cli.output import echo, escape, print_result
from bridge.cli.table import Column, Row, Table, text_column

keys = typer.Typer(name="keys", help="Create and list API keys.", no_args_is_help=True)

_KEY_BYTES = 32


class KeyScope(StrEnum):
    """Scopes of an API key."""

    ingest = "ingest"
    read = "read"
    operate = "operate"


@keys.command("create")
def create(
    name: Annotated[str, typer.Argument(help="Name of the key")],
    scope: Annotated[list[KeyScope], typer.Option(help="Allowed scope; repeatable")],
) -> None:
    """Create an API key. It is printed once; the configuration stores only its hash."""
    key = secrets.token_urlsafe(_KEY_BYTES)
    echo(key)
    echo("Save it now; it is not shown again. Add to the configuration:\n", err=True)
    typer.echo(
        "server:\n  api_keys:\n"
        f"    - name: {json.dumps(name, ensure_ascii=False)}\n"
        f"      sha256: {hashlib.sha256(key.encode()).hexdigest()}\n"
        f"      scopes: [{', '.join(dict.fromkeys(scope))}]",
        err=True,
    )


@keys.command("list")
def list_keys(config: Config = None) -> None:
    """List the API keys of the configuration: name, scopes, and the beginning of the hash."""
    api_keys = load_settings(config).server.api_keys
    if not api_keys:
        echo("no API keys: only clients on this machine can reach the service", err=True)
        return
    width = max(len(escape(key.name)) for key in api_keys)
    rows = [("NAME", "SHA256", "SCOPES"), *((key.name, key.sha256[:12], ", ".join(key.scopes)) for key in api_keys)]
    lines = (f"{escape(name):<{width}}  {digest:<12}  {scopes}" for name, digest, scopes in rows)
    columns = (Column("NAME"), Column("SHA256"), text_column("SCOPES"))
    print_result(rows, lines, as_json=False, table=lambda: Table(columns, [Row(row) for row in rows[1:]]))
