"""`lineage-bridge dataset` commands that read: versions, resolve, history, pins."""

from datetime import datetime
from typing import Annotated

import typer

from bridge.cli.options import ApiKey, Config, DatasetName, DatasetNamespace, Url, dataset_parameters
from bridge.cli.output import OutputFormat, OutputOption
from bridge.cli.query import QueryRunner

dataset = typer.Typer(
    name="dataset",
    help="Resolve, publish, pin, roll back and invalidate dataset versions.",
    no_args_is_help=True,
)
Limit = Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of results")]


@dataset.command()
def versions(
    namespace: DatasetNamespace,
    name: DatasetName = None,
    limit: Limit = 20,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """List dataset versions, newest first, with publication, pins and validity."""
    from bridge.cli.dataset_text import version_lines, version_table
    from bridge.queries.versions import VersionsQuery

    QueryRunner(config, url, api_key).run_and_print(
        VersionsQuery(**dataset_parameters(namespace, name), limit=limit), version_lines, output, version_table
    )


@dataset.command()
def resolve(
    namespace: DatasetNamespace,
    name: DatasetName = None,
    pin: Annotated[
        str,
        typer.Option(
            help="Selector: published, latest, as_of:TIME, version:TAG, pin:NAME, or the name of a version or pin"
        ),
    ] = "published",
    as_of: Annotated[
        datetime | None,
        typer.Option(help="Resolve published or latest as of this time (UTC)", metavar="TIME"),
    ] = None,
    partition: Annotated[str | None, typer.Option(help="Resolve a single partition, e.g. day=2026-01-31")] = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Resolve a dataset to a version and its location."""
    from bridge.cli.dataset_text import resolved_lines
    from bridge.queries.versions import ResolveVersionQuery

    query = ResolveVersionQuery(**dataset_parameters(namespace, name), pin=pin, as_of=as_of, partition=partition)
    QueryRunner(config, url, api_key).run_and_print(query, resolved_lines, output)


@dataset.command()
def history(
    namespace: DatasetNamespace,
    name: DatasetName = None,
    limit: Limit = 20,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Show the publication history of a dataset, newest first."""
    from bridge.cli.dataset_text import history_lines, history_table
    from bridge.queries.publications import PublicationsQuery

    QueryRunner(config, url, api_key).run_and_print(
        PublicationsQuery(**dataset_parameters(namespace, name), limit=limit), history_lines, output, history_table
    )


@dataset.command()
def pins(
    expired: Annotated[bool, typer.Option("--expired", help="Include expired pins")] = False,
    limit: Limit = 100,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """List all pins."""
    from bridge.cli.dataset_text import pin_lines, pin_table
    from bridge.queries.publications import PinsQuery

    query = PinsQuery(expired=expired, limit=limit)
    QueryRunner(config, url, api_key).run_and_print(query, pin_lines, output, pin_table)
