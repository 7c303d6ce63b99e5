"""How an entity was found: what a push would change of what governs it, and what was changed over there."""

from collections.abc import Iterator
from typing import NamedTuple

from bridge.sync.target import Step
from mappers.governance.agreement import Told
from mappers.governance.merge import Conflict, Fields, Path, Value, elements, same
from mappers.openmetadata.governance import DISPLAY_NAME, as_found, as_said


class Look(NamedTuple):
    """An entity as it was found: what a push would change, what was changed over there, what stands in the way."""

    key: bytes
    #: None where the dataset is not on the server.
    name: str | None
    changes: dict[Path, Value]
    told: Told
    problems: list[str]
    #: How its owners are called on the server.
    owners: dict[str, str]

    def steps(self) -> Iterator[Step]:
        """Say it as the steps of a plan."""
        name = self.name or "?"
        for path, value in sorted(self.changes.items()):
            yield Step("change", "governance", f"{name} {'.'.join(path)}", f"to {say_value(value)}")
        yield from (Step("unresolved", "governance", name, problem) for problem in self.problems)
        yield from (Step("leave", "governance", name, said) for said in say_theirs(self.told.theirs))


def say_theirs(fields: Fields) -> list[str]:
    """Say what OpenMetadata changed that the file does not say yet."""
    return [
        f"OpenMetadata says otherwise: {'.'.join(path)} is {say_value(value)}"
        for path, value in sorted(fields.items())
    ]


def not_taken(local: Fields, found: Told, there: Fields) -> list[str]:
    """Say what the server does not say, though nobody changed it there: it was not taken."""
    undecided = {conflict.path for conflict in found.conflicts} | found.theirs.keys()
    said = []
    for path, value in sorted(local.items()):
        wanted, found_there = as_found(path, value), there.get(path)
        several = isinstance(wanted, frozenset)
        as_meant = same(wanted, found_there) or same(value, as_said(path, found_there))
        is_there = elements(wanted) <= elements(found_there) if several else as_meant
        if path == DISPLAY_NAME and not is_there:
            said.append("displayName is not set: the server does not allow it to us (EditDisplayName)")
        elif not is_there and path not in undecided:
            said.append(f"{'.'.join(path)} is not as it was sent: {say_value(found_there)}")
    return said


def say_conflict(conflict: Conflict) -> str:
    """Say what both sides changed."""
    here, there = say_value(conflict.local), say_value(conflict.remote)
    return f"{'.'.join(conflict.path)} was changed on both sides: the file says {here}, OpenMetadata says {there}"


def say_value(value: Value) -> str:
    """Say a value in one line."""
    if value is None:
        return "nothing"
    return ", ".join(sorted(value)) or "nothing" if isinstance(value, frozenset) else repr(value)
