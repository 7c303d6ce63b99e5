"""`lineage-bridge keys`."""

import hashlib
import json
import secrets
from enum import StrEnum
from typing import Annotated

import typer

from bridge.cli.output import echo

keys = typer.Typer(name="keys", help="Create API keys.", no_args_is_help=True)

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
