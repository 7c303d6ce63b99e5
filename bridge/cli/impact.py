"""`lineage-bridge impact`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.cut import tell_cut
from bridge.cli.escape import escape
from bridge.cli.options import ApiKey, Asked, Config, DatasetName, DatasetNamespace, Output, Url, named, print_answer
from bridge.store.limits import MOST_EDGES

if TYPE_CHECKING:
    from bridge.catalogue.impact import ImpactAnswer


def impact(
    namespace: DatasetNamespace,
    name: DatasetName = None,
    depth: Annotated[int, typer.Option(min=1, max=10_000, help="How many datasets far.")] = 20,
    most: Annotated[int, typer.Option(min=1, max=100_000, help="How many edges at most.")] = MOST_EDGES,
    output: Annotated[Output, typer.Option(help="A list, or one JSON object.")] = Output.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Show what a change of a dataset reaches: datasets, jobs, their owners, and what was promised of them."""
    from bridge.catalogue.impact import Impact

    found = Asked(config, url, api_key).ask(Impact(**named(namespace, name), depth=depth, most=most))
    print_answer(found, _lines(found), as_json=output is Output.json)


def _lines(found: "ImpactAnswer") -> Iterator[str]:
    for what, reached in (("datasets", found.datasets), ("jobs", found.jobs)):
        yield f"{len(reached)} {what}"
        for one in reached:
            owned = f"   [{', '.join(one.owners)}]" if one.owners else ""
            promised = "   SLA " + " ".join(f"{key}={value}" for key, value in one.sla.items()) if one.sla else ""
            yield escape(f"  {one.distance:>3}  {one.namespace} {one.name}{owned}{promised}")
    yield escape(f"owners: {', '.join(found.owners) or 'none known'}")
    yield from tell_cut(found.cut)
