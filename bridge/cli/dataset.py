"""`lineage-bridge dataset`: which version is meant, and what was decided of versions."""

from datetime import datetime
from typing import Annotated

import typer

from bridge.cli.options import ApiKey, Config, DatasetName, DatasetNamespace, Url, dataset_parameters
from bridge.cli.output import OutputFormat
from bridge.cli.query import QueryRunner

dataset = typer.Typer(
    name="dataset",
    help="Versions of datasets: which one is meant, what is published, pinned, not to be read.",
    no_args_is_help=True,
)
OutputOption = Annotated[OutputFormat, typer.Option(help="For people, or one JSON object.")]
Limit = Annotated[int, typer.Option(min=1, max=1_000, help="How many at most.")]


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
    """List the versions of a dataset, newest first, with what was decided of each."""
    from bridge.cli.dataset_text import version_lines
    from bridge.queries.versions import VersionsQuery

    QueryRunner(config, url, api_key).run_and_print(
        VersionsQuery(**dataset_parameters(namespace, name), limit=limit), version_lines, output
    )


@dataset.command()
def resolve(
    namespace: DatasetNamespace,
    name: DatasetName = None,
    pin: Annotated[
        str,
        typer.Option(help="`published`, `latest`, `as_of:TIME`, a version or a pin (`version:TAG`, `pin:NAME`)."),
    ] = "published",
    as_of: Annotated[
        datetime | None,
        typer.Option(help="What was published, or the latest, at that time (UTC).", metavar="TIME"),
    ] = None,
    partition: Annotated[str | None, typer.Option(help="Of one partition, such as `day=2026-01-31`.")] = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Tell which version of a dataset is meant, and where it lies."""
    from bridge.cli.dataset_text import resolved_lines
    from bridge.queries.versions import ResolveVersionQuery

    question = ResolveVersionQuery(**dataset_parameters(namespace, name), pin=pin, as_of=as_of, partition=partition)
    QueryRunner(config, url, api_key).run_and_print(question, resolved_lines, output)


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
    """List what was published of a dataset, newest first: when, by whom and why."""
    from bridge.cli.dataset_text import history_lines
    from bridge.queries.publications import PublicationsQuery

    QueryRunner(config, url, api_key).run_and_print(
        PublicationsQuery(**dataset_parameters(namespace, name), limit=limit), history_lines, output
    )


@dataset.command()
def pins(
    expired: Annotated[bool, typer.Option("--expired", help="Also those that have expired.")] = False,
    limit: Limit = 100,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """List the pins of all datasets."""
    from bridge.cli.dataset_text import pin_lines
    from bridge.queries.publications import PinsQuery

    QueryRunner(config, url, api_key).run_and_print(PinsQuery(expired=expired, limit=limit), pin_lines, output)
