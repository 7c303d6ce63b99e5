"""Estates of Autosys, for people and programs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bridge.intake.autorep_import import AutorepImportResult
    from bridge.intake.autosys_scan import ScanResult
    from mappers.legacy.jil.definition import DefinitionChange
    from mappers.legacy.jil.job_catalog import JobCatalog, JobDefinition
    from mappers.legacy.jil.job_events import ScanOptions

_MAX_NAMES = 20


def estate_lines(estate: "JobCatalog", scanned: "ScanResult") -> Iterator[str]:
    """Write an estate: its boxes with what is in them, what is wrong, and what changed."""
    members = estate.members()
    tops = [job for job in estate.jobs.values() if job.box is None or job.box not in estate.jobs]
    for job in tops:
        yield from _tree(job, estate, members, 0, frozenset())
    for one in estate.problems:
        yield str(one)
    kinds = Counter(job.type for job in estate.jobs.values())
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    yield f"{len(estate.jobs)} jobs: {listed or 'none'}"
    for word, names in (("new", scanned.new), ("changed", scanned.changed), ("retired", scanned.retired)):
        if names:
            more = f", and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
            yield f"{len(names)} {word}: {', '.join(names[:_MAX_NAMES])}{more}"
    yield f"{scanned.unchanged} as before"
    for one_refused in scanned.refused:
        yield f"refused: {one_refused}"
    if scanned.refused:
        yield f"{len(scanned.refused)} refused: they are as they were, and the next scan tells them again"


def scan_json(estate: "JobCatalog", scanned: "ScanResult", how: "ScanOptions") -> dict[str, Any]:
    """Give an estate for programs."""
    from mappers.redaction import redact_value

    return {
        "instance": how.instance,
        "jobs": [_job(job, estate, how) for job in estate.jobs.values()],
        "globals": {name: redact_value(name, value) for name, value in estate.globals.items()},
        "things": {kind: sorted(named) for kind, named in sorted(estate.objects.items())},
        "problems": [one.as_json() for one in estate.problems],
        "scan": scanned._asdict(),
    }


def history_lines(taken: "AutorepImportResult") -> Iterator[str]:
    """Write what became of reports."""
    yield from taken.problems
    if taken.skipped_lines:
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(taken.skipped_lines.items()))
        yield f"{sum(taken.skipped_lines.values())} lines tell of no run: {listed}"
    yield f"{taken.runs} runs taken, {taken.rejected} refused, {len(taken.problems)} remarks"


def difference_lines(found: "Sequence[DefinitionChange]") -> Iterator[str]:
    """Write what differs."""
    for one in found:
        if one.change == "changed":
            yield f"{one.job}.{one.attribute}: {one.before or '(none)'} -> {one.after or '(none)'}"
        else:
            yield f"{one.job}: {one.change}"
    yield f"{len(found)} differences"


def _tree(
    job: "JobDefinition", estate: "JobCatalog", members: dict[str, list[str]], depth: int, above: frozenset[str]
) -> Iterator[str]:
    from mappers.legacy.jil.job_events import job_dependencies
    from mappers.legacy.jil.schedule import job_schedule, job_sla

    schedule, sla = job_schedule(job), job_sla(job)
    told = [job.type]
    if schedule:
        told.append(_facts(schedule, skipped=("active",)) + ("" if schedule["active"] else " (dead)"))
    if sla:
        told.append(f"promised {_facts(sla)}")
    waits = [f"{one.job} {one.rule}" for one in job_dependencies(job, "")]
    if waits:
        told.append(f"after {', '.join(waits)}")
    yield f"{'  ' * depth}{job.name}  {'; '.join(told)}"
    if job.name not in above:
        for name in members.get(job.name, ()):
            yield from _tree(estate.jobs[name], estate, members, depth + 1, above | {job.name})


def _facts(facet: dict[str, Any], skipped: Sequence[str] = ()) -> str:
    told = ((name, value) for name, value in facet.items() if name not in skipped)
    return " ".join(f"{name} {','.join(value) if isinstance(value, list) else value}" for name, value in told)


def _job(job: "JobDefinition", estate: "JobCatalog", how: "ScanOptions") -> dict[str, Any]:
    from mappers.legacy.jil.dataset_scanner import find_datasets
    from mappers.legacy.jil.job_events import job_dependencies, normalized_definition
    from mappers.legacy.jil.schedule import job_schedule, job_sla

    boxes = estate.enclosing_boxes(job)
    found = find_datasets(job, how.conventions)
    return {
        "name": job.name,
        "process_key": "/".join(("AUTOSYS", *boxes, job.name)),
        "type": job.type,
        "boxes": list(boxes),
        "file": job.file,
        "line": job.line,
        "schedule": job_schedule(job),
        "sla": job_sla(job),
        "waits_for": [one._asdict() for one in job_dependencies(job, how.instance)],
        "datasets": [one._asdict() for one in found.datasets],
        "scripts": found.scripts,
        "attributes": normalized_definition(job, boxes),
    }
