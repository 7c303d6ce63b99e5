"""Text and JSON output of `lineage-bridge autosys`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mappers.counts import count_of

if TYPE_CHECKING:
    from bridge.intake.autorep_import import AutorepImportResult
    from bridge.intake.autosys_scan import ScanResult
    from mappers.legacy.jil.definition import DefinitionChange
    from mappers.legacy.jil.job_catalog import JobCatalog, JobDefinition
    from mappers.legacy.jil.job_events import ScanOptions

_MAX_NAMES = 20


def catalog_lines(catalog: "JobCatalog", result: "ScanResult", instance: str) -> Iterator[str]:
    """List boxes with their jobs, problems, and changes since the last scan."""
    yield from _tree_lines(catalog)
    for problem in catalog.problems:
        yield str(problem)
    job_types = Counter(job.type for job in catalog.jobs.values())
    counts = ", ".join(f"{count} {job_type}" for job_type, count in sorted(job_types.items()))
    yield f"{count_of(len(catalog.jobs), 'job')} of autosys://{instance}: {counts or 'none'}"
    for label, names in (("new", result.new), ("changed", result.changed), ("retired", result.retired)):
        if names:
            more = f", and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
            yield f"{len(names)} {label}: {', '.join(names[:_MAX_NAMES])}{more}"
    yield f"{result.unchanged} unchanged"
    for refusal in result.refused:
        yield f"rejected: {refusal}"
    if result.refused:
        yield f"{len(result.refused)} rejected: unchanged in the store, and reported again by the next scan"


def scan_json(catalog: "JobCatalog", result: "ScanResult", options: "ScanOptions") -> dict[str, Any]:
    from mappers.redaction import redact_value

    return {
        "instance": options.instance,
        "jobs": [_job_json(job, catalog, options) for job in catalog.jobs.values()],
        "globals": {name: redact_value(name, value) for name, value in catalog.globals.items()},
        "things": {kind: sorted(names) for kind, names in sorted(catalog.objects.items())},
        "problems": [problem.as_json() for problem in catalog.problems],
        "scan": result._asdict(),
    }


def history_lines(result: "AutorepImportResult") -> Iterator[str]:
    yield from result.problems
    if result.skipped_lines:
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(result.skipped_lines.items()))
        yield f"skipped {count_of(sum(result.skipped_lines.values()), 'line')} without a run: {counts}"
    problems = count_of(len(result.problems), "problem")
    yield f"{count_of(result.runs, 'run')} imported, {result.rejected} rejected, {problems}"


def difference_lines(changes: "Sequence[DefinitionChange]") -> Iterator[str]:
    for change in changes:
        if change.change == "changed":
            yield f"{change.job}.{change.attribute}: {change.before or '(none)'} -> {change.after or '(none)'}"
        else:
            yield f"{change.job}: {change.change}"
    yield count_of(len(changes), "difference")


def _tree_lines(catalog: "JobCatalog") -> Iterator[str]:
    """Yield a line for each job, below its box and indented; jobs in a cycle of boxes are omitted."""
    from mappers.legacy.jil.job_catalog import MAX_BOXES

    members = catalog.members_by_box()
    roots = [job.name for job in catalog.jobs.values() if job.box is None or job.box not in catalog.jobs]
    pending = [(name, 0) for name in reversed(roots)]
    while pending:
        name, depth = pending.pop()
        yield f"{'  ' * min(depth, MAX_BOXES)}{_job_line(catalog.jobs[name])}"
        pending += [(member, depth + 1) for member in reversed(members.get(name, ()))]


def _job_line(job: "JobDefinition") -> str:
    from mappers.legacy.jil.job_events import job_dependencies
    from mappers.legacy.jil.schedule import job_schedule, job_sla

    schedule = job_schedule(job)
    sla = job_sla(job)
    facts = [job.type]
    if schedule:
        state = "" if schedule["active"] else " (dead)"
        facts.append(_facet_text(schedule, exclude=("active",)) + state)
    if sla:
        facts.append(f"SLA {_facet_text(sla)}")
    conditions = [f"{dependency.job} {dependency.rule}" for dependency in job_dependencies(job, "")]
    if conditions:
        facts.append(f"after {', '.join(conditions)}")
    return f"{job.name}  {'; '.join(facts)}"


def _facet_text(facet: dict[str, Any], exclude: Sequence[str] = ()) -> str:
    """Format the fields of a facet as names followed by values."""
    parts = []
    for name, value in facet.items():
        if name not in exclude:
            text = ",".join(value) if isinstance(value, list) else value
            parts.append(f"{name} {text}")
    return " ".join(parts)


def _job_json(job: "JobDefinition", catalog: "JobCatalog", options: "ScanOptions") -> dict[str, Any]:
    from mappers.legacy.jil.dataset_scanner import find_datasets
    from mappers.legacy.jil.job_events import job_dependencies, normalized_definition
    from mappers.legacy.jil.schedule import job_schedule, job_sla

    boxes = catalog.enclosing_boxes(job)
    scan = find_datasets(job, options.conventions)
    return {
        "name": job.name,
        "process_key": "/".join(("AUTOSYS", *boxes, job.name)),
        "type": job.type,
        "boxes": list(boxes),
        "file": job.file,
        "line": job.line,
        "schedule": job_schedule(job),
        "sla": job_sla(job),
        "waits_for": [dependency._asdict() for dependency in job_dependencies(job, options.instance)],
        "datasets": [dataset._asdict() for dataset in scan.datasets],
        "scripts": scan.scripts,
        "attributes": normalized_definition(job, boxes),
    }
