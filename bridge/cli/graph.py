"""`lineage-bridge lineage` and `export`."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from bridge.cli.options import Config, load
from bridge.cli.schema import OpenLineageOnly, WithOpenLineage
from bridge.warehouse.house import House


class Direction(StrEnum):
    """Which way to walk."""

    upstream = "upstream"
    downstream = "downstream"


class Granularity(StrEnum):
    """What a job is: one run, a step, the job people know, or the root of all."""

    run = "run"
    step = "step"
    job = "job"
    root = "root"


def lineage(
    namespace: Annotated[str, typer.Argument(help="The dataset's namespace, such as `file`.")],
    name: Annotated[str, typer.Argument(help="The dataset's name, such as `/data/out/bands`.")],
    direction: Annotated[
        Direction, typer.Option(help="Where the data came from, or where it goes.")
    ] = Direction.upstream,
    depth: Annotated[int, typer.Option(min=1, help="How many datasets far.")] = 5,
    granularity: Annotated[Granularity, typer.Option(help="What counts as a job.")] = Granularity.job,
    columns: Annotated[bool, typer.Option("--columns", help="Show which column is made of which.")] = False,
    config: Config = None,
) -> None:
    """Show where a dataset comes from, or what is made of it."""
    settings = load(config)
    from bridge.bootstrap import open_store
    from bridge.cli.tree import draw
    from bridge.store.graph import Graph
    from bridge.store.walk import walk
    from mappers.folding import FoldingRule

    rule = FoldingRule(settings.folding.job, settings.folding.step)
    db = open_store(settings)
    graph = Graph(db, settings.org, granularity.value, rule)
    start = graph.find(namespace, name)
    if start is None:
        typer.echo(f"error: no dataset {name!r} in namespace {namespace!r} in the store", err=True)
        raise typer.Exit(1)
    found = walk(graph, start, direction.value, depth)
    for line in draw(graph, found, direction.value):
        typer.echo(line)
    if columns:
        from bridge.cli.columns import draw_columns
        from bridge.store.columns import column_lines

        for line in draw_columns(graph, found, column_lines(db, settings.org, found.edges)):
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
