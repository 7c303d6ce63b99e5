"""The job catalog of an Autosys instance, built from JIL statements."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mappers.legacy.diagnostics import Diagnostic, DiagnosticLevel
from mappers.legacy.jil.normalization import is_enabled, job_type
from mappers.legacy.jil.parser import Attribute, Statement

#: Attributes that are gathered, where all others are replaced.
_GATHERED = frozenset({"envvars"})
#: What takes an attribute away.
_CLEARED = frozenset({"", "NULL", "null"})


class JobDefinition:
    """A job as it is defined after all statements about it."""

    def __init__(self, name: str, file: str, line: int) -> None:
        self.name = name
        self.file = file
        self.line = line
        self.values: dict[str, str] = {}
        self.accumulated: dict[str, list[str]] = {}
        #: What the next run has otherwise.
        self.override: dict[str, str] = {}

    @property
    def type(self) -> str:
        """Give its type in capitals: BOX, CMD, FW, or one of an agent's or a user's."""
        return job_type(self.values.get("job_type", "c"))

    @property
    def box(self) -> str | None:
        """Name the box that it lies in."""
        return self.values.get("box_name") or None

    def get(self, name: str) -> str | None:
        """Give the value of an attribute."""
        return self.values.get(name)

    def is_on(self, name: str) -> bool:
        """Tell whether a switch is on."""
        return is_enabled(self.values.get(name, ""))

    def set_attributes(self, attributes: Iterable[Attribute]) -> Iterator[Attribute]:
        """Take attributes; gives those that say otherwise what was said before in the same statement."""
        seen: set[str] = set()
        for one in attributes:
            if one.name in _GATHERED:
                self.accumulated.setdefault(one.name, []).append(one.value)
                continue
            if one.name in seen and self.values.get(one.name) != one.value:
                yield one
            seen.add(one.name)
            if one.value in _CLEARED:
                self.values.pop(one.name, None)
            else:
                self.values[one.name] = one.value


class ObjectDefinition(NamedTuple):
    """Whatever else is defined: a machine, a resource, another instance."""

    name: str
    values: dict[str, str]
    file: str
    line: int


class JobCatalog:
    """The jobs, machines, globals and instances that are left when all statements are done."""

    def __init__(self) -> None:
        self.jobs: dict[str, JobDefinition] = {}
        self.globals: dict[str, str] = {}
        self.objects: dict[str, dict[str, ObjectDefinition]] = {}
        self.problems: list[Diagnostic] = []

    def apply(self, statements: Iterable[Statement]) -> None:
        """Do statements, in their order."""
        for one in statements:
            verb, _, thing = one.verb.partition("_")
            if thing in {"job", "box"}:
                getattr(self, f"_{verb}_{thing}")(one)
            elif thing == "global":
                self._global(verb, one)
            else:
                self._thing(verb, thing, one)

    def members(self) -> dict[str, list[str]]:
        """Name the jobs in each box."""
        found: dict[str, list[str]] = {}
        for job in self.jobs.values():
            if job.box is not None:
                found.setdefault(job.box, []).append(job.name)
        return found

    def enclosing_boxes(self, job: JobDefinition) -> tuple[str, ...]:
        """Name the boxes around a job, outermost first; a box in itself ends the walk."""
        found: list[str] = []
        box = job.box
        while box is not None and box not in found and box != job.name:
            found.append(box)
            around = self.jobs.get(box)
            box = around.box if around else None
        return tuple(reversed(found))

    def is_nested_in_itself(self, job: JobDefinition) -> bool:
        """Tell whether the boxes around a job lead back to it."""
        boxes = self.enclosing_boxes(job)
        outermost = self.jobs.get(boxes[0]) if boxes else job
        return outermost is not None and outermost.box == job.name

    def _insert_job(self, one: Statement) -> None:
        before = self.jobs.get(one.subject)
        if before is not None:
            said = f"{one.subject} is inserted a second time, first in {before.file}:{before.line}: this one counts"
            self._report(one, "error", said)
        self.jobs[one.subject] = job = JobDefinition(one.subject, one.file, one.line)
        self._put(job, one)

    def _update_job(self, one: Statement) -> None:
        job = self.jobs.get(one.subject)
        if job is None:
            self._report(one, "error", f"{one.subject} is updated, and no job is called so: not taken")
            return
        self._put(job, one)

    def _override_job(self, one: Statement) -> None:
        job = self.jobs.get(one.subject)
        if job is None:
            self._report(one, "error", f"{one.subject} is overridden, and no job is called so: not taken")
            return
        if one.attributes and one.attributes[0].value.lower() == "delete":
            job.override = {}
            return
        job.override |= {each.name: each.value for each in one.attributes}

    def _delete_job(self, one: Statement) -> None:
        if self.jobs.pop(one.subject, None) is None:
            self._report(one, "warning", f"{one.subject} is deleted, and no job is called so")

    def _delete_box(self, one: Statement) -> None:
        """Remove a box with all that is in it."""
        if one.subject not in self.jobs:
            self._report(one, "warning", f"{one.subject} is deleted, and no box is called so")
        members = self.members()
        waiting = [one.subject]
        while waiting:
            name = waiting.pop()
            if self.jobs.pop(name, None) is not None or name == one.subject:
                waiting += members.pop(name, [])

    def _rename_job(self, one: Statement) -> None:
        new = next((each.value for each in one.attributes if each.name == "new_name"), None)
        job = self.jobs.get(one.subject)
        if job is None or not new:
            why = "no job is called so" if job is None else "new_name is missing"
            self._report(one, "error", f"{one.subject} is renamed, and {why}: not taken")
            return
        if new in self.jobs:
            self._report(one, "error", f"{one.subject} is renamed to {new}, which there is already: not taken")
            return
        self.jobs = {new if name == one.subject else name: each for name, each in self.jobs.items()}
        job.name = new
        for each in self.jobs.values():
            if each.box == one.subject:
                each.values["box_name"] = new

    def _global(self, verb: str, one: Statement) -> None:
        if verb == "delete":
            if self.globals.pop(one.subject, None) is None:
                self._report(one, "warning", f"the global {one.subject} is deleted, and there is none")
            return
        self.globals[one.subject] = next((each.value for each in one.attributes if each.name == "value"), "")

    def _thing(self, verb: str, kind: str, one: Statement) -> None:
        things = self.objects.setdefault(kind, {})
        before = things.get(one.subject)
        if verb == "delete":
            if things.pop(one.subject, None) is None:
                self._report(one, "warning", f"the {kind} {one.subject} is deleted, and there is none")
            return
        if verb == "update" and before is None:
            self._report(one, "error", f"the {kind} {one.subject} is updated, and there is none: not taken")
            return
        values = dict(before.values) if before and verb == "update" else {}
        for each in one.attributes:
            values[each.name] = (
                f"{values[each.name]}, {each.value}" if each.name == "machine" and each.name in values else each.value
            )
        things[one.subject] = ObjectDefinition(one.subject, values, one.file, one.line)

    def _put(self, job: JobDefinition, one: Statement) -> None:
        for again in job.set_attributes(one.attributes):
            said = f"{again.name} of {one.subject} is said twice: the last counts"
            self.problems.append(Diagnostic(one.file, again.line, "warning", said))

    def _report(self, one: Statement, level: DiagnosticLevel, said: str) -> None:
        self.problems.append(Diagnostic(one.file, one.line, level, said))
