"""What a definition says and nobody can take: conditions, values, datasets without a name. Every scan says so."""

from collections.abc import Iterator

from mappers.legacy.jil.candidates import remarks_of
from mappers.legacy.jil.conditions import BadCondition, read_condition
from mappers.legacy.jil.estate import Estate, Job
from mappers.legacy.jil.statements import Problem
from mappers.legacy.jil.values import wrong_values

PREDICATES = ("condition", "box_success", "box_failure")


def unread(estate: Estate) -> list[Problem]:
    """Find what of the definitions of an estate is not taken."""
    return [one for job in estate.jobs.values() for one in (*_conditions(job), *_values(job), *_datasets(job))]


def _conditions(job: Job) -> Iterator[Problem]:
    for name in PREDICATES:
        if text := job.get(name):
            try:
                read_condition(text)
            except BadCondition as error:
                said = f"{job.name} {name} is no condition: {error}"
                yield Problem(job.file, job.line, "error", said)


def _values(job: Job) -> Iterator[Problem]:
    for level, said in wrong_values(job.values):
        yield Problem(job.file, job.line, level, f"{job.name} {said}: means nothing")


def _datasets(job: Job) -> Iterator[Problem]:
    for said in remarks_of(job):
        yield Problem(job.file, job.line, "warning", f"{job.name} {said}")
