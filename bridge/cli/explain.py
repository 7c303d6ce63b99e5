"""`lineage-bridge explain`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Config, DatasetName, DatasetNamespace, Url, dataset_parameters
from bridge.cli.output import MORE_RESULTS, OutputFormat, OutputOption, escape, print_result
from bridge.cli.query import QueryRunner

if TYPE_CHECKING:
    from bridge.queries.event_finder import EventReference
    from bridge.queries.explain import Assertion, ColumnDerivation, Explanation

_MAX_VALUE_LENGTH = 100


def explain(
    namespace: DatasetNamespace,
    name: DatasetName = None,
    source: Annotated[
        tuple[str, str] | None,
        typer.Option("--from", help="Explain the edge from this upstream dataset", metavar="NAMESPACE NAME"),
    ] = None,
    column: Annotated[str | None, typer.Option(help="Explain the lineage of this column", metavar="COLUMN")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number of events per reason")] = 10,
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
    lines = _explanation_lines(explanation, column, limit)
    print_result(explanation, map(escape, lines), as_json=output is OutputFormat.json)


def _explanation_lines(explanation: "Explanation", column: str | None, limit: int) -> Iterator[str]:
    dataset = f"{explanation.dataset.namespace} {explanation.dataset.name}"
    if explanation.source:
        source = f"{explanation.source.namespace} {explanation.source.name}"
        state = f"shown as {explanation.shown_as}" if explanation.shown_as else "not part of the lineage at present"
        yield f"{source} -> {dataset}: {state}"
        yield from _assertion_lines(explanation.assertions, limit)
        return
    yield dataset
    if column and not explanation.lines:
        yield "  no column lineage"
    events_by_line: dict[str, list[EventReference]] = {}
    for derivation in explanation.lines:
        events_by_line.setdefault(_derivation_line(derivation), []).extend(derivation.events)
    for line, events in events_by_line.items():
        yield line
        yield from _event_lines(events, limit)
    for fact in explanation.facts:
        value = fact.value if fact.value is not None else "(removed)"
        shortened = value if len(value) <= _MAX_VALUE_LENGTH else f"{value[:_MAX_VALUE_LENGTH]}…"
        yield f"  {fact.fact}: {shortened}"
        yield f"    from {fact.rank} at {fact.said_at}"
        yield from _event_lines(fact.events, limit)


def _derivation_line(derivation: "ColumnDerivation") -> str:
    hop = derivation.hop
    column_suffix = f".{hop.source.column}" if hop.source.column else ""
    transformation = "/".join(part for part in (hop.type, hop.subtype) if part)
    masked = " [masked]" if hop.masking else ""
    state = "" if derivation.active else " (not reported by the latest run)"
    source = f"{hop.source.namespace} {hop.source.name}{column_suffix}"
    return f"  {hop.target.column or '(whole dataset)'}  <- {source}  {transformation}{masked}{state}"


def _assertion_lines(assertions: "list[Assertion]", limit: int) -> Iterator[str]:
    """Yield the reasons for an edge; a process and its Spark actions are one reason."""
    groups: dict[tuple[str, str], list[Assertion]] = {}
    for assertion in assertions:
        job = assertion.logical_job or assertion.job
        by = f" of {job.namespace} {job.name}" if job else ""
        groups.setdefault((assertion.evidence, f"{assertion.said_by}{by}"), []).append(assertion)
    for (evidence, reason), members in groups.items():
        run_ids = {member.run_id for member in members if member.run_id}
        run = f", run {run_ids.pop()}" if len(run_ids) == 1 else ""
        first_seen = min(member.first_seen for member in members)
        last_seen = max(member.last_seen for member in members)
        yield f"  {evidence}: {reason}{run}, first {first_seen}, last {last_seen}"
        yield from _event_lines([event for member in members for event in member.events], limit)
    if not assertions:
        yield "  no event reported it"


def _event_lines(events: "list[EventReference]", limit: int) -> Iterator[str]:
    events_by_number = {event.seq: event for event in events}
    for event in list(events_by_number.values())[:limit]:
        job = f" of {event.job}" if event.job else ""
        run = f", run {event.run_id}" if event.run_id else ""
        kind = event.event_type or "no run"
        yield f"    event {event.seq} ({kind} at {event.event_time}{job}{run}, from {event.source})"
    if len(events_by_number) > limit:
        yield f"    {MORE_RESULTS}"
