"""What is wrong with an estate though every line of it can be read: jobs that never start, boxes that never end."""

from collections.abc import Collection, Iterator, Mapping
from functools import partial

from mappers.legacy.jil.conditions import (
    Atom,
    BadCondition,
    Both,
    Condition,
    ExitCodeIs,
    GlobalIs,
    StatusIs,
    atoms,
    decided,
    read_condition,
)
from mappers.legacy.jil.estate import Estate, Job
from mappers.legacy.jil.schedule import TIMES
from mappers.legacy.jil.statements import Level, Problem
from mappers.legacy.jil.unread import PREDICATES


def lint(estate: Estate, instance: str | None = None) -> list[Problem]:
    """Find all that is wrong, in the order of the definitions; jobs of that instance are those of the estate."""
    conditions = {job.name: dict(_conditions(job, instance)) for job in estate.jobs.values()}
    instances = set(estate.things.get("xinst", {}))
    members = estate.members()
    found: list[Problem] = []
    for job in estate.jobs.values():
        own = conditions[job.name]
        found += _of_conditions(job, estate, instances, own)
        found += _of_box(job, estate, set(members.get(job.name, ())), own)
        found += _of_times(job)
        if "condition" in own and not decided(own["condition"], partial(_can_hold, estate, estate.boxes_of(job))):
            found.append(_problem(job, "error", "never starts: its condition can never hold"))
    found += _cycles(estate, conditions)
    return sorted(found, key=lambda one: (one.file, one.line, one.said))


def _conditions(job: Job, instance: str | None) -> Iterator[tuple[str, Condition]]:
    for name in PREDICATES:
        text = job.get(name)
        if text:
            try:
                yield name, _here(read_condition(text), instance)
            except BadCondition:
                continue  # told by `unread`


def _here(condition: Condition, instance: str | None) -> Condition:
    """Take jobs of the instance that is looked at for what they are: jobs without an instance."""
    others: list[Both] = []
    while isinstance(condition, Both):
        others.append(condition)
        condition = condition.left
    found = _atom_here(condition, instance)
    for one in reversed(others):
        found = Both(found, one.join, _here(one.right, instance))
    return found


def _atom_here(atom: Atom, instance: str | None) -> Condition:
    if isinstance(atom, GlobalIs) or atom.instance is None or atom.instance != instance:
        return atom
    return atom._replace(instance=None)


def _of_conditions(
    job: Job, estate: Estate, instances: set[str], conditions: Mapping[str, Condition]
) -> Iterator[Problem]:
    boxes = estate.boxes_of(job)
    for name, condition in conditions.items():
        for one in atoms(condition):
            if name == "condition" and not isinstance(one, GlobalIs) and one.instance is None and one.job in boxes:
                said = f"condition waits for its own box {one.job}, which runs until it has ended"
                yield _problem(job, "error", said)
            if isinstance(one, GlobalIs):
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


def _of_box(job: Job, estate: Estate, members: set[str], conditions: Mapping[str, Condition]) -> Iterator[Problem]:
    box = job.box
    if box is not None:
        around = estate.jobs.get(box)
        if around is None:
            yield _problem(job, "error", f"lies in the box {box}, which there is not")
        elif around.type != "BOX":
            yield _problem(job, "error", f"lies in {box}, which is no box")
        if estate.lies_in_itself(job):
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
        strangers = {one.job for one in atoms(condition) if not isinstance(one, GlobalIs)} - members
        if strangers:
            names = ", ".join(sorted(strangers))
            yield _problem(job, "warning", f"{name} waits for {names}, not in it: the box may run for ever")


def _of_times(job: Job) -> Iterator[Problem]:
    dead = [name for name in TIMES if job.get(name) and name != "timezone"]
    if dead and not job.is_on("date_conditions"):
        yield _problem(job, "warning", f"{', '.join(dead)} mean nothing without date_conditions: 1")
    for one, other in (("start_times", "start_mins"), ("days_of_week", "run_calendar")):
        if job.get(one) and job.get(other):
            yield _problem(job, "error", f"{one} and {other} exclude each other")
    if job.is_on("date_conditions") and not any(job.get(name) for name in ("days_of_week", "run_calendar")):
        yield _problem(job, "warning", "date_conditions is on, and neither days_of_week nor run_calendar says when")


def _can_hold(estate: Estate, boxes: Collection[str], atom: Atom) -> bool:
    """Tell whether a part could ever hold: what is defined may have any status, what is not has none.

    A box runs as long as a job in it may still start: to that job it has no other status.
    """
    if isinstance(atom, GlobalIs) or atom.instance is not None:
        return True
    return atom.job in estate.jobs and atom.job not in boxes


def _cycles(estate: Estate, conditions: Mapping[str, Mapping[str, Condition]]) -> Iterator[Problem]:
    """Find jobs that wait for each other's success in a circle: none of them was ever the first."""
    waits = {
        name: sorted(
            {
                one.job
                for one in (atoms(found["condition"]) if "condition" in found else ())
                if isinstance(one, StatusIs | ExitCodeIs) and one.instance is None and one.job in estate.jobs
                and not (isinstance(one, StatusIs) and one.kind == "notrunning")
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


def _problem(job: Job, level: Level, said: str) -> Problem:
    return Problem(job.file, job.line, level, f"{job.name} {said}")
