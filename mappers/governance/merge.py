"""Three-way merge: what both sides last agreed on, what the file says now, and what the other system says now.

A set is as many decisions as it has elements: each is there or it is not, so two sides never disagree on one that
both changed. A single value that both changed otherwise is a conflict, for a person or a policy to decide.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

#: What a field may hold; None where nothing is said.
Value = str | int | float | bool | frozenset[str] | None
#: A field: its name, or names from the outside in, as of the tags of a column.
Path = tuple[str, ...]
Fields = Mapping[Path, Value]
Policy = Literal["report", "local", "remote"]


class Conflict(NamedTuple):
    """A field that both sides changed, each in its own way."""

    path: Path
    base: Value
    local: Value
    remote: Value


class Merged(NamedTuple):
    """What both sides should say, and what they do not agree on: of that, nothing is said."""

    fields: dict[Path, Value]
    conflicts: list[Conflict]


def merge(base: Fields, local: Fields, remote: Fields, policy: Mapping[Path, Policy] | Policy = "report") -> Merged:
    """Bring together what was changed on either side; only what the file says or once said is looked at."""
    fields: dict[Path, Value] = {}
    conflicts: list[Conflict] = []
    for path in sorted({*base, *local}):
        values = base.get(path), local.get(path), remote.get(path)
        if is_conflict(*values):
            of = policy if isinstance(policy, str) else policy.get(path, "report")
            if of == "report":
                conflicts.append(Conflict(path, *values))
                continue
            fields[path] = values[1] if of == "local" else values[2]
        else:
            fields[path] = merge_value(*values)
    return Merged(fields, conflicts)


def is_conflict(base: Value, local: Value, remote: Value) -> bool:
    """Tell whether both sides changed a single value, each in its own way."""
    if _is_set(base, local, remote):
        return False
    return not same(local, remote) and not same(local, base) and not same(remote, base)


def merge_value(base: Value, local: Value, remote: Value) -> Value:
    """Take over what was changed on either side of what is no conflict."""
    if _is_set(base, local, remote):
        was, here, there = (elements(one) for one in (base, local, remote))
        return (here & there) | (here - was) | (there - was)
    return remote if same(local, base) else local


def changed(before: Fields, after: Fields) -> dict[Path, Value]:
    """Give the fields that are not as before, with what they are now."""
    paths = {*before, *after}
    return {path: after.get(path) for path in sorted(paths) if not same(before.get(path), after.get(path))}


def _is_set(*values: Value) -> bool:
    return any(isinstance(value, frozenset) for value in values)


def elements(value: Value) -> frozenset[str]:
    """Give the elements of a set; of nothing there are none."""
    if value is None:
        return frozenset()
    return value if isinstance(value, frozenset) else frozenset([str(value)])


def same(one: Value, other: Value) -> bool:
    """Compare values; a set without elements says as much as none, and yes is not the number one."""
    if _is_set(one, other):
        return elements(one) == elements(other)
    return (type(one) is type(other) and one == other) or (_is_number(one) and _is_number(other) and one == other)


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def paths(fields: Iterable[Path]) -> list[str]:
    """Name fields as people write them."""
    return [".".join(path) for path in fields]
