"""Estates of Autosys, for people and programs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bridge.intake.reports import Taken
    from bridge.intake.scanning import Scanned
    from mappers.legacy.jil.difference import Difference
    from mappers.legacy.jil.estate import Estate, Job
    from mappers.legacy.jil.events import Telling

_MOST = 20


def estate_lines(estate: "Estate", scanned: "Scanned") -> Iterator[str]:
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
            more = f", and {len(names) - _MOST} more" if len(names) > _MOST else ""
            yield f"{len(names)} {word}: {', '.join(names[:_MOST])}{more}"
    yield f"{scanned.unchanged} as before"
    for one_refused in scanned.refused:
        yield f"refused: {one_refused}"
    if scanned.refused:
        yield f"{len(scanned.refused)} refused: they are as they were, and the next scan tells them again"


def estate_told(estate: "Estate", scanned: "Scanned", how: "Telling") -> dict[str, Any]:
    """Give an estate for programs."""
    from mappers.secrets import masked_value

    return {
        "instance": how.instance,
        "jobs": [_job(job, estate, how) for job in estate.jobs.values()],
        "globals": {name: masked_value(name, value) for name, value in estate.globals.items()},
        "things": {kind: sorted(named) for kind, named in sorted(estate.things.items())},
        "problems": [one._asdict() for one in estate.problems],
        "scan": scanned._asdict(),
    }


def history_lines(taken: "Taken") -> Iterator[str]:
    """Write what became of reports."""
    yield from taken.problems
    if taken.others:
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(taken.others.items()))
        yield f"{sum(taken.others.values())} lines tell of no run: {listed}"
    yield f"{taken.runs} runs taken, {taken.rejected} refused, {len(taken.problems)} remarks"


def difference_lines(found: "Sequence[Difference]") -> Iterator[str]:
    """Write what differs."""
    for one in found:
        if one.what == "changed":
            yield f"{one.job}.{one.attribute}: {one.before or '(none)'} -> {one.after or '(none)'}"
        else:
            yield f"{one.job}: {one.what}"
    yield f"{len(found)} differences"


def _tree(
    job: "Job", estate: "Estate", members: dict[str, list[str]], depth: int, above: frozenset[str]
) -> Iterator[str]:
    from mappers.legacy.jil.events import dependencies_of
    from mappers.legacy.jil.schedule import schedule_of, sla_of

    schedule, sla = schedule_of(job), sla_of(job)
    told = [job.type]
    if schedule:
        told.append(_facts(schedule, skipped=("active",)) + ("" if schedule["active"] else " (dead)"))
    if sla:
        told.append(f"promised {_facts(sla)}")
    waits = [f"{one.job} {one.rule}" for one in dependencies_of(job, "")]
    if waits:
        told.append(f"after {', '.join(waits)}")
    yield f"{'  ' * depth}{job.name}  {'; '.join(told)}"
    if job.name not in above:
        for name in members.get(job.name, ()):
            yield from _tree(estate.jobs[name], estate, members, depth + 1, above | {job.name})


def _facts(facet: dict[str, Any], skipped: Sequence[str] = ()) -> str:
    told = ((name, value) for name, value in facet.items() if name not in skipped)
    return " ".join(f"{name} {','.join(value) if isinstance(value, list) else value}" for name, value in told)


def _job(job: "Job", estate: "Estate", how: "Telling") -> dict[str, Any]:
    from mappers.legacy.jil.candidates import candidates_of
    from mappers.legacy.jil.events import definition_of, dependencies_of
    from mappers.legacy.jil.schedule import schedule_of, sla_of

    boxes = estate.boxes_of(job)
    found = candidates_of(job, how.conventions)
    return {
        "name": job.name,
        "process_key": "/".join(("AUTOSYS", *boxes, job.name)),
        "type": job.type,
        "boxes": list(boxes),
        "file": job.file,
        "line": job.line,
        "schedule": schedule_of(job),
        "sla": sla_of(job),
        "waits_for": [one._asdict() for one in dependencies_of(job, how.instance)],
        "datasets": [one._asdict() for one in found.datasets],
        "scripts": found.scripts,
        "attributes": definition_of(job, boxes),
    }
