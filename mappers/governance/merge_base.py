"""Merge base of an asset: fields last sent, and the same fields as read back."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from mappers.governance.merge import Conflict, FieldPath, FieldValue, FieldValues, MergeResult, as_set, equal_values

#: Says a value of the other system as a steward writes it.
ToLocalValue = Callable[[FieldPath, FieldValue], FieldValue]
_SENT, _SEEN, _THEIRS, _OF = "sent", "seen", "theirs", "of"


class MergeBase(NamedTuple):
    """What was sent, what was read back then, and of what: what is not in it was never agreed on."""

    sent: dict[FieldPath, FieldValue] = {}  # noqa: RUF012 - never changed
    read: dict[FieldPath, FieldValue] = {}  # noqa: RUF012 - never changed
    remote_id: str | None = None

    @classmethod
    def from_record(cls, detail: Mapping[str, Any]) -> "MergeBase":
        """Read it from what is remembered of an item."""
        return cls(_fields(detail.get(_SENT, ())), _fields(detail.get(_SEEN, ())), detail.get(_OF))

    def for_entity(self, thing: str) -> "MergeBase":
        """Give what was agreed on of a thing: nothing, where it was another one."""
        return self if self.remote_id == thing else MergeBase(remote_id=thing)

    def remote_fields(self, there: FieldValues, as_said: ToLocalValue) -> dict[FieldPath, FieldValue]:
        """Say what the other system says, in the words of what was sent where it says the same as then."""
        return {path: self._one(path, there.get(path), as_said) for path in {*there, *self.sent}}

    def _one(self, path: FieldPath, there: FieldValue, as_said: ToLocalValue) -> FieldValue:
        sent, seen = self.sent.get(path), self.read.get(path)
        if isinstance(there, frozenset) or isinstance(sent, frozenset):
            return as_set(there) | (as_set(sent) - as_set(seen))  # what was not taken is as it was left
        if path in self.sent and equal_values(there, seen):
            return sent
        return as_said(path, there)


class RemoteChanges(NamedTuple):
    """What the other system changed that the file does not say yet, and what both changed."""

    fields: dict[FieldPath, FieldValue]
    conflicts: list[Conflict]

    @classmethod
    def read(cls, detail: Mapping[str, Any]) -> "RemoteChanges":
        """Read the changes from what is remembered of an item."""
        return cls(_fields(detail.get(_THEIRS, ())), [])


def remote_changes(local: FieldValues, merged: MergeResult) -> RemoteChanges:
    """Say what of a merge the file does not say yet."""
    theirs = {path: value for path, value in merged.fields.items() if not equal_values(value, local.get(path))}
    return RemoteChanges(theirs, merged.conflicts)


class UnappliedChanges(NamedTuple):
    """What could not be done: fields that were refused, and elements of sets that are not there."""

    fields: frozenset[FieldPath] = frozenset()
    missing: Mapping[FieldPath, frozenset[str]] = MappingProxyType({})


_ALL_APPLIED = UnappliedChanges()


def next_base(
    before: MergeBase,
    local: FieldValues,
    found: RemoteChanges,
    there: FieldValues,
    undone: UnappliedChanges = _ALL_APPLIED,
) -> MergeBase:
    """Say what is agreed on now.

    What the file does not say yet, what is in conflict and what was refused is as it was before; what was missing was
    never agreed on, so that it is tried again.
    """
    undecided = {conflict.path for conflict in found.conflicts} | found.fields.keys()
    sent: dict[FieldPath, FieldValue] = {}
    seen: dict[FieldPath, FieldValue] = {}
    for path in {*before.sent, *local}:
        mine = local.get(path)
        several = isinstance(mine, frozenset)
        if path in undone.fields or (path in undecided and not several):
            if path in before.sent:
                sent[path], seen[path] = before.sent[path], before.read.get(path)
        elif isinstance(mine, frozenset):
            sent[path] = mine = mine - undone.missing.get(path, frozenset())
            gone = as_set(before.read.get(path)) - as_set(found.fields.get(path)) if path in found.fields else set()
            seen[path] = frozenset(mine & (as_set(there.get(path)) | gone))
        elif mine is not None:
            sent[path], seen[path] = mine, there.get(path)
    return MergeBase(sent, seen, before.remote_id)


def to_record(agreement: MergeBase, found: RemoteChanges) -> dict[str, Any]:
    """Write it as it is remembered of an item."""
    return {
        _SENT: _rows(agreement.sent),
        _SEEN: _rows(agreement.read),
        _THEIRS: _rows(found.fields),
        _OF: agreement.remote_id,
    }


def _rows(fields: FieldValues) -> list[list[Any]]:
    return [
        [path, sorted(value) if isinstance(value, frozenset) else value] for path, value in sorted(fields.items())
    ]


def _fields(rows: Any) -> dict[FieldPath, FieldValue]:
    return {tuple(path): frozenset(value) if isinstance(value, list) else value for path, value in rows}
