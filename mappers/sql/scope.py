"""Relations and name resolution within one SELECT."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NamedTuple

from sqlglot import expressions as exp

from mappers.sql.column_source import TRANSFORMATION, ColumnSource, ColumnSources, apply_transformation

NO_SOURCES: ColumnSources = frozenset()


class RelationColumn(NamedTuple):
    """A column as a query sees it."""

    name: str
    sources: ColumnSources

    def matches(self, name: str) -> bool:
        """Compare names as Spark does: case does not matter."""
        return self.name.lower() == name.lower()


class Relation(NamedTuple):
    """Rows: the columns in their order, what influences all of them, and whether there may be columns unknown."""

    cells: tuple[RelationColumn, ...]
    dataset_level: ColumnSources = NO_SOURCES
    #: The views whose columns are not known and that may be among these, empty for columns of nobody knows where;
    #: None where all columns are known.
    incomplete_views: frozenset[str] | None = None

    def columns_named(self, name: str) -> list[RelationColumn]:
        """Find the columns of a name."""
        return [cell for cell in self.cells if cell.matches(name)]

    def assume_column(self, name: str) -> ColumnSources:
        """Say where a column comes from that is not known to be there: from the one view that may have it."""
        views = self.incomplete_views or frozenset()
        return frozenset(ColumnSource(view, name, "DIRECT", "IDENTITY", False) for view in views if len(views) == 1)

    def with_aliases(self, names: Sequence[str]) -> "Relation":
        """Give the columns the names that are said behind an alias."""
        if not names:
            return self
        if self.incomplete_views is not None and len(self.cells) < len(names):
            return Relation(tuple(RelationColumn(name, NO_SOURCES) for name in names), self.dataset_level)
        named = (RelationColumn(name, cell.sources) for name, cell in zip(names, self.cells, strict=False))
        return Relation((*named, *self.cells[len(names) :]), self.dataset_level)


def view_relation(view: str, columns: Sequence[str] | None) -> Relation:
    """Describe a view itself: every column is its own source."""
    if columns is None:
        return Relation((), incomplete_views=frozenset({view}))
    return Relation(
        tuple(
            RelationColumn(name, frozenset({ColumnSource(view, name, "DIRECT", "IDENTITY", False)}))
            for name in columns
        )
    )


def merge_incomplete_views(*ones: frozenset[str] | None) -> frozenset[str] | None:
    """Bring together which unknown views there may be columns of."""
    known = [one for one in ones if one is not None]
    return frozenset().union(*known) if known else None


def generated_relation(names: Iterable[str], sources: ColumnSources) -> Relation:
    """Describe what a function makes: columns of these names, all from the same sources."""
    return Relation(tuple(RelationColumn(name, apply_transformation(sources, TRANSFORMATION)) for name in names))


#: Functions that Spark knows without parentheses, where no column is called so.
_CONSTANTS = frozenset(
    {
        "current_catalog", "current_database", "current_date", "current_schema", "current_time", "current_timestamp",
        "current_user", "grouping__id", "localtimestamp", "session_user", "user",
    }
)  # fmt: skip


class NamedRelation(NamedTuple):
    """A relation under the name that it has in a FROM clause; the parts of a qualified name are separate."""

    name: tuple[str, ...]
    relation: Relation

    def matches(self, qualifier: Sequence[str]) -> bool:
        """Tell whether a qualifier means this relation: `t` and `db.t` both mean db.t."""
        given = tuple(part.lower() for part in qualifier)
        return bool(given) and self.name[-len(given) :] == given


@dataclass
class Scope:
    """The relations of a FROM clause, what an unqualified name and `*` mean, and what surrounds the SELECT."""

    ctes: Mapping[str, Relation]
    outer: "Scope | None" = None
    relations: list[NamedRelation] = field(default_factory=list)
    row: list[RelationColumn] = field(default_factory=list)
    outputs: list[RelationColumn] = field(default_factory=list)
    windows: dict[str, exp.Window] = field(default_factory=dict)
    #: Whether a name means an output before it means a column of FROM: in HAVING and ORDER BY.
    outputs_first: bool = False

    def add(self, name: Sequence[str], relation: Relation) -> None:
        """Take in another relation of the FROM clause."""
        self.relations.append(NamedRelation(tuple(part.lower() for part in name), relation))
        self.row += relation.cells

    def named(self, qualifier: Sequence[str]) -> Relation | None:
        """Find the relation that a qualifier means."""
        return next((one.relation for one in self.relations if one.matches(qualifier)), None)

    def incomplete_views(self) -> frozenset[str] | None:
        """Say which unknown views there may be columns of."""
        return merge_incomplete_views(*(one.relation.incomplete_views for one in self.relations))

    def find(self, parts: Sequence[str]) -> ColumnSources | str:
        """Find the sources of what a name means, here or around; what is wrong with the name if it means nothing."""
        scope: Scope | None = self
        while scope is not None:
            for found in scope.resolve_candidates(parts):
                return found
            scope = scope.outer
        if len(parts) == 1 and parts[0].lower() in _CONSTANTS:
            return NO_SOURCES
        return self._unknown(parts)

    def resolve_candidates(self, parts: Sequence[str]) -> Iterator[ColumnSources | str]:
        """List what a name can mean here, what Spark takes it for first."""
        yield from self._qualified(parts)
        orders = (self._from_outputs, self._from_row) if self.outputs_first else (self._from_row, self._from_outputs)
        for read in orders:
            yield from read(parts)
        yield from self._guesses(parts)

    def _qualified(self, parts: Sequence[str]) -> Iterator[ColumnSources]:
        for length in range(len(parts) - 1, 0, -1):
            relation = self.named(parts[:length])
            for cell in relation.columns_named(parts[length]) if relation else ():
                yield _within(cell.sources, parts[length + 1 :])

    def _from_row(self, parts: Sequence[str]) -> Iterator[ColumnSources | str]:
        cells = [cell for cell in self.row if cell.matches(parts[0])]
        if len(cells) > 1:
            holders = [".".join(one.name) for one in self.relations if one.relation.columns_named(parts[0])]
            yield f"column {parts[0]} is in {' and in '.join(filter(None, holders))}: say which is meant"
        elif cells:
            yield _within(cells[0].sources, parts[1:])

    def _from_outputs(self, parts: Sequence[str]) -> Iterator[ColumnSources]:
        for cell in self.outputs:
            if cell.matches(parts[0]):
                yield _within(cell.sources, parts[1:])

    def _guesses(self, parts: Sequence[str]) -> Iterator[ColumnSources]:
        """Believe that a column is there, where not all columns are known."""
        for length in range(len(parts) - 1, 0, -1):
            relation = self.named(parts[:length])
            if relation and relation.incomplete_views is not None:
                yield _within(relation.assume_column(parts[length]), parts[length + 1 :])
        unknown = [one.relation for one in self.relations if one.relation.incomplete_views is not None]
        if unknown and not (len(parts) > 1 and self.named(parts[:-1])):
            yield _within(unknown[0].assume_column(parts[0]) if len(unknown) == 1 else NO_SOURCES, parts[1:])

    def _unknown(self, parts: Sequence[str]) -> str:
        """Say that a column is nowhere, where it was looked for, and what is called most like it."""
        meant = [one for one in self.relations if len(parts) > 1 and one.matches(parts[:-1])] or self.relations
        name = parts[-1] if meant is not self.relations else ".".join(parts)
        known = list(dict.fromkeys(cell.name for one in meant for cell in one.relation.cells))
        near = get_close_matches(parts[-1].lower(), [one.lower() for one in known], n=1, cutoff=0.0)
        spelled = next((one for one in known if near and one.lower() == near[0]), None)
        where = ", ".join(dict.fromkeys(".".join(one.name) or "a subquery" for one in meant)) or "no view"
        return f"there is no column {name} in {where}" + (f"; the nearest is {spelled}" if spelled else "")


def _within(sources: ColumnSources, fields: Sequence[str]) -> ColumnSources:
    """Take a field of a structure for a part of its column."""
    return apply_transformation(sources, TRANSFORMATION) if fields else sources


def exclude_columns(cells: Iterable[RelationColumn], names: Iterable[str]) -> list[RelationColumn]:
    """Leave out the columns of these names."""
    hidden = {name.lower() for name in names}
    return [cell for cell in cells if cell.name.lower() not in hidden]
