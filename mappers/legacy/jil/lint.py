"""Finds jobs that cannot start, boxes that cannot end, and unsupported values."""

from collections.abc import Collection, Iterator, Mapping
from functools import partial

from mappers.legacy.diagnostics import Diagnostic, DiagnosticLevel
from mappers.legacy.jil.attributes import CONDITION_ATTRIBUTES
from mappers.legacy.jil.conditions import (
    Atom,
    CompoundCondition,
    Condition,
    GlobalCondition,
    InvalidCondition,
    StatusCondition,
    atomic_conditions,
    evaluate,
    parse_condition,
)
from mappers.legacy.jil.dataset_scanner import dataset_warnings
from mappers.legacy.jil.job_catalog import MAX_BOXES, JobCatalog, JobDefinition
from mappers.legacy.jil.schedule import SCHEDULE_ATTRIBUTES
from mappers.legacy.jil.value_checks import invalid_values


def unsupported_definitions(catalog: JobCatalog) -> list[Diagnostic]:
    """Find conditions, values and datasets in definitions that are not supported."""
    return [
        diagnostic
        for job in catalog.jobs.values()
        for diagnostic in (*_unsupported_conditions(job), *_unsupported_values(job), *_unresolved_datasets(job))
    ]


def _unsupported_conditions(job: JobDefinition) -> Iterator[Diagnostic]:
    for name in CONDITION_ATTRIBUTES:
        if text := job.get(name):
            try:
                parse_condition(text)
            except InvalidCondition as error:
                message = f"{job.name} {name} is not a condition: {error}"
                yield Diagnostic(job.file, job.line, "error", message)


def _unsupported_values(job: JobDefinition) -> Iterator[Diagnostic]:
    for level, problem in invalid_values(job.values):
        yield Diagnostic(job.file, job.line, level, f"{job.name} {problem}: ignored")


def _unresolved_datasets(job: JobDefinition) -> Iterator[Diagnostic]:
    for warning in dataset_warnings(job):
        yield Diagnostic(job.file, job.line, "warning", f"{job.name} {warning}")


def lint(catalog: JobCatalog, instance: str | None = None) -> list[Diagnostic]:
    """Find all problems, sorted by position; `instance` is the Autosys instance of the catalog."""
    conditions_by_job = {job.name: dict(_parse_conditions(job, instance)) for job in catalog.jobs.values()}
    instances = set(catalog.objects.get("xinst", {}))
    members_by_box = catalog.members_by_box()
    nested_in_themselves = catalog.boxes_nested_in_themselves()
    diagnostics: list[Diagnostic] = []
    for job in catalog.jobs.values():
        job_conditions = conditions_by_job[job.name]
        diagnostics += _check_conditions(job, catalog, instances, job_conditions)
        diagnostics += _check_box(job, catalog, set(members_by_box.get(job.name, ())), job_conditions)
        diagnostics += _check_nesting(job, catalog, nested_in_themselves)
        diagnostics += _check_schedule(job)
        condition = job_conditions.get("condition")
        can_become_true = partial(_can_become_true, catalog, catalog.enclosing_boxes(job))
        if condition is not None and not evaluate(condition, can_become_true):
            diagnostics.append(_diagnostic(job, "error", "never starts: its condition cannot become true"))
    diagnostics += _find_cycles(catalog, conditions_by_job)
    return sorted(diagnostics, key=lambda diagnostic: (diagnostic.file, diagnostic.line, diagnostic.message))


def _parse_conditions(job: JobDefinition, instance: str | None) -> Iterator[tuple[str, Condition]]:
    for name in CONDITION_ATTRIBUTES:
        text = job.get(name)
        if text:
            try:
                yield name, _localize_condition(parse_condition(text), instance)
            except InvalidCondition:
                continue  # reported by unsupported_definitions


def _localize_condition(condition: Condition, instance: str | None) -> Condition:
    """Remove the instance from conditions on jobs of the catalog's own instance."""
    compounds: list[CompoundCondition] = []
    while isinstance(condition, CompoundCondition):
        compounds.append(condition)
        condition = condition.left
    result = _without_own_instance(condition, instance)
    for compound in reversed(compounds):
        result = CompoundCondition(result, compound.join, _localize_condition(compound.right, instance))
    return result


def _without_own_instance(atom: Atom, instance: str | None) -> Condition:
    if isinstance(atom, GlobalCondition) or atom.instance is None or atom.instance != instance:
        return atom
    return atom._replace(instance=None)


def _check_conditions(
    job: JobDefinition, catalog: JobCatalog, instances: set[str], conditions: Mapping[str, Condition]
) -> Iterator[Diagnostic]:
    """Find conditions that can never be true, or that use undeclared globals or instances."""
    boxes = catalog.enclosing_boxes(job)
    for name, condition in conditions.items():
        for atom in atomic_conditions(condition):
            if isinstance(atom, GlobalCondition):
                if atom.name not in catalog.globals:
                    yield _diagnostic(job, "warning", f"{name} uses the global {atom.name}, which no statement sets")
            elif atom.instance is not None:
                if atom.instance not in instances:
                    yield _diagnostic(
                        job, "warning", f"{name} waits for {atom.job} of {atom.instance}, which is not declared"
                    )
            else:
                if name == "condition" and atom.job in boxes:
                    message = f"condition waits for its enclosing box {atom.job}, which runs until this job has ended"
                    yield _diagnostic(job, "error", message)
                if atom.job not in catalog.jobs:
                    message = f"{name} waits for {atom.job}, but there is no such job: never true"
                    yield _diagnostic(job, "error", message)


def _check_box(
    job: JobDefinition, catalog: JobCatalog, members: set[str], conditions: Mapping[str, Condition]
) -> Iterator[Diagnostic]:
    """Check the box around a job and, for a box, its members and end conditions."""
    box = job.box
    if box is not None:
        enclosing_box = catalog.jobs.get(box)
        if enclosing_box is None:
            yield _diagnostic(job, "error", f"is in the box {box}, which does not exist")
        elif enclosing_box.type != "BOX":
            yield _diagnostic(job, "error", f"is in {box}, which is not a box")
    if job.type == "BOX" and not members:
        yield _diagnostic(job, "warning", "is an empty box: it ends as soon as it starts")
    for name in ("box_success", "box_failure"):
        condition = conditions.get(name)
        if condition is None:
            continue
        if job.type != "BOX":
            yield _diagnostic(job, "warning", f"{name} has no effect on a job that is not a box")
            continue
        awaited_jobs = {atom.job for atom in atomic_conditions(condition) if not isinstance(atom, GlobalCondition)}
        non_members = awaited_jobs - members
        if non_members:
            names = ", ".join(sorted(non_members))
            yield _diagnostic(
                job, "warning", f"{name} waits for {names}, which is not in the box: it may run forever"
            )


def _check_nesting(
    job: JobDefinition, catalog: JobCatalog, nested_in_themselves: Collection[str]
) -> Iterator[Diagnostic]:
    """Find boxes that contain themselves, and the first job with more boxes around it than are recorded."""
    boxes = catalog.enclosing_boxes(job)
    if job.name in nested_in_themselves:
        yield _diagnostic(job, "error", "is nested in itself")
    elif len(boxes) == MAX_BOXES and (outermost := catalog.jobs.get(boxes[0])) and outermost.box:
        further_box = catalog.jobs.get(outermost.box)
        if further_box is None or further_box.box is None:
            message = f"is nested in more than {MAX_BOXES} boxes: only the innermost are recorded"
            yield _diagnostic(job, "warning", message)


def _check_schedule(job: JobDefinition) -> Iterator[Diagnostic]:
    """Find schedule attributes that have no effect, exclude each other or are missing."""
    schedule_attributes = [name for name in SCHEDULE_ATTRIBUTES if job.get(name) and name != "timezone"]
    if schedule_attributes and not job.is_on("date_conditions"):
        names = ", ".join(schedule_attributes)
        yield _diagnostic(job, "warning", f"{names} have no effect without date_conditions: 1")
    for first, second in (("start_times", "start_mins"), ("days_of_week", "run_calendar")):
        if job.get(first) and job.get(second):
            yield _diagnostic(job, "error", f"{first} and {second} are mutually exclusive")
    if job.is_on("date_conditions") and not any(job.get(name) for name in ("days_of_week", "run_calendar")):
        yield _diagnostic(job, "warning", "date_conditions is on, but neither days_of_week nor run_calendar is set")


def _can_become_true(catalog: JobCatalog, boxes: Collection[str], atom: Atom) -> bool:
    """Return whether an atomic condition can become true; a condition on an undefined job cannot.

    A condition on an enclosing box cannot either, because the box runs as long as the job may still start.
    """
    if isinstance(atom, GlobalCondition) or atom.instance is not None:
        return True
    return atom.job in catalog.jobs and atom.job not in boxes


def _find_cycles(catalog: JobCatalog, conditions: Mapping[str, Mapping[str, Condition]]) -> Iterator[Diagnostic]:
    """Find jobs that wait for each other in a cycle, so that none of them can start first."""
    waits_for = {
        name: _awaited_jobs(job_conditions.get("condition"), catalog) for name, job_conditions in conditions.items()
    }
    visited_jobs: set[str] = set()
    for start in waits_for:
        path: list[str] = []
        positions: dict[str, int] = {}
        # Each job is visited twice: on entering, and after all jobs that it waits for.
        pending: list[tuple[str, bool]] = [(start, True)]
        while pending:
            name, is_entering = pending.pop()
            if not is_entering:
                path.pop()
                del positions[name]
                visited_jobs.add(name)
                continue
            if name in positions:
                cycle = [*path[positions[name] :], name]
                yield _diagnostic(catalog.jobs[name], "warning", f"waits in a cycle: {' <- '.join(cycle)}")
                continue
            if name in visited_jobs:
                continue
            positions[name] = len(path)
            path.append(name)
            pending.append((name, False))
            pending += [(awaited_job, True) for awaited_job in waits_for[name]]


def _awaited_jobs(condition: Condition | None, catalog: JobCatalog) -> list[str]:
    """List the jobs of the catalog that must run before a condition becomes true."""
    if condition is None:
        return []
    jobs = set()
    for atom in atomic_conditions(condition):
        if isinstance(atom, GlobalCondition) or atom.instance is not None or atom.job not in catalog.jobs:
            continue
        if isinstance(atom, StatusCondition) and atom.predicate == "notrunning":
            continue
        jobs.add(atom.job)
    return sorted(jobs)


def _diagnostic(job: JobDefinition, level: DiagnosticLevel, message: str) -> Diagnostic:
    return Diagnostic(job.file, job.line, level, f"{job.name} {message}")
