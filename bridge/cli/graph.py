"""`lineage-bridge lineage` and `export`."""

import sys
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Asked, Config, DatasetName, DatasetNamespace, Url, load, named, print_json
from bridge.cli.schema import OpenLineageOnly, WithOpenLineage
from bridge.store.limits import MOST_EDGES
from bridge.warehouse.house import House

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.catalogue.lineage import LineageAnswer


class Direction(StrEnum):
    """Which way to walk."""

    upstream = "upstream"
    downstream = "downstream"
    both = "both"


class Form(StrEnum):
    """How a walk is printed."""

    tree = "tree"
    json = "json"
    mermaid = "mermaid"
    dot = "dot"


class Granularity(StrEnum):
    """What a job is: one run, a step, the job people know, or the root of all."""

    run = "run"
    step = "step"
    job = "job"
    root = "root"


def lineage(
    namespace: DatasetNamespace,
    name: DatasetName = None,
    direction: Annotated[
        Direction, typer.Option(help="Where the data came from, where it goes, or both.")
    ] = Direction.upstream,
    depth: Annotated[int, typer.Option(min=1, help="How many datasets far.")] = 5,
    granularity: Annotated[Granularity, typer.Option(help="What counts as a job.")] = Granularity.job,
    most: Annotated[int, typer.Option(min=1, help="How many edges at most.")] = MOST_EDGES,
    as_of: Annotated[
        datetime | None, typer.Option(help="Only what runs said that had begun by then (UTC).", metavar="TIME")
    ] = None,
    columns: Annotated[bool, typer.Option("--columns", help="Show which column is made of which.")] = False,
    column: Annotated[
        str | None, typer.Option(help="Follow this column alone, hop by hop.", metavar="COLUMN")
    ] = None,
    output: Annotated[Form, typer.Option(help="A tree, or for another program.")] = Form.tree,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Show where a dataset comes from, or what is made of it."""
    from bridge.catalogue.lineage import ColumnLineage, Lineage
    from bridge.cli.columns import draw_hops

    asked, of = Asked(config, url, api_key), named(namespace, name)
    if column is not None:
        if output in {Form.mermaid, Form.dot}:
            raise typer.BadParameter("what follows a column is drawn as text or JSON")
        hops = asked.ask(
            ColumnLineage(**of, field=column, direction=direction.value, depth=depth, as_of=as_of, most=most)
        )
        _print(hops, draw_hops(hops), output)
        return
    found = asked.ask(
        Lineage(
            **of, direction=direction.value, depth=depth, granularity=granularity.value, as_of=as_of, columns=columns,
            most=most,
        )
    )  # fmt: skip
    _print(found, _drawn(found, direction, output, columns=columns), output)


def _drawn(found: "LineageAnswer", direction: Direction, form: Form, *, columns: bool) -> "Iterator[str]":
    from bridge.cli.columns import draw_columns
    from bridge.cli.diagram import as_dot, as_mermaid
    from bridge.cli.tree import draw

    if form in {Form.mermaid, Form.dot}:
        yield from (as_mermaid if form is Form.mermaid else as_dot)(found)
        return
    for way in ("upstream", "downstream"):
        if direction.value in {way, "both"}:
            yield from draw(found, way)
    yield from draw_columns(found) if columns else ()


def _print(answer: object, lines: "Iterator[str]", form: Form) -> None:
    if form is Form.json:
        print_json(answer)
        return
    for line in lines:
        typer.echo(line)


def export(
    canonical: Annotated[
        bool, typer.Option("--canonical", help="The canonical state, equal for equal events.")
    ] = False,
    sql: Annotated[
        bool, typer.Option("--sql", help="INSERT statements for the tables of `schema ddl`; say --dialect, too.")
    ] = False,
    dialect: Annotated[House | None, typer.Option(help="The database that --sql is for.")] = None,
    openlineage: WithOpenLineage = False,
    openlineage_only: OpenLineageOnly = False,
    config: Config = None,
) -> None:
    """Print the canonical state as JSON lines, byte for byte the same for the same events, or as SQL."""
    if canonical == sql:
        raise typer.BadParameter("say --canonical or --sql: which export it shall be")
    if sql != (dialect is not None) or (canonical and (openlineage or openlineage_only)):
        raise typer.BadParameter(
            "--dialect, --openlineage and --openlineage-only belong to --sql, which needs --dialect"
        )
    settings = load(config)
    from bridge.bootstrap import open_store

    if dialect is None:
        from bridge.store.export import export_canonical

        lines = export_canonical(open_store(settings), settings.org)
    else:
        from bridge.warehouse.parts import part_of
        from bridge.warehouse.rows import insert_rows

        part = part_of(openlineage=openlineage, openlineage_only=openlineage_only)
        statements = insert_rows(open_store(settings), settings.org, dialect, part)
        lines = (statement.encode() for statement in statements)
    for line in lines:
        sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
