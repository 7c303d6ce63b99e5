"""What a file and another system last agreed on, and what became of it on either side since."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from mappers.governance.merge import Conflict, Fields, Merged, Path, Value, elements, same

#: Says a value of the other system as a steward writes it.
AsSaid = Callable[[Path, Value], Value]
_SENT, _SEEN, _THEIRS, _OF = "sent", "seen", "theirs", "of"


class Agreement(NamedTuple):
    """What was sent, what was read back then, and of what: what is not in it was never agreed on."""

    sent: dict[Path, Value] = {}  # noqa: RUF012 - never changed
    seen: dict[Path, Value] = {}  # noqa: RUF012 - never changed
    of: str | None = None

    @classmethod
    def read(cls, detail: Mapping[str, Any]) -> "Agreement":
        """Read it from what is remembered of an item."""
        return cls(_fields(detail.get(_SENT, ())), _fields(detail.get(_SEEN, ())), detail.get(_OF))

    def about(self, thing: str) -> "Agreement":
        """Give what was agreed on of a thing: nothing, where it was another one."""
        return self if self.of == thing else Agreement(of=thing)

    def remote(self, there: Fields, as_said: AsSaid) -> dict[Path, Value]:
        """Say what the other system says, in the words of what was sent where it says the same as then."""
        return {path: self._one(path, there.get(path), as_said) for path in {*there, *self.sent}}

    def _one(self, path: Path, there: Value, as_said: AsSaid) -> Value:
        sent, seen = self.sent.get(path), self.seen.get(path)
        if isinstance(there, frozenset) or isinstance(sent, frozenset):
            return elements(there) | (elements(sent) - elements(seen))  # what was not taken is as it was left
        if path in self.sent and same(there, seen):
            return sent
        return as_said(path, there)


class Told(NamedTuple):
    """What the other system changed that the file does not say yet, and what both changed."""

    theirs: dict[Path, Value]
    conflicts: list[Conflict]

    @classmethod
    def read(cls, detail: Mapping[str, Any]) -> "Told":
        """Read the changes from what is remembered of an item."""
        return cls(_fields(detail.get(_THEIRS, ())), [])


def told(local: Fields, merged: Merged) -> Told:
    """Say what of a merge the file does not say yet."""
    theirs = {path: value for path, value in merged.fields.items() if not same(value, local.get(path))}
    return Told(theirs, merged.conflicts)


class Undone(NamedTuple):
    """What could not be done: fields that were refused, and elements of sets that are not there."""

    fields: frozenset[Path] = frozenset()
    missing: Mapping[Path, frozenset[str]] = MappingProxyType({})


def agreed(before: Agreement, local: Fields, found: Told, there: Fields, undone: Undone = Undone()) -> Agreement:  # noqa: B008 - never changed
    """Say what is agreed on now.

    What the file does not say yet, what is in conflict and what was refused is as it was before; what was missing was
    never agreed on, so that it is tried again.
    """
    undecided = {conflict.path for conflict in found.conflicts} | found.theirs.keys()
    sent: dict[Path, Value] = {}
    seen: dict[Path, Value] = {}
    for path in {*before.sent, *local}:
        mine = local.get(path)
        several = isinstance(mine, frozenset)
        if path in undone.fields or (path in undecided and not several):
            if path in before.sent:
                sent[path], seen[path] = before.sent[path], before.seen.get(path)
        elif isinstance(mine, frozenset):
            sent[path] = mine = mine - undone.missing.get(path, frozenset())
            gone = (
                elements(before.seen.get(path)) - elements(found.theirs.get(path)) if path in found.theirs else set()
            )
            seen[path] = frozenset(mine & (elements(there.get(path)) | gone))
        elif mine is not None:
            sent[path], seen[path] = mine, there.get(path)
    return Agreement(sent, seen, before.of)


def remembered(agreement: Agreement, found: Told) -> dict[str, Any]:
    """Write it as it is remembered of an item."""
    return {
        _SENT: _rows(agreement.sent),
        _SEEN: _rows(agreement.seen),
        _THEIRS: _rows(found.theirs),
        _OF: agreement.of,
    }


def _rows(fields: Fields) -> list[list[Any]]:
    return [
        [path, sorted(value) if isinstance(value, frozenset) else value] for path, value in sorted(fields.items())
    ]


def _fields(rows: Any) -> dict[Path, Value]:
    return {tuple(path): frozenset(value) if isinstance(value, list) else value for path, value in rows}
