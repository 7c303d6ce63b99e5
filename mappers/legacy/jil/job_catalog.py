"""The job catalog of an Autosys instance, built from JIL statements."""

from collections.abc import Iterable
from typing import NamedTuple

from mappers.legacy.diagnostics import Diagnostic, DiagnosticLevel
from mappers.legacy.jil.normalization import is_enabled, job_type
from mappers.legacy.jil.parser import Attribute, Statement

#: Attributes whose values accumulate; a new value of any other attribute replaces the previous one.
_ACCUMULATED = frozenset({"envvars"})
#: Values that remove an attribute.
_REMOVING_VALUES = frozenset({"", "NULL", "null"})
#: Nested boxes that are recorded for a job, because the definition of each job contains them.
MAX_BOXES = 100


class JobDefinition:
    """A job as defined by all statements that refer to it."""

    def __init__(self, name: str, file: str, line: int) -> None:
        self.name = name
        self.file = file
        self.line = line
        self.values: dict[str, str] = {}
        self.accumulated: dict[str, list[str]] = {}
        #: Values for the next run only.
        self.override: dict[str, str] = {}

    @property
    def type(self) -> str:
        """Job type in upper case: BOX, CMD, FW, or a type defined by an agent or a user."""
        return job_type(self.values.get("job_type", "c"))

    @property
    def box(self) -> str | None:
        return self.values.get("box_name") or None

    def get(self, name: str) -> str | None:
        return self.values.get(name)

    def is_on(self, name: str) -> bool:
        return is_enabled(self.values.get(name, ""))

    def set_attributes(self, attributes: Iterable[Attribute]) -> list[Attribute]:
        """Set a statement's attributes; returns the attributes that contradict earlier ones in the statement."""
        contradictions = []
        seen_names: set[str] = set()
        for attribute in attributes:
            if attribute.name in _ACCUMULATED:
                self.accumulated.setdefault(attribute.name, []).append(attribute.value)
                continue
            if attribute.name in seen_names and self.values.get(attribute.name) != attribute.value:
                contradictions.append(attribute)
            seen_names.add(attribute.name)
            if attribute.value in _REMOVING_VALUES:
                self.values.pop(attribute.name, None)
            else:
                self.values[attribute.name] = attribute.value
        return contradictions


class ObjectDefinition(NamedTuple):
    """An object other than a job, such as a machine, a resource or another instance."""

    name: str
    values: dict[str, str]
    file: str
    line: int


class JobCatalog:
    """The jobs, globals, machines, instances and other objects that statements define."""

    def __init__(self) -> None:
        self.jobs: dict[str, JobDefinition] = {}
        self.globals: dict[str, str] = {}
        self.objects: dict[str, dict[str, ObjectDefinition]] = {}
        self.problems: list[Diagnostic] = []

    def apply(self, statements: Iterable[Statement]) -> None:
        """Apply statements in order; statements that cannot be applied are reported in `problems`."""
        job_handlers = {
            "insert_job": self._insert_job,
            "update_job": self._update_job,
            "override_job": self._override_job,
            "rename_job": self._rename_job,
            "delete_job": self._delete_job,
            "delete_box": self._delete_box,
        }
        for statement in statements:
            verb, _, object_type = statement.subcommand.partition("_")
            if (handle := job_handlers.get(statement.subcommand)) is not None:
                handle(statement)
            elif object_type == "global":
                self._apply_global(verb, statement)
            else:
                self._apply_object(verb, object_type, statement)

    def members_by_box(self) -> dict[str, list[str]]:
        """Return the names of the jobs in each box."""
        by_box: dict[str, list[str]] = {}
        for job in self.jobs.values():
            if job.box is not None:
                by_box.setdefault(job.box, []).append(job.name)
        return by_box

    def enclosing_boxes(self, job: JobDefinition) -> tuple[str, ...]:
        """Return the names of the innermost boxes around a job, outermost first; a cycle is followed only once."""
        boxes: list[str] = []
        box = job.box
        while box is not None and len(boxes) < MAX_BOXES and box not in boxes and box != job.name:
            boxes.append(box)
            enclosing_box = self.jobs.get(box)
            box = enclosing_box.box if enclosing_box else None
        return tuple(reversed(boxes))

    def boxes_nested_in_themselves(self) -> set[str]:
        """Return the names of the boxes that contain themselves, directly or through other boxes."""
        nested_in_themselves: set[str] = set()
        visited: set[str] = set()
        for name in self.jobs:
            path: dict[str, None] = {}
            box: str | None = name
            while box is not None and box in self.jobs and box not in visited:
                visited.add(box)
                path[box] = None
                box = self.jobs[box].box
            if box in path:
                boxes = list(path)
                nested_in_themselves.update(boxes[boxes.index(box) :])
        return nested_in_themselves

    def _insert_job(self, statement: Statement) -> None:
        """Define a job; a second definition is reported and replaces the first."""
        previous_job = self.jobs.get(statement.subject)
        if previous_job is not None:
            first_position = f"{previous_job.file}:{previous_job.line}"
            message = f"{statement.subject} is inserted twice, first in {first_position}: this definition is used"
            self._report(statement, "error", message)
        job = JobDefinition(statement.subject, statement.file, statement.line)
        self.jobs[statement.subject] = job
        self._set_attributes(job, statement)

    def _update_job(self, statement: Statement) -> None:
        job = self.jobs.get(statement.subject)
        if job is None:
            self._report(statement, "error", f"{statement.subject} is updated, but there is no such job: ignored")
            return
        self._set_attributes(job, statement)

    def _override_job(self, statement: Statement) -> None:
        """Set attributes for the next run only; the value `delete` removes all of them."""
        job = self.jobs.get(statement.subject)
        if job is None:
            self._report(statement, "error", f"{statement.subject} is overridden, but there is no such job: ignored")
            return
        if statement.attributes and statement.attributes[0].value.lower() == "delete":
            job.override = {}
            return
        job.override |= {attribute.name: attribute.value for attribute in statement.attributes}

    def _delete_job(self, statement: Statement) -> None:
        if self.jobs.pop(statement.subject, None) is None:
            self._report(statement, "warning", f"{statement.subject} is deleted, but there is no such job")

    def _delete_box(self, statement: Statement) -> None:
        """Delete a box with everything in it."""
        if statement.subject not in self.jobs:
            self._report(statement, "warning", f"{statement.subject} is deleted, but there is no such box")
        members = self.members_by_box()
        pending = [statement.subject]
        while pending:
            name = pending.pop()
            if self.jobs.pop(name, None) is not None or name == statement.subject:
                pending += members.pop(name, [])

    def _rename_job(self, statement: Statement) -> None:
        """Rename a job, and update the box name of its members."""
        new_name = next((attribute.value for attribute in statement.attributes if attribute.name == "new_name"), None)
        job = self.jobs.get(statement.subject)
        if job is None or not new_name:
            reason = "there is no such job" if job is None else "new_name is missing"
            self._report(statement, "error", f"{statement.subject} is renamed, but {reason}: ignored")
            return
        if new_name in self.jobs:
            self._report(
                statement, "error", f"{statement.subject} is renamed to {new_name}, which already exists: ignored"
            )
            return
        self.jobs = {
            new_name if name == statement.subject else name: definition for name, definition in self.jobs.items()
        }
        job.name = new_name
        for member in self.jobs.values():
            if member.box == statement.subject:
                member.values["box_name"] = new_name

    def _apply_global(self, verb: str, statement: Statement) -> None:
        if verb == "delete":
            if self.globals.pop(statement.subject, None) is None:
                self._report(statement, "warning", f"the global {statement.subject} is deleted, but does not exist")
            return
        self.globals[statement.subject] = next(
            (attribute.value for attribute in statement.attributes if attribute.name == "value"), ""
        )

    def _apply_object(self, verb: str, object_type: str, statement: Statement) -> None:
        """Insert, update or delete an object that is neither a job nor a global."""
        objects = self.objects.setdefault(object_type, {})
        existing_object = objects.get(statement.subject)
        if verb == "delete":
            if objects.pop(statement.subject, None) is None:
                self._report(
                    statement, "warning", f"the {object_type} {statement.subject} is deleted, but does not exist"
                )
            return
        if verb == "update" and existing_object is None:
            self._report(
                statement, "error", f"the {object_type} {statement.subject} is updated, but does not exist: ignored"
            )
            return
        values = dict(existing_object.values) if existing_object and verb == "update" else {}
        for attribute in statement.attributes:
            if attribute.name == "machine" and "machine" in values:
                values["machine"] += f", {attribute.value}"
            else:
                values[attribute.name] = attribute.value
        objects[statement.subject] = ObjectDefinition(statement.subject, values, statement.file, statement.line)

    def _set_attributes(self, job: JobDefinition, statement: Statement) -> None:
        for attribute in job.set_attributes(statement.attributes):
            message = f"{attribute.name} of {statement.subject} is set twice: the last value is used"
            self.problems.append(Diagnostic(statement.file, attribute.line, "warning", message))

    def _report(self, statement: Statement, level: DiagnosticLevel, message: str) -> None:
        self.problems.append(Diagnostic(statement.file, statement.line, level, message))
