"""`lineage-bridge lineage` and `export`."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from bridge.cli.options import Config, load


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
    most: Annotated[int, typer.Option(min=1, help="How many edges at most.")] = 5_000,
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
    found = walk(graph, start, direction.value, depth, most)
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
    config: Config = None,
) -> None:
    """Print the canonical state as JSON lines, byte for byte the same for the same events."""
    if not canonical:
        raise typer.BadParameter("say --canonical: it is the only export there is")
    settings = load(config)
    from bridge.bootstrap import open_store
    from bridge.store.export import export_canonical

    for line in export_canonical(open_store(settings), settings.org):
        sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
