"""What differs between two estates."""

from typing import Literal, NamedTuple

from mappers.legacy.jil.estate import Estate
from mappers.legacy.jil.events import definition_of


class Difference(NamedTuple):
    """A job that came or went, or an attribute of one that says otherwise."""

    job: str
    what: Literal["added", "removed", "changed"]
    attribute: str | None = None
    before: str | None = None
    after: str | None = None


def differences(before: Estate, after: Estate) -> list[Difference]:
    """List what differs, by the names of jobs; secrets are hidden."""
    found = []
    for name in sorted(before.jobs.keys() | after.jobs.keys()):
        old, new = before.jobs.get(name), after.jobs.get(name)
        if old is None or new is None:
            found.append(Difference(name, "added" if old is None else "removed"))
            continue
        was, now = definition_of(old, before.boxes_of(old)), definition_of(new, after.boxes_of(new))
        for attribute in sorted(was.keys() | now.keys()):
            left, right = was.get(attribute), now.get(attribute)
            if left != right:
                found.append(Difference(name, "changed", attribute, _text(left), _text(right)))
    return found


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
