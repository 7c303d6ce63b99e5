"""`lineage-bridge explain`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Config, DatasetName, DatasetNamespace, Url, dataset_parameters
from bridge.cli.output import OutputFormat, escape, print_result
from bridge.cli.query import QueryRunner

if TYPE_CHECKING:
    from bridge.queries.event_finder import EventReference
    from bridge.queries.explain import Explanation

_WIDTH = 100


def explain(
    namespace: DatasetNamespace,
    name: DatasetName = None,
    source: Annotated[
        tuple[str, str] | None,
        typer.Option("--from", help="Explain the edge from this dataset.", metavar="NAMESPACE NAME"),
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="Explain where this column comes from.", metavar="COLUMN")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many reasons of each kind.")] = 10,
    output: Annotated[OutputFormat, typer.Option(help="For people, or one JSON object.")] = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Tell which events and facets made a dataset, an edge into it, or a column of it."""
    if source and column:
        raise typer.BadParameter("explain an edge or a column: --from or --column")
    from bridge.queries.explain import ExplainQuery

    of = dataset_parameters(namespace, name)
    edge = {"source_namespace": source[0], "source_name": source[1]} if source else {}
    found = QueryRunner(config, url, api_key).run_or_exit(ExplainQuery(**of, **edge, field=column, limit=limit))
    print_result(found, map(escape, _lines(found, column)), as_json=output is OutputFormat.json)


def _lines(found: "Explanation", column: str | None) -> Iterator[str]:
    of = f"{found.dataset.namespace} {found.dataset.name}"
    if found.source:
        yield f"{found.source.namespace} {found.source.name} -> {of}: " + (
            f"shown as {found.shown_as}" if found.shown_as else "no walk shows this edge now"
        )
        for one in found.assertions:
            by = f" of {one.job.namespace} {one.job.name}" if one.job else ""
            run = f", run {one.run_id}" if one.run_id else ""
            yield f"  {one.evidence}: {one.said_by}{by}{run}, first {one.first_seen}, last {one.last_seen}"
            yield from _events(one.events)
        if not found.assertions:
            yield "  nothing was ever said of it"
        return
    yield of
    if column and not found.lines:
        yield "  no column lineage is known"
    for line in found.lines:
        hop = line.hop
        of_column = f".{hop.source.column}" if hop.source.column else ""
        how = "/".join(part for part in (hop.type, hop.subtype) if part) + " [masked]" * hop.masking
        kept = "" if line.active else " (the newest run does not show it)"
        made_of = f"{hop.source.namespace} {hop.source.name}{of_column}"
        yield f"  {hop.target.column or '(whole dataset)'}  <- {made_of}  {how}{kept}"
        yield from _events(line.events)
    for fact in found.facts:
        value = fact.value if fact.value is not None else "(taken back)"
        yield f"  {fact.fact}: {value if len(value) <= _WIDTH else value[:_WIDTH] + '…'}"
        yield f"    said by {fact.rank} at {fact.said_at}"
        yield from _events(fact.events)


def _events(events: "list[EventReference]") -> Iterator[str]:
    for event in events:
        of = f" of {event.job}" if event.job else ""
        run = f", run {event.run_id}" if event.run_id else ""
        kind = event.event_type or "no run"
        yield f"    event {event.seq} ({kind} at {event.event_time}{of}{run}, from {event.source})"
