"""Three-way merge of governance fields: base, local, remote.

The base holds the values that both sides last agreed on, local those of the asset file, remote those of the
other system.

Sets are merged element by element: each is present or absent, so two sides cannot change it to different
values. A scalar that both sides changed to different values is a conflict, for a person or a policy to
resolve.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

#: Value of a field; None if it is not set.
FieldValue = str | int | float | bool | frozenset[str] | None
#: Path of a field: its name, or names from the outside in, as for the tags of a column.
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
    """The merged fields, and the conflicts, which `fields` does not contain."""

    fields: dict[FieldPath, FieldValue]
    conflicts: list[Conflict]


def merge(
    base: FieldValues,
    local: FieldValues,
    remote: FieldValues,
    policy: Mapping[FieldPath, MergePolicy] | MergePolicy = "report",
) -> MergeResult:
    """Merge the fields that the asset file sets or once set; other remote fields are ignored."""
    fields: dict[FieldPath, FieldValue] = {}
    conflicts: list[Conflict] = []
    for path in sorted({*base, *local}):
        values = base.get(path), local.get(path), remote.get(path)
        if is_conflict(*values):
            resolution = policy if isinstance(policy, str) else policy.get(path, "report")
            if resolution == "report":
                conflicts.append(Conflict(path, *values))
                continue
            fields[path] = values[1] if resolution == "local" else values[2]
        else:
            fields[path] = merge_value(*values)
    return MergeResult(fields, conflicts)


def is_conflict(base: FieldValue, local: FieldValue, remote: FieldValue) -> bool:
    """True if both sides changed a scalar to different values."""
    if _is_set(base, local, remote):
        return False
    return not equal_values(local, remote) and not equal_values(local, base) and not equal_values(remote, base)


def merge_value(base: FieldValue, local: FieldValue, remote: FieldValue) -> FieldValue:
    """Merge a field that is not in conflict."""
    if _is_set(base, local, remote):
        base_set, local_set, remote_set = (as_set(value) for value in (base, local, remote))
        return (local_set & remote_set) | (local_set - base_set) | (remote_set - base_set)
    return remote if equal_values(local, base) else local


def changed_fields(before: FieldValues, after: FieldValues) -> dict[FieldPath, FieldValue]:
    """Fields that differ from before, with their new values."""
    paths = {*before, *after}
    return {path: after.get(path) for path in sorted(paths) if not equal_values(before.get(path), after.get(path))}


def _is_set(*values: FieldValue) -> bool:
    return any(isinstance(value, frozenset) for value in values)


def as_set(value: FieldValue) -> frozenset[str]:
    """Elements of a set; None has none."""
    if value is None:
        return frozenset()
    return value if isinstance(value, frozenset) else frozenset([str(value)])


def equal_values(left: FieldValue, right: FieldValue) -> bool:
    """Compare values: an empty set equals None, and True does not equal 1."""
    if _is_set(left, right):
        return as_set(left) == as_set(right)
    return (type(left) is type(right) and left == right) or (_is_number(left) and _is_number(right) and left == right)


def _is_number(value: FieldValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def format_paths(fields: Iterable[FieldPath]) -> list[str]:
    """Join the names of each path with dots."""
    return [".".join(path) for path in fields]
