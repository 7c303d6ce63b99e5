"""What a definition says and nobody can take: conditions, and datasets that have no name. Every scan says so."""

from collections.abc import Iterator

from mappers.legacy.jil.candidates import remarks_of
from mappers.legacy.jil.conditions import BadCondition, read_condition
from mappers.legacy.jil.estate import Estate, Job
from mappers.legacy.jil.statements import Problem

PREDICATES = ("condition", "box_success", "box_failure")


def unread(estate: Estate) -> list[Problem]:
    """Find what of the definitions of an estate is not taken."""
    return [one for job in estate.jobs.values() for one in (*_conditions(job), *_datasets(job))]


def _conditions(job: Job) -> Iterator[Problem]:
    for name in PREDICATES:
        if text := job.get(name):
            try:
                read_condition(text)
            except BadCondition as error:
                said = f"{job.name} {name} is no condition: {error}"
                yield Problem(job.file, job.line, "error", said)


def _datasets(job: Job) -> Iterator[Problem]:
    for said in remarks_of(job):
        yield Problem(job.file, job.line, "warning", f"{job.name} {said}")
