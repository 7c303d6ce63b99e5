"""`lineage-bridge lineage`."""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Config, DatasetName, DatasetNamespace, Url, dataset_parameters
from bridge.cli.output import print_result
from bridge.cli.query import QueryRunner
from bridge.store.lineage.walk import MAX_EDGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.queries.lineage import LineageResult


class Direction(StrEnum):
    """Which way to walk."""

    upstream = "upstream"
    downstream = "downstream"
    both = "both"


class LineageFormat(StrEnum):
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
    depth: Annotated[int, typer.Option(min=1, max=10_000, help="How many datasets far.")] = 5,
    granularity: Annotated[Granularity, typer.Option(help="What counts as a job.")] = Granularity.job,
    max_edges: Annotated[int, typer.Option(min=1, max=100_000, help="Edges at most.")] = MAX_EDGES,
    as_of: Annotated[
        datetime | None, typer.Option(help="Only what runs said that had begun by then (UTC).", metavar="TIME")
    ] = None,
    columns: Annotated[bool, typer.Option("--columns", help="Show which column is made of which.")] = False,
    retired: Annotated[
        bool, typer.Option("--retired", help="Also what the last complete runs of its job no longer showed.")
    ] = False,
    column: Annotated[
        str | None, typer.Option(help="Follow this column alone, hop by hop.", metavar="COLUMN")
    ] = None,
    output: Annotated[LineageFormat, typer.Option(help="A tree, or for another program.")] = LineageFormat.tree,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Show where a dataset comes from, or what is made of it."""
    from bridge.cli.lineage_text import hop_lines
    from bridge.queries.lineage import ColumnLineageQuery, LineageQuery

    asked, of = QueryRunner(config, url, api_key), dataset_parameters(namespace, name)
    if column is not None:
        if output in {LineageFormat.mermaid, LineageFormat.dot}:
            raise typer.BadParameter("what follows a column is drawn as text or JSON")
        hops = asked.run_or_exit(
            ColumnLineageQuery(
                **of, field=column, direction=direction.value, depth=depth, as_of=as_of, most=max_edges
            )
        )
        print_result(hops, hop_lines(hops), as_json=output is LineageFormat.json)
        return
    found = asked.run_or_exit(
        LineageQuery(
            **of, direction=direction.value, depth=depth, granularity=granularity.value, as_of=as_of, columns=columns,
            retired=retired, most=max_edges,
        )
    )  # fmt: skip
    print_result(found, _render(found, direction, output, columns=columns), as_json=output is LineageFormat.json)


def _render(found: "LineageResult", direction: Direction, form: LineageFormat, *, columns: bool) -> "Iterator[str]":
    from bridge.cli.diagram import as_dot, as_mermaid
    from bridge.cli.lineage_text import column_lines, tree_lines

    if form in {LineageFormat.mermaid, LineageFormat.dot}:
        yield from (as_mermaid if form is LineageFormat.mermaid else as_dot)(found)
        return
    for way in ("upstream", "downstream"):
        if direction.value in {way, "both"}:
            yield from tree_lines(found, way)
    yield from column_lines(found) if columns else ()
