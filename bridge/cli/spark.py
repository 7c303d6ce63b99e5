"""`lineage-bridge spark`: a conf that makes the listener report, and whether a conf does."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bridge.cli.spark_check import check
from connectors.spark.conf import (
    DEFAULT_LOCATION,
    DEFAULT_URL,
    DEFAULT_WAREHOUSE,
    Parent,
    Transport,
    Wanted,
    make_conf,
)
from connectors.spark.lines import PINNED, Catalog, find_line

spark = typer.Typer(
    name="spark", help="A Spark conf that makes the listener report, and whether one does.", no_args_is_help=True
)
spark.command("check")(check)


class Form(StrEnum):
    """How a conf is printed."""

    defaults = "defaults"
    flags = "flags"
    python = "python"


@spark.command("conf")
def conf(
    transport: Annotated[
        Transport, typer.Option(help="http, file (for `lineage-bridge tail`), or composite: both.")
    ] = Transport.http,
    line: Annotated[
        str | None,
        typer.Option(
            "--spark", help="Line of Spark; without, the newest that all table formats work on.", metavar="LINE"
        ),
    ] = None,
    catalog: Annotated[Catalog | None, typer.Option(help="Also set up this table format.")] = None,
    url: Annotated[str | None, typer.Option(help=f"Where the service listens; {DEFAULT_URL} without.")] = None,
    location: Annotated[
        str | None, typer.Option(help=f"The file that events are appended to; {DEFAULT_LOCATION} without.")
    ] = None,
    namespace: Annotated[str, typer.Option(help="Namespace of the jobs.")] = "spark",
    parent: Annotated[
        tuple[str, str, str] | None,
        typer.Option(help="The run that starts the job.", metavar="NAMESPACE NAME RUN_ID"),
    ] = None,
    api_key_file: Annotated[
        Path | None, typer.Option(help="File that holds an API key. The key stands in what is printed.")
    ] = None,
    warehouse: Annotated[str | None, typer.Option(help="Where Iceberg keeps its tables; warehouse without.")] = None,
    form: Annotated[
        Form, typer.Option("--as", help="As spark-defaults.conf, as --conf flags, or as a Python dict.")
    ] = Form.defaults,
    write: Annotated[Path | None, typer.Option(help="Write it to this file, readable by you alone.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Print a Spark conf that works, made from choices instead of typed."""
    unused = [
        option
        for option, given, used in (
            ("--url", url, transport is not Transport.file),
            ("--api-key-file", api_key_file, transport is not Transport.file),
            ("--location", location, transport is not Transport.http),
            ("--warehouse", warehouse, catalog is Catalog.iceberg),
        )
        if given is not None and not used
    ]
    if unused:
        raise typer.BadParameter(f"nothing uses {', '.join(unused)} here: choose another --transport or --catalog")
    text = _made(
        Wanted(
            line=find_line(line or PINNED),
            transport=transport,
            url=url or DEFAULT_URL,
            location=location or DEFAULT_LOCATION,
            namespace=namespace,
            api_key=_key(api_key_file) if api_key_file else None,
            parent=Parent(*parent) if parent else None,
            catalog=catalog,
            warehouse=warehouse or DEFAULT_WAREHOUSE,
        ),
        form,
    )
    if write is None:
        typer.echo(text, nl=False)
        return
    _write(write, text, force)
    typer.echo(f"wrote {write}", err=True)


def _made(wanted: Wanted, form: Form) -> str:
    """Make a conf and spell it; raises ConfigError when a choice makes one that does not work."""
    from connectors.spark.check import check_conf
    from connectors.spark.defaults import as_flags, as_python, write_defaults
    from mappers.errors import ConfigError

    made = make_conf(wanted)
    if wrong := [str(finding) for finding in check_conf(made, wanted.line) if finding.matters]:
        raise ConfigError("\n".join(wrong).removeprefix("error: "))
    spell = {Form.defaults: write_defaults, Form.flags: as_flags, Form.python: as_python}
    return spell[form](made)


def _key(path: Path) -> str:
    from mappers.errors import ConfigError

    try:
        key = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the API key in {path}: {error}") from error
    if not key or len(key.split()) > 1:
        raise ConfigError(f"{path} holds {'no key' if not key else 'more than a key'}: put the key alone into it")
    return key


def _write(path: Path, text: str, force: bool) -> None:
    """Write a file that may hold a key: nobody else may read it, from its first byte on."""
    import os

    from mappers.errors import ConfigError

    try:
        flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if force else os.O_EXCL)
        with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(text)
    except FileExistsError as error:
        raise ConfigError(f"{path} is there already: choose another, or write over it with --force") from error
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}") from error
