"""Text output of `lineage-bridge show`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bridge.cli.job_text import autosys_lines, fact_lines, sla_text
from bridge.cli.table import short_time
from mappers.counts import count_of

if TYPE_CHECKING:
    from bridge.queries.dataset import DatasetResult
    from bridge.queries.processes import JobResult
    from bridge.queries.runs import DatasetUsageResult, RunDetailsResult
    from bridge.queries.versions import VersionResult
    from bridge.store.references import NodeReference


def _utc(iso: str | None) -> str | None:
    return f"{short_time(iso)} UTC" if iso else None


def dataset_lines(dataset: "DatasetResult") -> Iterator[str]:
    yield f"dataset {dataset.namespace} {dataset.name}"
    yield from fact_lines(
        id=dataset.id, description=dataset.description, owners=dataset.owners, format=dataset.format
    )
    yield from fact_lines(status=dataset.status)
    yield from fact_lines(known_since=_utc(dataset.created_at), last_event=_utc(dataset.updated_at))
    yield from _reference_lines("also known as", dataset.aliases)
    yield from _reference_lines("renamed from", dataset.renamed_from)
    yield from _reference_lines("renamed to", dataset.renamed_to)
    yield from _governance_lines(dataset.governance or {})
    yield from fact_lines(sla=sla_text(dataset.sla), facets=sorted(dataset.facets))
    if dataset.fields:
        yield "  columns:"
        width = max(len(field.name) + 2 * field.depth for field in dataset.fields)
        for field in dataset.fields:
            description = f"   {field.description}" if field.description else ""
            yield f"    {'  ' * field.depth}{field.name:<{width - 2 * field.depth}}  {field.type or ''}{description}"
    if dataset.versions:
        yield "  newest versions (UTC):"
        yield from map(_version_line, dataset.versions)


_SHOWN_ELSEWHERE = frozenset({"asset", "description", "owners", "columns", "syncEnabled"})


def _governance_lines(governance: dict[str, Any]) -> Iterator[str]:
    """Yield governance metadata that is not shown elsewhere."""
    if governance:
        yield f"  governed by the asset {governance.get('asset', '?')}:"
    for key in sorted(governance.keys() - _SHOWN_ELSEWHERE):
        value = governance[key]
        is_string_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
        yield f"    {key}: {', '.join(value) if is_string_list else value}"


def _version_line(version: "VersionResult") -> str:
    counts = (("row", version.rows), ("byte", version.bytes), ("file", version.files))
    sizes = "".join(f", {count_of(count, unit)}" for unit, count in counts if count is not None)
    by = f" by {version.job.namespace} {version.job.name}" if version.job else ""
    latest = " (latest)" if version.latest else ""
    return f"    {version.tag}  {short_time(version.produced_at)}{by}{sizes}{latest}"


def job_lines(job: "JobResult") -> Iterator[str]:
    yield f"job {job.namespace} {job.name}"
    parts = (job.technology, job.job_type, job.processing_type)
    kind = " ".join(part for part in parts if part and part != "NONE")
    yield from fact_lines(id=job.id, kind=kind, description=job.description, owners=job.owners)
    yield from fact_lines(known_since=_utc(job.created_at), last_event=_utc(job.updated_at))
    yield from autosys_lines(job.facets)
    yield from _reference_lines("parent jobs", job.parents)
    yield from _reference_lines("last read", job.inputs)
    yield from _reference_lines("last wrote", job.outputs)
    yield from fact_lines(sla=sla_text(job.sla), facets=sorted(job.facets))
    if job.runs:
        yield "  newest runs (UTC; more: `runs`):"
        yield from (f"    {short_time(run.start_ts)}  {run.status:<9}  {run.run_id}" for run in job.runs)


def _error_lines(error: str) -> Iterator[str]:
    """Yield the complete error message of a run."""
    lines = error.strip("\n").splitlines()
    if len(lines) == 1:
        yield f"  error: {lines[0].strip()}"
    elif lines:
        yield "  error:"
        yield from (f"    {line.expandtabs(4)}".rstrip() for line in lines)


def run_lines(details: "RunDetailsResult") -> Iterator[str]:
    run = details.run
    yield f"run {run.run_id}"
    yield from _reference_lines("of job", [details.job])
    origin = " (derived)" if run.reported else " (derived from its actions: the run itself reported no event)"
    status = run.status + (origin if run.status_derived else "")
    yield from fact_lines(status=status, began=_utc(run.start_ts), ended=_utc(run.end_ts), exit_code=run.exit_code)
    yield from _error_lines(run.error_message or "")
    yield from fact_lines(nominal=" to ".join(part for part in (details.nominal_start, details.nominal_end) if part))
    if details.parent_job:
        yield from _reference_lines(f"in run {details.parent_run_id} of", [details.parent_job])
    yield from _usage_lines("read", details.inputs)
    yield from _usage_lines("wrote", details.outputs)
    if run.steps:
        yield "  steps (UTC):"
        for step in run.steps:
            yield f"    {short_time(step.start_ts)}  {step.status:<9}  {step.run_id}  {step.step}"
    yield from (f"  checked: {result.name} {result.column or ''} {result.status}" for result in details.quality)
    yield from fact_lines(producer=details.producer, facets=sorted(details.facets))


def _usage_lines(verb: str, usages: "list[DatasetUsageResult]") -> Iterator[str]:
    if usages:
        yield f"  {verb}:"
    for usage in usages:
        version = f"  version {usage.version}" if usage.version else ""
        rows = f"  {count_of(usage.rows, 'row')}" if usage.rows is not None else ""
        yield f"    {usage.dataset.namespace} {usage.dataset.name}{version}{rows}"


def _reference_lines(label: str, nodes: "list[NodeReference]") -> Iterator[str]:
    if nodes:
        yield f"  {label}:"
        yield from (f"    {node.namespace} {node.name}" for node in nodes)
