"""Three-way merge of governance fields: base, local, remote.

The base contains the values that both sides last agreed on, local the values of the asset file, and remote the
values of the other system.

Sets are merged element by element and never conflict, because an element is either present or absent. A scalar
that both sides changed to different values is a conflict, which a person or a policy must resolve.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

#: Value of a field, or None if the field is not set.
FieldValue = str | int | float | bool | frozenset[str] | None
#: Path of a field: its name or, for nested fields such as the tags of a column, all names from the outside in.
FieldPath = tuple[str, ...]
FieldValues = Mapping[FieldPath, FieldValue]
MergePolicy = Literal["report", "local", "remote"]


class Conflict(NamedTuple):
    """A field that both sides changed to different values."""

    path: FieldPath
    base: FieldValue
    local: FieldValue
    remote: FieldValue


class MergeResult(NamedTuple):
    """The merged fields that are not in conflict, and the conflicts."""

    fields: dict[FieldPath, FieldValue]
    conflicts: list[Conflict]


def merge(
    base: FieldValues,
    local: FieldValues,
    remote: FieldValues,
    policy: Mapping[FieldPath, MergePolicy] | MergePolicy = "report",
) -> MergeResult:
    """Merge the fields that the asset file sets or has ever set; other remote fields are ignored."""
    fields: dict[FieldPath, FieldValue] = {}
    conflicts: list[Conflict] = []
    for path in sorted({*base, *local}):
        base_value, local_value, remote_value = base.get(path), local.get(path), remote.get(path)
        if not is_conflict(base_value, local_value, remote_value):
            fields[path] = merge_value(base_value, local_value, remote_value)
            continue
        resolution = policy if isinstance(policy, str) else policy.get(path, "report")
        if resolution == "report":
            conflicts.append(Conflict(path, base_value, local_value, remote_value))
        else:
            fields[path] = local_value if resolution == "local" else remote_value
    return MergeResult(fields, conflicts)


def is_conflict(base: FieldValue, local: FieldValue, remote: FieldValue) -> bool:
    """Return whether both sides changed a scalar to different values."""
    if _has_set(base, local, remote):
        return False
    return not equal_values(local, remote) and not equal_values(local, base) and not equal_values(remote, base)


def merge_value(base: FieldValue, local: FieldValue, remote: FieldValue) -> FieldValue:
    """Merge a field that is not in conflict."""
    if _has_set(base, local, remote):
        base_set, local_set, remote_set = (as_set(value) for value in (base, local, remote))
        return (local_set & remote_set) | (local_set - base_set) | (remote_set - base_set)
    return remote if equal_values(local, base) else local


def changed_fields(before: FieldValues, after: FieldValues) -> dict[FieldPath, FieldValue]:
    """Return the fields that differ, with their new values."""
    paths = {*before, *after}
    return {path: after.get(path) for path in sorted(paths) if not equal_values(before.get(path), after.get(path))}


def _has_set(*values: FieldValue) -> bool:
    return any(isinstance(value, frozenset) for value in values)


def as_set(value: FieldValue) -> frozenset[str]:
    """Convert a value to a set; None becomes the empty set."""
    if value is None:
        return frozenset()
    return value if isinstance(value, frozenset) else frozenset([str(value)])


def equal_values(left: FieldValue, right: FieldValue) -> bool:
    """Compare values: an empty set equals None, and True does not equal 1."""
    if _has_set(left, right):
        return as_set(left) == as_set(right)
    if _is_number(left) and _is_number(right):
        return left == right
    return type(left) is type(right) and left == right


def _is_number(value: FieldValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
