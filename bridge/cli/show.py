"""`lineage-bridge show`."""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from bridge.cli.options import ApiKey, Config, Url
from bridge.cli.output import OutputFormat, escape, print_result
from bridge.cli.query import QueryRunner

if TYPE_CHECKING:
    from bridge.queries.dataset import DatasetResult
    from bridge.queries.processes import JobResult
    from bridge.queries.runs import DatasetUsageResult, RunDetailsResult
    from bridge.queries.versions import VersionResult
    from bridge.store.references import NodeReference


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
    output: Annotated[OutputFormat, typer.Option(help="For people, or one JSON object.")] = OutputFormat.text,
    config: Config = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Show a dataset, job or run."""
    if job and name is None:
        raise typer.BadParameter("a job is named by its namespace and name")
    answer, lines = _found(QueryRunner(config, url, api_key), namespace, name, job=job)
    print_result(answer, map(escape, lines), as_json=output is OutputFormat.json)


def _found(asked: QueryRunner, namespace: str, name: str | None, *, job: bool) -> tuple[Any, Iterator[str]]:
    from bridge.errors import NotFound
    from bridge.queries.dataset import DatasetQuery
    from bridge.queries.processes import JobQuery
    from bridge.queries.runs import RunQuery

    if name is None and _is_uuid(namespace):
        run = asked.run_or_exit(RunQuery(id=namespace))
        return run, _run(run)
    if name is None:
        dataset = asked.run_or_exit(DatasetQuery(name=namespace))
        return dataset, _dataset(dataset)
    if not job:
        with suppress(NotFound):
            dataset = asked.run(DatasetQuery(namespace=namespace, name=name))
            return dataset, _dataset(dataset)
    try:
        process = asked.run(JobQuery(namespace=namespace, name=name))
    except NotFound as error:
        what = "job" if job else "dataset or job"
        typer.echo(escape(f"error: no {what} {name!r} in namespace {namespace!r} in the store"), err=True)
        raise typer.Exit(1) from error
    return process, _process(process)


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _dataset(dataset: "DatasetResult") -> Iterator[str]:
    yield f"dataset {dataset.namespace} {dataset.name}"
    yield from _said(id=dataset.id, description=dataset.description, owners=dataset.owners, format=dataset.format)
    yield from _said(status=dataset.status, known_since=dataset.created_at, last_event=dataset.updated_at)
    yield from _things("also known as", dataset.aliases)
    yield from _things("renamed from", dataset.renamed_from)
    yield from _things("renamed to", dataset.renamed_to)
    yield from _governed(dataset.governance or {})
    yield from _said(sla=dataset.sla, facets=sorted(dataset.facets))
    if dataset.fields:
        yield "  columns:"
        width = max(len(one.name) + 2 * one.depth for one in dataset.fields)
        for one in dataset.fields:
            described = f"   {one.description}" if one.description else ""
            yield f"    {'  ' * one.depth}{one.name:<{width - 2 * one.depth}}  {one.type or ''}{described}"
    if dataset.versions:
        yield "  newest versions:"
        yield from map(_version, dataset.versions)


_TOLD_ELSEWHERE = frozenset({"asset", "description", "owners", "columns", "syncEnabled"})


def _governed(said: dict[str, Any]) -> Iterator[str]:
    """Tell what a steward wrote down, but for what is told elsewhere."""
    if said:
        yield f"  governed by the asset {said.get('asset', '?')}:"
    for key in sorted(said.keys() - _TOLD_ELSEWHERE):
        plain = isinstance(said[key], list) and all(isinstance(one, str) for one in said[key])
        yield f"    {key}: {', '.join(said[key]) if plain else said[key]}"


def _version(version: "VersionResult") -> str:
    figures = (("rows", version.rows), ("bytes", version.bytes), ("files", version.files))
    told = "".join(f", {count} {what}" for what, count in figures if count is not None)
    by = f" by {version.job.namespace} {version.job.name}" if version.job else ""
    return f"    {version.tag}  {version.produced_at}{by}{told}{' (latest)' if version.latest else ''}"


def _process(process: "JobResult") -> Iterator[str]:
    yield f"job {process.namespace} {process.name}"
    kind = " ".join(part for part in (process.technology, process.job_type, process.processing_type) if part)
    yield from _said(id=process.id, kind=kind, description=process.description, owners=process.owners)
    yield from _said(known_since=process.created_at, last_event=process.updated_at)
    yield from _things("started by or in", process.parents)
    yield from _things("last read", process.inputs)
    yield from _things("last wrote", process.outputs)
    yield from _said(sla=process.sla, facets=sorted(process.facets))
    if process.runs:
        yield "  newest runs (more: `runs`):"
        yield from (f"    {run.start_ts}  {run.status:<9}  {run.run_id}" for run in process.runs)


def _run(answer: "RunDetailsResult") -> Iterator[str]:
    run = answer.run
    yield f"run {run.run_id}"
    yield from _things("of job", [answer.job])
    status = run.status + (" (derived)" if run.status_derived else "")
    yield from _said(status=status, began=run.start_ts, ended=run.end_ts, error=run.error_message)
    yield from _said(nominal=" to ".join(part for part in (answer.nominal_start, answer.nominal_end) if part))
    if answer.parent_job:
        yield from _things(f"in run {answer.parent_run_id} of", [answer.parent_job])
    yield from _touched("read", answer.inputs)
    yield from _touched("wrote", answer.outputs)
    if run.steps:
        yield "  steps:"
        yield from (f"    {step.start_ts}  {step.status:<9}  {step.run_id}  {step.step}" for step in run.steps)
    yield from (f"  checked: {one.name} {one.column or ''} {one.status}" for one in answer.quality)
    yield from _said(producer=answer.producer, facets=sorted(answer.facets))


def _touched(did: str, touched: "list[DatasetUsageResult]") -> Iterator[str]:
    if touched:
        yield f"  {did}:"
    for one in touched:
        version = f"  version {one.version}" if one.version else ""
        rows = f"  {one.rows} rows" if one.rows is not None else ""
        yield f"    {one.dataset.namespace} {one.dataset.name}{version}{rows}"


def _things(what: str, things: "list[NodeReference]") -> Iterator[str]:
    if things:
        yield f"  {what}:"
        yield from (f"    {one.namespace} {one.name}" for one in things)


def _said(**facts: object) -> Iterator[str]:
    """Give a line for each fact that is known."""
    for fact, value in facts.items():
        if value:
            shown = ", ".join(value) if isinstance(value, list) else value
            yield f"  {fact.replace('_', ' ')}: {shown}"
