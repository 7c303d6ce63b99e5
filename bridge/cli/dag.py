"""`lineage-bridge process dag`."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Config, Url
from bridge.cli.output import print_result
from bridge.cli.query import QueryRunner
from bridge.store.lineage.walk import MAX_EDGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.queries.dag import DagResult


class DagFormat(StrEnum):
    """How processes and their dependencies are printed."""

    text = "text"
    json = "json"
    mermaid = "mermaid"
    dot = "dot"


def dag(
    namespace: Annotated[str | None, typer.Option(help="Only processes of this namespace.")] = None,
    max_dependencies: Annotated[int, typer.Option(min=1, max=100_000, help="Dependencies at most.")] = MAX_EDGES,
    output: Annotated[DagFormat, typer.Option(help="In the order in which they can run, or for another program.")] = (
        DagFormat.text
    ),
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Show which process waits for which and for what, who waits in circles, and what nobody is known to produce."""
    from bridge.queries.dag import DagQuery

    found = QueryRunner(config, url, api_key).run_or_exit(DagQuery(namespace=namespace, most=max_dependencies))
    print_result(found, _render(found, output), as_json=output is DagFormat.json)


def _render(found: "DagResult", form: DagFormat) -> "Iterator[str]":
    from bridge.cli.dag_text import arrows, dag_lines, name
    from bridge.cli.diagram import dot, mermaid

    if form in {DagFormat.mermaid, DagFormat.dot}:
        return (mermaid if form is DagFormat.mermaid else dot)(map(name, found.processes), arrows(found))
    return dag_lines(found)
