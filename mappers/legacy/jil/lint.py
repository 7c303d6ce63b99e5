"""Finds jobs that cannot start, boxes that cannot end, values not understood."""

from collections.abc import Collection, Iterator, Mapping
from functools import partial

from mappers.legacy.diagnostics import Diagnostic, DiagnosticLevel
from mappers.legacy.jil.conditions import (
    Atom,
    CompoundCondition,
    Condition,
    ExitCodeCondition,
    GlobalCondition,
    InvalidCondition,
    StatusCondition,
    atomic_conditions,
    evaluate,
    parse_condition,
)
from mappers.legacy.jil.dataset_scanner import dataset_warnings
from mappers.legacy.jil.job_catalog import JobCatalog, JobDefinition
from mappers.legacy.jil.schedule import TIMES
from mappers.legacy.jil.value_checks import invalid_values

PREDICATES = ("condition", "box_success", "box_failure")


def unsupported_definitions(estate: JobCatalog) -> list[Diagnostic]:
    """Find what of the definitions of an estate is not taken."""
    return [
        one for job in estate.jobs.values() for one in (*_unsupported_conditions(job), *_values(job), *_datasets(job))
    ]


def _unsupported_conditions(job: JobDefinition) -> Iterator[Diagnostic]:
    for name in PREDICATES:
        if text := job.get(name):
            try:
                parse_condition(text)
            except InvalidCondition as error:
                said = f"{job.name} {name} is no condition: {error}"
                yield Diagnostic(job.file, job.line, "error", said)


def _values(job: JobDefinition) -> Iterator[Diagnostic]:
    for level, said in invalid_values(job.values):
        yield Diagnostic(job.file, job.line, level, f"{job.name} {said}: means nothing")


def _datasets(job: JobDefinition) -> Iterator[Diagnostic]:
    for said in dataset_warnings(job):
        yield Diagnostic(job.file, job.line, "warning", f"{job.name} {said}")


def lint(estate: JobCatalog, instance: str | None = None) -> list[Diagnostic]:
    """Find all that is wrong, in the order of the definitions; jobs of that instance are those of the estate."""
    conditions = {job.name: dict(_conditions(job, instance)) for job in estate.jobs.values()}
    instances = set(estate.objects.get("xinst", {}))
    members = estate.members()
    found: list[Diagnostic] = []
    for job in estate.jobs.values():
        own = conditions[job.name]
        found += _check_conditions(job, estate, instances, own)
        found += _of_box(job, estate, set(members.get(job.name, ())), own)
        found += _check_schedule(job)
        if "condition" in own and not evaluate(
            own["condition"], partial(_can_hold, estate, estate.enclosing_boxes(job))
        ):
            found.append(_problem(job, "error", "never starts: its condition can never hold"))
    found += _cycles(estate, conditions)
    return sorted(found, key=lambda one: (one.file, one.line, one.message))


def _conditions(job: JobDefinition, instance: str | None) -> Iterator[tuple[str, Condition]]:
    for name in PREDICATES:
        text = job.get(name)
        if text:
            try:
                yield name, _here(parse_condition(text), instance)
            except InvalidCondition:
                continue  # told by `unread`


def _here(condition: Condition, instance: str | None) -> Condition:
    """Take jobs of the instance that is looked at for what they are: jobs without an instance."""
    others: list[CompoundCondition] = []
    while isinstance(condition, CompoundCondition):
        others.append(condition)
        condition = condition.left
    found = _atom_here(condition, instance)
    for one in reversed(others):
        found = CompoundCondition(found, one.join, _here(one.right, instance))
    return found


def _atom_here(atom: Atom, instance: str | None) -> Condition:
    if isinstance(atom, GlobalCondition) or atom.instance is None or atom.instance != instance:
        return atom
    return atom._replace(instance=None)


def _check_conditions(
    job: JobDefinition, estate: JobCatalog, instances: set[str], conditions: Mapping[str, Condition]
) -> Iterator[Diagnostic]:
    boxes = estate.enclosing_boxes(job)
    for name, condition in conditions.items():
        for one in atomic_conditions(condition):
            if (
                name == "condition"
                and not isinstance(one, GlobalCondition)
                and one.instance is None
                and one.job in boxes
            ):
                said = f"condition waits for its own box {one.job}, which runs until it has ended"
                yield _problem(job, "error", said)
            if isinstance(one, GlobalCondition):
                if one.name not in estate.globals:
                    yield _problem(job, "warning", f"{name} looks at the global {one.name}, which nothing here sets")
            elif one.instance is not None:
                if one.instance not in instances:
                    yield _problem(
                        job, "warning", f"{name} waits for {one.job} of {one.instance}, which is not declared"
                    )
            elif one.job not in estate.jobs:
                yield _problem(
                    job, "error", f"{name} waits for {one.job}, and no job is called so: that is never true"
                )


def _of_box(
    job: JobDefinition, estate: JobCatalog, members: set[str], conditions: Mapping[str, Condition]
) -> Iterator[Diagnostic]:
    box = job.box
    if box is not None:
        around = estate.jobs.get(box)
        if around is None:
            yield _problem(job, "error", f"lies in the box {box}, which there is not")
        elif around.type != "BOX":
            yield _problem(job, "error", f"lies in {box}, which is no box")
        if estate.is_nested_in_itself(job):
            yield _problem(job, "error", "lies in itself")
    if job.type == "BOX" and not members:
        yield _problem(job, "warning", "is a box with nothing in it: it ends as soon as it starts")
    for name in ("box_success", "box_failure"):
        condition = conditions.get(name)
        if condition is None:
            continue
        if job.type != "BOX":
            yield _problem(job, "warning", f"{name} means nothing for a job that is no box")
            continue
        strangers = {
            one.job for one in atomic_conditions(condition) if not isinstance(one, GlobalCondition)
        } - members
        if strangers:
            names = ", ".join(sorted(strangers))
            yield _problem(job, "warning", f"{name} waits for {names}, not in it: the box may run for ever")


def _check_schedule(job: JobDefinition) -> Iterator[Diagnostic]:
    dead = [name for name in TIMES if job.get(name) and name != "timezone"]
    if dead and not job.is_on("date_conditions"):
        yield _problem(job, "warning", f"{', '.join(dead)} mean nothing without date_conditions: 1")
    for one, other in (("start_times", "start_mins"), ("days_of_week", "run_calendar")):
        if job.get(one) and job.get(other):
            yield _problem(job, "error", f"{one} and {other} exclude each other")
    if job.is_on("date_conditions") and not any(job.get(name) for name in ("days_of_week", "run_calendar")):
        yield _problem(job, "warning", "date_conditions is on, and neither days_of_week nor run_calendar says when")


def _can_hold(estate: JobCatalog, boxes: Collection[str], atom: Atom) -> bool:
    """Tell whether a part could ever hold: what is defined may have any status, what is not has none.

    A box runs as long as a job in it may still start: to that job it has no other status.
    """
    if isinstance(atom, GlobalCondition) or atom.instance is not None:
        return True
    return atom.job in estate.jobs and atom.job not in boxes


def _cycles(estate: JobCatalog, conditions: Mapping[str, Mapping[str, Condition]]) -> Iterator[Diagnostic]:
    """Find jobs that wait for each other's success in a circle: none of them was ever the first."""
    waits = {
        name: sorted(
            {
                one.job
                for one in (atomic_conditions(found["condition"]) if "condition" in found else ())
                if isinstance(one, StatusCondition | ExitCodeCondition) and one.instance is None
                and one.job in estate.jobs
                and not (isinstance(one, StatusCondition) and one.kind == "notrunning")
            }
        )
        for name, found in conditions.items()
    }  # fmt: skip
    done: set[str] = set()
    for first in waits:
        path: list[str] = []
        places: dict[str, int] = {}
        waiting: list[tuple[str, bool]] = [(first, True)]
        while waiting:
            name, entering = waiting.pop()
            if not entering:
                path.pop()
                del places[name]
                done.add(name)
                continue
            if name in places:
                circle = [*path[places[name] :], name]
                yield _problem(estate.jobs[name], "warning", f"waits in a circle: {' <- '.join(circle)}")
                continue
            if name in done:
                continue
            places[name] = len(path)
            path.append(name)
            waiting.append((name, False))
            waiting += [(one, True) for one in waits[name]]


def _problem(job: JobDefinition, level: DiagnosticLevel, said: str) -> Diagnostic:
    return Diagnostic(job.file, job.line, level, f"{job.name} {said}")
