"""`lineage-bridge impact`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Config, DatasetName, DatasetNamespace, Url, dataset_parameters
from bridge.cli.output import OutputFormat, OutputOption, escape, print_result, truncation_note
from bridge.cli.query import QueryRunner
from bridge.store.lineage.walk import MAX_EDGES
from mappers.counts import count_of

if TYPE_CHECKING:
    from bridge.queries.impact import ImpactResult


def impact(
    namespace: DatasetNamespace,
    name: DatasetName = None,
    depth: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of hops")] = 20,
    max_edges: Annotated[int, typer.Option(min=1, max=100_000, help="Maximum number of edges")] = MAX_EDGES,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """List downstream datasets and jobs with their owners and SLAs."""
    from bridge.queries.impact import ImpactQuery

    result = QueryRunner(config, url, api_key).run_or_exit(
        ImpactQuery(**dataset_parameters(namespace, name), depth=depth, most=max_edges)
    )
    print_result(result, _impact_lines(result), as_json=output is OutputFormat.json)


def _impact_lines(result: "ImpactResult") -> Iterator[str]:
    for noun, nodes in (("dataset", result.datasets), ("job", result.jobs)):
        yield count_of(len(nodes), noun)
        for node in nodes:
            owners = f"   [{', '.join(node.owners)}]" if node.owners else ""
            sla_terms = " ".join(f"{key}={value}" for key, value in (node.sla or {}).items())
            sla = f"   SLA {sla_terms}" if sla_terms else ""
            yield escape(f"  {node.distance:>3}  {node.namespace} {node.name}{owners}{sla}")
    yield escape(f"owners: {', '.join(result.owners) or 'none'}")
    yield from truncation_note(result.cut)
