"""Three-way merge: what both sides last agreed on, what the file says now, and what the other system says now.

A set is as many decisions as it has elements: each is there or it is not, so two sides never disagree on one that
both changed. A single value that both changed otherwise is a conflict, for a person or a policy to decide.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

#: What a field may hold; None where nothing is said.
FieldValue = str | int | float | bool | frozenset[str] | None
#: A field: its name, or names from the outside in, as of the tags of a column.
FieldPath = tuple[str, ...]
FieldValues = Mapping[FieldPath, FieldValue]
MergePolicy = Literal["report", "local", "remote"]


class Conflict(NamedTuple):
    """A field that both sides changed, each in its own way."""

    path: FieldPath
    base: FieldValue
    local: FieldValue
    remote: FieldValue


class MergeResult(NamedTuple):
    """What both sides should say, and what they do not agree on: of that, nothing is said."""

    fields: dict[FieldPath, FieldValue]
    conflicts: list[Conflict]


def merge(
    base: FieldValues,
    local: FieldValues,
    remote: FieldValues,
    policy: Mapping[FieldPath, MergePolicy] | MergePolicy = "report",
) -> MergeResult:
    """Bring together what was changed on either side; only what the file says or once said is looked at."""
    fields: dict[FieldPath, FieldValue] = {}
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
    return MergeResult(fields, conflicts)


def is_conflict(base: FieldValue, local: FieldValue, remote: FieldValue) -> bool:
    """Tell whether both sides changed a single value, each in its own way."""
    if _is_set(base, local, remote):
        return False
    return not equal_values(local, remote) and not equal_values(local, base) and not equal_values(remote, base)


def merge_value(base: FieldValue, local: FieldValue, remote: FieldValue) -> FieldValue:
    """Take over what was changed on either side of what is no conflict."""
    if _is_set(base, local, remote):
        was, here, there = (as_set(one) for one in (base, local, remote))
        return (here & there) | (here - was) | (there - was)
    return remote if equal_values(local, base) else local


def changed_fields(before: FieldValues, after: FieldValues) -> dict[FieldPath, FieldValue]:
    """Give the fields that are not as before, with what they are now."""
    paths = {*before, *after}
    return {path: after.get(path) for path in sorted(paths) if not equal_values(before.get(path), after.get(path))}


def _is_set(*values: FieldValue) -> bool:
    return any(isinstance(value, frozenset) for value in values)


def as_set(value: FieldValue) -> frozenset[str]:
    """Give the elements of a set; of nothing there are none."""
    if value is None:
        return frozenset()
    return value if isinstance(value, frozenset) else frozenset([str(value)])


def equal_values(one: FieldValue, other: FieldValue) -> bool:
    """Compare values; a set without elements says as much as none, and yes is not the number one."""
    if _is_set(one, other):
        return as_set(one) == as_set(other)
    return (type(one) is type(other) and one == other) or (_is_number(one) and _is_number(other) and one == other)


def _is_number(value: FieldValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def format_paths(fields: Iterable[FieldPath]) -> list[str]:
    """Name fields as people write them."""
    return [".".join(path) for path in fields]
