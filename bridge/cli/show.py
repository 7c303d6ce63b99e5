"""`lineage-bridge show`."""

from collections.abc import Iterator
from typing import Annotated, Any
from uuid import UUID

import typer

from bridge.cli.options import ApiKey, Config, Url
from bridge.cli.output import OutputFormat, OutputOption, echo, escape, print_result
from bridge.cli.query import QueryRunner


def show(
    namespace: Annotated[
        str,
        typer.Argument(
            metavar="NAMESPACE", help="Namespace (with NAME), namespace and name in one string, or a run UUID"
        ),
    ],
    name: Annotated[str | None, typer.Argument(help="Dataset or job name")] = None,
    job: Annotated[
        bool, typer.Option("--job", help="Show the job (default: a dataset of that name, else a job)")
    ] = False,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Show a dataset, job or run."""
    if job and name is None:
        raise typer.BadParameter("a job requires NAMESPACE and NAME")
    result, lines = _find_result(QueryRunner(config, url, api_key), namespace, name, job=job)
    print_result(result, map(escape, lines), as_json=output is OutputFormat.json)


def _find_result(runner: QueryRunner, namespace: str, name: str | None, *, job: bool) -> tuple[Any, Iterator[str]]:
    """Find a dataset, job or run, and return it with its lines of text."""
    from bridge.cli.show_text import dataset_lines, job_lines, run_lines
    from bridge.errors import NotFound
    from bridge.queries.dataset import DatasetQuery
    from bridge.queries.processes import JobQuery
    from bridge.queries.runs import RunQuery

    if name is None and _is_uuid(namespace):
        run = runner.run_or_exit(RunQuery(id=namespace))
        return run, run_lines(run)
    if name is None:
        dataset = runner.run_or_exit(DatasetQuery(name=namespace))
        return dataset, dataset_lines(dataset)
    similar: list[str] = []
    if not job:
        try:
            dataset = runner.run(DatasetQuery(namespace=namespace, name=name))
        except NotFound as error:
            similar = error.similar
        else:
            return dataset, dataset_lines(dataset)
    try:
        job_result = runner.run(JobQuery(namespace=namespace, name=name))
    except NotFound as error:
        types = "job" if job else "dataset or job"
        not_found = NotFound(f"no {types} {name!r} in namespace {namespace!r} in the store", similar)
        echo(escape(f"error: {not_found}"), err=True)
        raise typer.Exit(1) from error
    return job_result, job_lines(job_result)


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
