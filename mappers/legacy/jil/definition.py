"""Compares the job definitions of two catalogs."""

from typing import Literal, NamedTuple

from mappers.legacy.jil.job_catalog import JobCatalog
from mappers.legacy.jil.job_events import normalized_definition


class DefinitionChange(NamedTuple):
    """A job that was added or removed, or an attribute that changed."""

    job: str
    change: Literal["added", "removed", "changed"]
    attribute: str | None = None
    before: str | None = None
    after: str | None = None

    def as_json(self) -> dict[str, str | None]:
        """Convert to the public JSON form, with stable keys."""
        return {
            "job": self.job,
            "what": self.change,
            "attribute": self.attribute,
            "before": self.before,
            "after": self.after,
        }


def diff_catalogs(before: JobCatalog, after: JobCatalog) -> list[DefinitionChange]:
    """List the changes between two catalogs, sorted by job name; secrets are redacted."""
    changes = []
    for name in sorted(before.jobs.keys() | after.jobs.keys()):
        old_job, new_job = before.jobs.get(name), after.jobs.get(name)
        if old_job is None or new_job is None:
            changes.append(DefinitionChange(name, "added" if old_job is None else "removed"))
            continue
        old_values = normalized_definition(old_job, before.enclosing_boxes(old_job))
        new_values = normalized_definition(new_job, after.enclosing_boxes(new_job))
        for attribute in sorted(old_values.keys() | new_values.keys()):
            old_value, new_value = old_values.get(attribute), new_values.get(attribute)
            if old_value != new_value:
                changes.append(DefinitionChange(name, "changed", attribute, _as_text(old_value), _as_text(new_value)))
    return changes


def _as_text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
