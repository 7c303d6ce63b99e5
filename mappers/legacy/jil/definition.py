"""Normalized job definitions, and differences between catalogs."""

from typing import Literal, NamedTuple

from mappers.legacy.jil.job_catalog import JobCatalog
from mappers.legacy.jil.job_events import normalized_definition


class DefinitionChange(NamedTuple):
    """A job that came or went, or an attribute of one that says otherwise."""

    job: str
    change: Literal["added", "removed", "changed"]
    attribute: str | None = None
    before: str | None = None
    after: str | None = None

    def as_json(self) -> dict[str, str | None]:
        """Public JSON form; its keys are stable."""
        return {
            "job": self.job,
            "what": self.change,
            "attribute": self.attribute,
            "before": self.before,
            "after": self.after,
        }


def diff_catalogs(before: JobCatalog, after: JobCatalog) -> list[DefinitionChange]:
    """List what differs, by the names of jobs; secrets are hidden."""
    found = []
    for name in sorted(before.jobs.keys() | after.jobs.keys()):
        old, new = before.jobs.get(name), after.jobs.get(name)
        if old is None or new is None:
            found.append(DefinitionChange(name, "added" if old is None else "removed"))
            continue
        was, now = (
            normalized_definition(old, before.enclosing_boxes(old)),
            normalized_definition(new, after.enclosing_boxes(new)),
        )
        for attribute in sorted(was.keys() | now.keys()):
            left, right = was.get(attribute), now.get(attribute)
            if left != right:
                found.append(DefinitionChange(name, "changed", attribute, _text(left), _text(right)))
    return found


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
