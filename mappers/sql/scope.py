"""What the names in one SELECT mean."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NamedTuple

from sqlglot import expressions as exp

from mappers.sql.relation import NO_SOURCES, Cell, Relation, opened
from mappers.sql.source import TRANSFORMATION, Sources, through

#: Functions that Spark knows without parentheses, where no column is called so.
_CONSTANTS = frozenset(
    {
        "current_catalog", "current_database", "current_date", "current_schema", "current_time", "current_timestamp",
        "current_user", "grouping__id", "localtimestamp", "session_user", "user",
    }
)  # fmt: skip


class Named(NamedTuple):
    """A relation under the name that it has in a FROM clause; the parts of a qualified name are separate."""

    name: tuple[str, ...]
    relation: Relation

    def answers_to(self, qualifier: Sequence[str]) -> bool:
        """Tell whether a qualifier means this relation: `t` and `db.t` both mean db.t."""
        given = tuple(part.lower() for part in qualifier)
        return bool(given) and self.name[-len(given) :] == given


@dataclass
class Scope:
    """The relations of a FROM clause, what an unqualified name and `*` mean, and what surrounds the SELECT."""

    ctes: Mapping[str, Relation]
    outer: "Scope | None" = None
    relations: list[Named] = field(default_factory=list)
    row: list[Cell] = field(default_factory=list)
    outputs: list[Cell] = field(default_factory=list)
    windows: dict[str, exp.Window] = field(default_factory=dict)
    #: Whether a name means an output before it means a column of FROM: in HAVING and ORDER BY.
    outputs_first: bool = False

    def add(self, name: Sequence[str], relation: Relation) -> None:
        """Take in another relation of the FROM clause."""
        self.relations.append(Named(tuple(part.lower() for part in name), relation))
        self.row += relation.cells

    def named(self, qualifier: Sequence[str]) -> Relation | None:
        """Find the relation that a qualifier means."""
        return next((one.relation for one in self.relations if one.answers_to(qualifier)), None)

    def open(self) -> frozenset[str] | None:
        """Say which unknown views there may be columns of."""
        return opened(*(one.relation.open for one in self.relations))

    def find(self, parts: Sequence[str]) -> Sources | str:
        """Find the sources of what a name means, here or around; what is wrong with the name if it means nothing."""
        scope: Scope | None = self
        while scope is not None:
            for found in scope.readings(parts):
                return found
            scope = scope.outer
        if len(parts) == 1 and parts[0].lower() in _CONSTANTS:
            return NO_SOURCES
        return self._unknown(parts)

    def readings(self, parts: Sequence[str]) -> Iterator[Sources | str]:
        """List what a name can mean here, what Spark takes it for first."""
        yield from self._qualified(parts)
        orders = (self._from_outputs, self._from_row) if self.outputs_first else (self._from_row, self._from_outputs)
        for read in orders:
            yield from read(parts)
        yield from self._guesses(parts)

    def _qualified(self, parts: Sequence[str]) -> Iterator[Sources]:
        for length in range(len(parts) - 1, 0, -1):
            relation = self.named(parts[:length])
            for cell in relation.called(parts[length]) if relation else ():
                yield _within(cell.sources, parts[length + 1 :])

    def _from_row(self, parts: Sequence[str]) -> Iterator[Sources | str]:
        cells = [cell for cell in self.row if cell.is_called(parts[0])]
        if len(cells) > 1:
            holders = [".".join(one.name) for one in self.relations if one.relation.called(parts[0])]
            yield f"column {parts[0]} is in {' and in '.join(filter(None, holders))}: say which is meant"
        elif cells:
            yield _within(cells[0].sources, parts[1:])

    def _from_outputs(self, parts: Sequence[str]) -> Iterator[Sources]:
        for cell in self.outputs:
            if cell.is_called(parts[0]):
                yield _within(cell.sources, parts[1:])

    def _guesses(self, parts: Sequence[str]) -> Iterator[Sources]:
        """Believe that a column is there, where not all columns are known."""
        for length in range(len(parts) - 1, 0, -1):
            relation = self.named(parts[:length])
            if relation and relation.open is not None:
                yield _within(relation.guessed(parts[length]), parts[length + 1 :])
        unknown = [one.relation for one in self.relations if one.relation.open is not None]
        if unknown and not (len(parts) > 1 and self.named(parts[:-1])):
            yield _within(unknown[0].guessed(parts[0]) if len(unknown) == 1 else NO_SOURCES, parts[1:])

    def _unknown(self, parts: Sequence[str]) -> str:
        """Say that a column is nowhere, where it was looked for, and what is called most like it."""
        meant = [one for one in self.relations if len(parts) > 1 and one.answers_to(parts[:-1])] or self.relations
        name = parts[-1] if meant is not self.relations else ".".join(parts)
        known = list(dict.fromkeys(cell.name for one in meant for cell in one.relation.cells))
        near = get_close_matches(parts[-1].lower(), [one.lower() for one in known], n=1, cutoff=0.0)
        spelled = next((one for one in known if near and one.lower() == near[0]), None)
        where = ", ".join(dict.fromkeys(".".join(one.name) or "a subquery" for one in meant)) or "no view"
        return f"there is no column {name} in {where}" + (f"; the nearest is {spelled}" if spelled else "")


def _within(sources: Sources, fields: Sequence[str]) -> Sources:
    """Take a field of a structure for a part of its column."""
    return through(sources, TRANSFORMATION) if fields else sources


def without(cells: Iterable[Cell], names: Iterable[str]) -> list[Cell]:
    """Leave out the columns of these names."""
    hidden = {name.lower() for name in names}
    return [cell for cell in cells if cell.name.lower() not in hidden]
