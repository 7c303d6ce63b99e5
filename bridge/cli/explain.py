"""`lineage-bridge explain`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Config, DatasetName, DatasetNamespace, Url, dataset_parameters
from bridge.cli.output import OutputFormat, OutputOption, escape, print_result
from bridge.cli.query import QueryRunner

if TYPE_CHECKING:
    from bridge.queries.event_finder import EventReference
    from bridge.queries.explain import Assertion, Explanation

_MAX_VALUE_LENGTH = 100


def explain(
    namespace: DatasetNamespace,
    name: DatasetName = None,
    source: Annotated[
        tuple[str, str] | None,
        typer.Option("--from", help="Explain the edge from this upstream dataset", metavar="NAMESPACE NAME"),
    ] = None,
    column: Annotated[str | None, typer.Option(help="Explain the lineage of this column", metavar="COLUMN")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number of events per kind of evidence")] = 10,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Show the events and facets behind a dataset, edge or column."""
    if source and column:
        raise typer.BadParameter("explain an edge or a column: --from or --column")
    from bridge.queries.explain import ExplainQuery

    parameters = dataset_parameters(namespace, name)
    source_namespace, source_name = source or (None, None)
    query = ExplainQuery(
        **parameters, source_namespace=source_namespace, source_name=source_name, field=column, limit=limit
    )
    explanation = QueryRunner(config, url, api_key).run_or_exit(query)
    lines = _explanation_lines(explanation, column)
    print_result(explanation, map(escape, lines), as_json=output is OutputFormat.json)


def _explanation_lines(explanation: "Explanation", column: str | None) -> Iterator[str]:
    dataset = f"{explanation.dataset.namespace} {explanation.dataset.name}"
    if explanation.source:
        source = f"{explanation.source.namespace} {explanation.source.name}"
        state = f"shown as {explanation.shown_as}" if explanation.shown_as else "not part of the lineage at present"
        yield f"{source} -> {dataset}: {state}"
        yield from _assertion_lines(explanation.assertions)
        return
    yield dataset
    if column and not explanation.lines:
        yield "  no column lineage"
    for derivation in explanation.lines:
        hop = derivation.hop
        column_suffix = f".{hop.source.column}" if hop.source.column else ""
        transformation = "/".join(part for part in (hop.type, hop.subtype) if part)
        masked = " [masked]" if hop.masking else ""
        state = "" if derivation.active else " (not reported by the latest run)"
        source = f"{hop.source.namespace} {hop.source.name}{column_suffix}"
        yield f"  {hop.target.column or '(whole dataset)'}  <- {source}  {transformation}{masked}{state}"
        yield from _event_lines(derivation.events)
    for fact in explanation.facts:
        value = fact.value if fact.value is not None else "(removed)"
        shortened = value if len(value) <= _MAX_VALUE_LENGTH else f"{value[:_MAX_VALUE_LENGTH]}…"
        yield f"  {fact.fact}: {shortened}"
        yield f"    from {fact.rank} at {fact.said_at}"
        yield from _event_lines(fact.events)


def _assertion_lines(assertions: "list[Assertion]") -> Iterator[str]:
    for assertion in assertions:
        by = f" of {assertion.job.namespace} {assertion.job.name}" if assertion.job else ""
        run = f", run {assertion.run_id}" if assertion.run_id else ""
        period = f"first {assertion.first_seen}, last {assertion.last_seen}"
        yield f"  {assertion.evidence}: {assertion.said_by}{by}{run}, {period}"
        yield from _event_lines(assertion.events)
    if not assertions:
        yield "  no event reported it"


def _event_lines(events: "list[EventReference]") -> Iterator[str]:
    for event in events:
        job = f" of {event.job}" if event.job else ""
        run = f", run {event.run_id}" if event.run_id else ""
        kind = event.event_type or "no run"
        yield f"    event {event.seq} ({kind} at {event.event_time}{job}{run}, from {event.source})"
