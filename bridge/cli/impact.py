"""`lineage-bridge impact`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import ApiKey, Config, DatasetName, DatasetNamespace, Url, dataset_parameters
from bridge.cli.output import OutputFormat, escape, print_result, truncation_note
from bridge.cli.query import QueryRunner
from bridge.store.lineage.walk import MAX_EDGES

if TYPE_CHECKING:
    from bridge.queries.impact import ImpactResult


def impact(
    namespace: DatasetNamespace,
    name: DatasetName = None,
    depth: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of hops")] = 20,
    max_edges: Annotated[int, typer.Option(min=1, max=100_000, help="Edges at most.")] = MAX_EDGES,
    output: Annotated[OutputFormat, typer.Option(help="A list, or one JSON object.")] = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """List downstream datasets and jobs with their owners and SLAs."""
    from bridge.queries.impact import ImpactQuery

    found = QueryRunner(config, url, api_key).run_or_exit(
        ImpactQuery(**dataset_parameters(namespace, name), depth=depth, most=max_edges)
    )
    print_result(found, _lines(found), as_json=output is OutputFormat.json)


def _lines(found: "ImpactResult") -> Iterator[str]:
    for what, reached in (("datasets", found.datasets), ("jobs", found.jobs)):
        yield f"{len(reached)} {what}"
        for one in reached:
            owned = f"   [{', '.join(one.owners)}]" if one.owners else ""
            promised = "   SLA " + " ".join(f"{key}={value}" for key, value in one.sla.items()) if one.sla else ""
            yield escape(f"  {one.distance:>3}  {one.namespace} {one.name}{owned}{promised}")
    yield escape(f"owners: {', '.join(found.owners) or 'none known'}")
    yield from truncation_note(found.cut)
