"""`lineage-bridge lineage`."""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bridge.cli.options import ApiKey, Config, DatasetName, DatasetNamespace, Url, dataset_parameters
from bridge.cli.output import print_result
from bridge.cli.query import QueryRunner
from bridge.store.lineage.walk import MAX_EDGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.queries.lineage import LineageResult
    from bridge.queries.query import A, Query


class Direction(StrEnum):
    """Direction in which lineage is followed."""

    upstream = "upstream"
    downstream = "downstream"
    both = "both"


class LineageFormat(StrEnum):
    """Output formats."""

    tree = "tree"
    json = "json"
    mermaid = "mermaid"
    dot = "dot"


class Granularity(StrEnum):
    """Level at which jobs are shown."""

    run = "run"
    step = "step"
    job = "job"
    root = "root"


def lineage(
    namespace: DatasetNamespace,
    name: DatasetName = None,
    direction: Annotated[
        Direction, typer.Option(help="upstream (sources), downstream (consumers) or both")
    ] = Direction.upstream,
    depth: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of hops")] = 5,
    granularity: Annotated[
        Granularity, typer.Option(help="Job level: run, step, job (logical job) or root")
    ] = Granularity.job,
    max_edges: Annotated[int, typer.Option(min=1, max=100_000, help="Maximum number of edges")] = MAX_EDGES,
    as_of: Annotated[
        datetime | None, typer.Option(help="Only lineage of runs started by this time (UTC)", metavar="TIME")
    ] = None,
    columns: Annotated[bool, typer.Option("--columns", help="Show column lineage")] = False,
    retired: Annotated[
        bool,
        typer.Option("--retired", help="Include retired edges (not reported by the last complete runs of the job)"),
    ] = False,
    column: Annotated[str | None, typer.Option(help="Trace a single column", metavar="COLUMN")] = None,
    output: Annotated[
        LineageFormat, typer.Option(help="Output format: tree, json, mermaid or dot")
    ] = LineageFormat.tree,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Show upstream or downstream lineage of a dataset."""
    from bridge.cli.lineage_text import hop_lines
    from bridge.queries.lineage import MAX_PAGE_ITEMS, ColumnLineageQuery, LineageQuery

    runner = QueryRunner(config, url, api_key)
    parameters = dataset_parameters(namespace, name)
    if column is not None:
        if output in {LineageFormat.mermaid, LineageFormat.dot}:
            raise typer.BadParameter("--column supports only --output tree and json")
        column_query = ColumnLineageQuery(
            **parameters, field=column, direction=direction.value, depth=depth, as_of=as_of, most=max_edges,
            limit=MAX_PAGE_ITEMS,
        )  # fmt: skip
        column_result = _run_all_pages(runner, column_query)
        print_result(column_result, hop_lines(column_result), as_json=output is LineageFormat.json)
        return
    query = LineageQuery(
        **parameters, direction=direction.value, depth=depth, granularity=granularity.value, as_of=as_of,
        columns=columns, retired=retired, most=max_edges, limit=MAX_PAGE_ITEMS,
    )  # fmt: skip
    result = _run_all_pages(runner, query)
    lines = _output_lines(result, direction, output, columns=columns)
    print_result(result, lines, as_json=output is LineageFormat.json, wrap=output is LineageFormat.tree)


def _run_all_pages(runner: QueryRunner, query: "Query[A]") -> "A":
    """Run a query, and return the edges and hops of all pages as one result."""
    from msgspec.structs import replace

    pages: list[Any] = [runner.run_or_exit(query)]
    while pages[-1].next is not None:
        pages.append(runner.run_or_exit(replace(query, after=pages[-1].next)))
    lists = {
        name: [item for page in pages for item in getattr(page, name)]
        for name in ("edges", "columns", "hops")
        if hasattr(pages[-1], name)
    }
    result: A = replace(pages[-1], **lists)
    return result


def _output_lines(
    result: "LineageResult", direction: Direction, output: LineageFormat, *, columns: bool
) -> "Iterator[str]":
    from bridge.cli.diagram import lineage_to_dot, lineage_to_mermaid
    from bridge.cli.lineage_text import column_lines, tree_lines

    if output in {LineageFormat.mermaid, LineageFormat.dot}:
        render = lineage_to_mermaid if output is LineageFormat.mermaid else lineage_to_dot
        yield from render(result)
        return
    for tree_direction in ("upstream", "downstream"):
        if direction.value in {tree_direction, "both"}:
            yield from tree_lines(result, tree_direction)
    if columns:
        yield from column_lines(result)
