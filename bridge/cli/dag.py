"""`lineage-bridge process dag`."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Asked, Config, Url, print_answer
from bridge.store.limits import MOST_EDGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.catalogue.dag import DagAnswer


class Form(StrEnum):
    """How processes and their dependencies are printed."""

    text = "text"
    json = "json"
    mermaid = "mermaid"
    dot = "dot"


def dag(
    namespace: Annotated[str | None, typer.Option(help="Only processes of this namespace.")] = None,
    most: Annotated[int, typer.Option(min=1, max=100_000, help="How many dependencies at most.")] = MOST_EDGES,
    output: Annotated[Form, typer.Option(help="In the order in which they can run, or for another program.")] = (
        Form.text
    ),
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Show which process waits for which and for what, who waits in circles, and what nobody is known to produce."""
    from bridge.catalogue.dag import Dag

    found = Asked(config, url, api_key).ask(Dag(namespace=namespace, most=most))
    print_answer(found, _drawn(found, output), as_json=output is Form.json)


def _drawn(found: "DagAnswer", form: Form) -> "Iterator[str]":
    from bridge.cli.dag_text import arrows, dag_lines, name
    from bridge.cli.diagram import dot, mermaid

    if form in {Form.mermaid, Form.dot}:
        return (mermaid if form is Form.mermaid else dot)(map(name, found.processes), arrows(found))
    return dag_lines(found)
