"""`lineage-bridge process dag`."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Config, Url
from bridge.cli.output import echo, escape, print_result
from bridge.cli.query import QueryRunner
from bridge.store.lineage.walk import MAX_EDGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.queries.dag import DagResult


class DagFormat(StrEnum):
    """Output formats."""

    text = "text"
    json = "json"
    mermaid = "mermaid"
    dot = "dot"


def dag(
    namespace: Annotated[str | None, typer.Option(help="Filter by namespace")] = None,
    max_dependencies: Annotated[
        int, typer.Option(min=1, max=100_000, help="Maximum number of dependencies")
    ] = MAX_EDGES,
    output: Annotated[DagFormat, typer.Option(help="Output format: text (execution order), json, mermaid or dot")] = (
        DagFormat.text
    ),
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Show dependencies between processes, cycles, and datasets without a producer."""
    from bridge.queries.dag import DagQuery

    result = QueryRunner(config, url, api_key).run_or_exit(DagQuery(namespace=namespace, most=max_dependencies))
    if namespace and not result.processes:
        echo(escape(f"no process in namespace {namespace!r}; without --namespace, all processes are shown"), err=True)
    print_result(
        result, _output_lines(result, output), as_json=output is DagFormat.json, wrap=output is DagFormat.text
    )


def _output_lines(result: "DagResult", output: DagFormat) -> "Iterator[str]":
    from bridge.cli.dag_text import dag_lines, diagram_edges, full_name
    from bridge.cli.diagram import render_dot, render_mermaid

    if output in {DagFormat.mermaid, DagFormat.dot}:
        render = render_mermaid if output is DagFormat.mermaid else render_dot
        return render(map(full_name, result.processes), diagram_edges(result))
    return dag_lines(result)
