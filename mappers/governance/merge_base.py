"""Merge base of an asset: the fields last sent, and the same fields as read back."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from mappers.governance.merge import Conflict, FieldPath, FieldValue, FieldValues, MergeResult, as_set, equal_values

#: Converts a remote value to the form in which stewards write it.
ToLocalValue = Callable[[FieldPath, FieldValue], FieldValue]
#: Fields as stored: pairs of path and value.
StoredFields = list[tuple[list[str], Any]]


class MergeBase(NamedTuple):
    """The fields that both sides agreed on: as last sent to an entity, and as read back from it."""

    sent: dict[FieldPath, FieldValue] = {}  # noqa: RUF012 - never changed
    read: dict[FieldPath, FieldValue] = {}  # noqa: RUF012 - never changed
    remote_id: str | None = None

    def for_entity(self, remote_id: str) -> "MergeBase":
        """Return this base if it belongs to the entity, otherwise an empty base."""
        return self if self.remote_id == remote_id else MergeBase(remote_id=remote_id)

    def remote_fields(self, remote: FieldValues, to_local_value: ToLocalValue) -> dict[FieldPath, FieldValue]:
        """Convert remote fields to local form; values that have not changed remotely stay as they were sent."""
        return {path: self._remote_value(path, remote.get(path), to_local_value) for path in {*remote, *self.sent}}

    def _remote_value(self, path: FieldPath, remote: FieldValue, to_local_value: ToLocalValue) -> FieldValue:
        sent_value, read_value = self.sent.get(path), self.read.get(path)
        if isinstance(remote, frozenset) or isinstance(sent_value, frozenset):
            # Elements that the server did not accept are missing from the start, which is not a remote change.
            rejected_elements = as_set(sent_value) - as_set(read_value)
            return as_set(remote) | rejected_elements
        if path in self.sent and equal_values(remote, read_value):
            return sent_value
        return to_local_value(path, remote)


class RemoteChanges(NamedTuple):
    """Remote changes that the asset file does not contain yet, and conflicts."""

    fields: dict[FieldPath, FieldValue]
    conflicts: list[Conflict]


def remote_changes(local: FieldValues, merged: MergeResult) -> RemoteChanges:
    """Return the merged fields that differ from the asset file."""
    fields = {path: value for path, value in merged.fields.items() if not equal_values(value, local.get(path))}
    return RemoteChanges(fields, merged.conflicts)


class UnappliedChanges(NamedTuple):
    """Changes that could not be applied: rejected fields, and set elements that do not exist on the server."""

    fields: frozenset[FieldPath] = frozenset()
    missing: Mapping[FieldPath, frozenset[str]] = MappingProxyType({})


_ALL_APPLIED = UnappliedChanges()


def next_base(
    previous: MergeBase,
    local: FieldValues,
    changes: RemoteChanges,
    remote: FieldValues,
    unapplied: UnappliedChanges = _ALL_APPLIED,
) -> MergeBase:
    """Compute the base after a merge.

    Remote changes that the asset file does not contain yet, conflicts and rejected fields keep their previous base.
    Missing set elements are never added to the base, so they are retried.
    """
    pending_paths = {conflict.path for conflict in changes.conflicts} | changes.fields.keys()
    sent_fields: dict[FieldPath, FieldValue] = {}
    read_fields: dict[FieldPath, FieldValue] = {}
    for path in {*previous.sent, *local}:
        value = local.get(path)
        is_pending_scalar = path in pending_paths and not isinstance(value, frozenset)
        if path in unapplied.fields or is_pending_scalar:
            if path in previous.sent:
                sent_fields[path], read_fields[path] = previous.sent[path], previous.read.get(path)
        elif isinstance(value, frozenset):
            accepted_elements = value - unapplied.missing.get(path, frozenset())
            removed_remotely: frozenset[str] = frozenset()
            if path in changes.fields:
                # Still in the file: kept in the base, so that the removal is seen as a remote change again.
                removed_remotely = as_set(previous.read.get(path)) - as_set(changes.fields[path])
            sent_fields[path] = accepted_elements
            read_fields[path] = accepted_elements & (as_set(remote.get(path)) | removed_remotely)
        elif value is not None:
            sent_fields[path], read_fields[path] = value, remote.get(path)
    return MergeBase(sent_fields, read_fields, previous.remote_id)


def encode_fields(fields: FieldValues) -> StoredFields:
    """Convert fields to the form in which they are stored."""
    return [
        (list(path), sorted(value) if isinstance(value, frozenset) else value)
        for path, value in sorted(fields.items())
    ]


def decode_fields(stored_fields: StoredFields) -> dict[FieldPath, FieldValue]:
    """Convert stored fields back to field values."""
    return {tuple(path): frozenset(value) if isinstance(value, list) else value for path, value in stored_fields}
