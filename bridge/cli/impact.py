"""`lineage-bridge impact`."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.graph import DatasetName, DatasetNamespace, located
from bridge.cli.options import Config, Output, load

if TYPE_CHECKING:
    from bridge.store.impact import Impact


def impact(
    namespace: DatasetNamespace,
    name: DatasetName = None,
    depth: Annotated[int, typer.Option(min=1, help="How many datasets far.")] = 20,
    most: Annotated[int, typer.Option(min=1, help="How many edges at most.")] = 5_000,
    output: Annotated[Output, typer.Option(help="A list, or one JSON object.")] = Output.text,
    config: Config = None,
) -> None:
    """Show what a change of a dataset reaches: datasets, jobs, and their owners."""
    settings = load(config)
    from bridge.bootstrap import folding_rule, open_store
    from bridge.store.graph import Graph
    from bridge.store.impact import impact as reached_by
    from bridge.store.records import impact_record

    db = open_store(settings)
    graph = Graph(db, settings.org, "job", folding_rule(settings))
    found = reached_by(db, settings.org, graph, located(graph, namespace, name), depth, most)
    if output is Output.json:
        typer.echo(json.dumps(impact_record(found)))
        return
    for line in _lines(found):
        typer.echo(line)


def _lines(found: "Impact") -> Iterator[str]:
    from bridge.cli.cut import tell_cut
    from bridge.cli.escape import escape

    for what, reached in (("datasets", found.datasets), ("jobs", found.jobs)):
        yield f"{len(reached)} {what}"
        for one in reached:
            owned = f"   [{', '.join(one.owners)}]" if one.owners else ""
            yield escape(f"  {one.distance:>3}  {one.name.namespace} {one.name.name}{owned}")
    yield escape(f"owners: {', '.join(found.owners) or 'none known'}")
    yield from tell_cut(found.cut)
