"""How an entity was found: what a push would change of what governs it, and what was changed over there."""

from collections.abc import Iterator
from typing import NamedTuple

from bridge.sync.target import Step
from mappers.governance.agreement import Told
from mappers.governance.merge import Conflict, Fields, Path, Value


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


def say_conflict(conflict: Conflict) -> str:
    """Say what both sides changed."""
    here, there = say_value(conflict.local), say_value(conflict.remote)
    return f"{'.'.join(conflict.path)} was changed on both sides: the file says {here}, OpenMetadata says {there}"


def say_value(value: Value) -> str:
    """Say a value in one line."""
    if value is None:
        return "nothing"
    return ", ".join(sorted(value)) or "nothing" if isinstance(value, frozenset) else repr(value)
