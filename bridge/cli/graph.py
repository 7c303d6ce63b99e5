"""`lineage-bridge lineage` and `export`."""

import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import Config, load
from bridge.cli.schema import OpenLineageOnly, WithOpenLineage
from bridge.warehouse.house import House

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.store.column_walk import ColumnWalk
    from bridge.store.columns import ColumnLine
    from bridge.store.graph import Graph
    from bridge.store.walk import Walk


class Direction(StrEnum):
    """Which way to walk."""

    upstream = "upstream"
    downstream = "downstream"


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


DatasetNamespace = Annotated[
    str, typer.Argument(help="The dataset's namespace, such as `file`; or namespace and name in one.")
]
DatasetName = Annotated[str | None, typer.Argument(help="The dataset's name, such as `/data/out/bands`.")]


def located(graph: "Graph", namespace: str, name: str | None) -> bytes:
    """Find the dataset that is asked for; ends the command when there is none."""
    found = graph.find_whole(namespace) if name is None else graph.find(namespace, name)
    if found is None:
        called = f"{namespace!r}" if name is None else f"{name!r} in namespace {namespace!r}"
        typer.echo(f"error: no dataset {called} in the store", err=True)
        raise typer.Exit(1)
    return found


def lineage(
    namespace: DatasetNamespace,
    name: DatasetName = None,
    direction: Annotated[
        Direction, typer.Option(help="Where the data came from, or where it goes.")
    ] = Direction.upstream,
    depth: Annotated[int, typer.Option(min=1, help="How many datasets far.")] = 5,
    granularity: Annotated[Granularity, typer.Option(help="What counts as a job.")] = Granularity.job,
    most: Annotated[int, typer.Option(min=1, help="How many edges at most.")] = 5_000,
    as_of: Annotated[
        datetime | None, typer.Option(help="Only what runs said that had begun by then (UTC).", metavar="TIME")
    ] = None,
    columns: Annotated[bool, typer.Option("--columns", help="Show which column is made of which.")] = False,
    column: Annotated[
        str | None, typer.Option(help="Follow this column alone, hop by hop.", metavar="COLUMN")
    ] = None,
    output: Annotated[Form, typer.Option(help="A tree, or for another program.")] = Form.tree,
    config: Config = None,
) -> None:
    """Show where a dataset comes from, or what is made of it."""
    if column is not None and (as_of or output in (Form.mermaid, Form.dot)):
        raise typer.BadParameter("a column is followed as the newest runs show it, as text or JSON")
    settings = load(config)
    from bridge.bootstrap import folding_rule, open_store
    from bridge.store.column_walk import walk_columns
    from bridge.store.columns import column_lines
    from bridge.store.edges import EVER
    from bridge.store.graph import Graph
    from bridge.store.walk import walk

    db = open_store(settings)
    until = _micros(as_of) if as_of else EVER
    graph = Graph(db, settings.org, granularity.value, folding_rule(settings), until)
    start = located(graph, namespace, name)
    if column is not None:
        hops = walk_columns(db, settings.org, (start, column), direction.value, depth, most)
        for line in _printed_hops(graph, hops, output):
            typer.echo(line)
        return
    found = walk(graph, start, direction.value, depth, most)
    lines = column_lines(db, settings.org, found.edges) if columns else None
    for line in _printed(graph, found, lines, direction, output):
        typer.echo(line)


def _micros(moment: datetime) -> int:
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(zoned.timestamp()) * 1_000_000 + zoned.microsecond


def _printed(
    graph: "Graph", found: "Walk", lines: "list[ColumnLine] | None", direction: Direction, form: Form
) -> "Iterator[str]":
    import json

    from bridge.cli.columns import draw_columns
    from bridge.cli.diagram import as_dot, as_mermaid
    from bridge.cli.tree import draw
    from bridge.store.records import walk_record

    if form is Form.json:
        yield json.dumps(walk_record(graph, found, lines or []))
    elif form is Form.tree:
        yield from draw(graph, found, direction.value)
        yield from draw_columns(graph, found, lines) if lines is not None else ()
    else:
        yield from (as_mermaid if form is Form.mermaid else as_dot)(graph, found)


def _printed_hops(graph: "Graph", hops: "ColumnWalk", form: Form) -> "Iterator[str]":
    import json

    from bridge.cli.columns import draw_hops
    from bridge.store.records import column_walk_record

    if form is Form.json:
        yield json.dumps(column_walk_record(graph, hops))
    else:
        yield from draw_hops(graph, hops)


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
