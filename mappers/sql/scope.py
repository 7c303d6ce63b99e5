"""Relations and name resolution within one SELECT."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NamedTuple

from sqlglot import expressions as exp

from mappers.sql.column_source import TRANSFORMATION, ColumnSource, ColumnSources, apply_transformation

NO_SOURCES: ColumnSources = frozenset()


class RelationColumn(NamedTuple):
    """A column as seen by a query."""

    name: str
    sources: ColumnSources

    def matches(self, name: str) -> bool:
        """Compare names as Spark does: case-insensitively."""
        return self.name.lower() == name.lower()


class Relation(NamedTuple):
    """The result of a query or part of it: its columns in order, and the sources that affect all of its rows."""

    columns: tuple[RelationColumn, ...]
    dataset_level: ColumnSources = NO_SOURCES
    #: Views that may add unknown columns to this relation; empty if even the views are unknown, None if all columns
    #: are known.
    incomplete_views: frozenset[str] | None = None

    def columns_named(self, name: str) -> list[RelationColumn]:
        return [column for column in self.columns if column.matches(name)]

    def assume_column(self, name: str) -> ColumnSources:
        """Return a column's source in a view with unknown columns; empty if several views could have the column."""
        views = self.incomplete_views or frozenset()
        if len(views) != 1:
            return NO_SOURCES
        return frozenset(_identity_source(view, name) for view in views)

    def with_aliases(self, names: Sequence[str]) -> "Relation":
        """Rename the columns to the names that follow a table alias."""
        if not names:
            return self
        if self.incomplete_views is not None and len(self.columns) < len(names):
            return Relation(tuple(RelationColumn(name, NO_SOURCES) for name in names), self.dataset_level)
        renamed_columns = (
            RelationColumn(name, column.sources) for name, column in zip(names, self.columns, strict=False)
        )
        return Relation((*renamed_columns, *self.columns[len(names) :]), self.dataset_level)


def view_relation(view: str, columns: Sequence[str] | None) -> Relation:
    """Create the relation of a view, in which every column is its own source."""
    if columns is None:
        return Relation((), incomplete_views=frozenset({view}))
    return Relation(tuple(RelationColumn(name, frozenset({_identity_source(view, name)})) for name in columns))


def _identity_source(view: str, column: str) -> ColumnSource:
    return ColumnSource(view, column, "DIRECT", "IDENTITY", masking=False)


def merge_incomplete_views(*groups: frozenset[str] | None) -> frozenset[str] | None:
    """Return all views with unknown columns, or None if all columns are known."""
    incomplete_groups = [group for group in groups if group is not None]
    if not incomplete_groups:
        return None
    return frozenset().union(*incomplete_groups)


def generated_relation(names: Iterable[str], sources: ColumnSources) -> Relation:
    """Create the relation of a table function, in which all columns have the same sources."""
    return Relation(tuple(RelationColumn(name, apply_transformation(sources, TRANSFORMATION)) for name in names))


#: Functions that Spark accepts without parentheses, unless a column has the same name.
_PLAIN_FUNCTIONS = frozenset(
    {
        "current_catalog", "current_database", "current_date", "current_schema", "current_time", "current_timestamp",
        "current_user", "grouping__id", "localtimestamp", "session_user", "user",
    }
)  # fmt: skip


class UnresolvedName(NamedTuple):
    """The reason why a name cannot be resolved."""

    message: str


class NamedRelation(NamedTuple):
    """A relation in a FROM clause, with the parts of its name."""

    name: tuple[str, ...]
    relation: Relation

    def matches(self, qualifier: Sequence[str]) -> bool:
        """Return whether a qualifier refers to this relation: `t` and `db.t` both refer to db.t."""
        parts = tuple(part.lower() for part in qualifier)
        return bool(parts) and self.name[-len(parts) :] == parts


@dataclass
class Scope:
    """The names that are visible in one SELECT, and the enclosing scope."""

    ctes: Mapping[str, Relation]
    outer: "Scope | None" = None
    #: Relations of the FROM clause.
    relations: list[NamedRelation] = field(default_factory=list)
    #: Columns that unqualified names and `*` refer to.
    row: list[RelationColumn] = field(default_factory=list)
    #: Columns of the select list.
    outputs: list[RelationColumn] = field(default_factory=list)
    windows: dict[str, exp.Window] = field(default_factory=dict)
    #: Look up names in the select list before the FROM clause, as in HAVING and ORDER BY.
    outputs_first: bool = False

    def add(self, name: Sequence[str], relation: Relation) -> None:
        self.relations.append(NamedRelation(tuple(part.lower() for part in name), relation))
        self.row += relation.columns

    def find_relation(self, qualifier: Sequence[str]) -> Relation | None:
        return next((candidate.relation for candidate in self.relations if candidate.matches(qualifier)), None)

    def incomplete_views(self) -> frozenset[str] | None:
        """Return the views with unknown columns, or None if all columns are known."""
        return merge_incomplete_views(*(member.relation.incomplete_views for member in self.relations))

    def resolve(self, parts: Sequence[str]) -> ColumnSources | UnresolvedName:
        """Find the sources of a name in this or an outer scope, or why the name is unknown or ambiguous."""
        scope: Scope | None = self
        while scope is not None:
            candidate = next(scope.resolve_candidates(parts), None)
            if candidate is not None:
                return candidate
            scope = scope.outer
        if len(parts) == 1 and parts[0].lower() in _PLAIN_FUNCTIONS:
            return NO_SOURCES
        return UnresolvedName(self._unknown_column_message(parts))

    def resolve_candidates(self, parts: Sequence[str]) -> Iterator[ColumnSources | UnresolvedName]:
        """Yield the possible meanings of a name in this scope, in Spark's order of precedence."""
        yield from self._from_qualifier(parts)
        lookups = (self._from_outputs, self._from_row) if self.outputs_first else (self._from_row, self._from_outputs)
        for lookup in lookups:
            yield from lookup(parts)
        yield from self._from_incomplete_views(parts)

    def _from_qualifier(self, parts: Sequence[str]) -> Iterator[ColumnSources]:
        for relation, name, fields in self._qualified_columns(parts):
            for column in relation.columns_named(name):
                yield _field_sources(column.sources, fields)

    def _qualified_columns(self, parts: Sequence[str]) -> Iterator[tuple[Relation, str, Sequence[str]]]:
        """Split a name into relation, column and fields in every possible way, longest qualifier first."""
        for length in range(len(parts) - 1, 0, -1):
            relation = self.find_relation(parts[:length])
            if relation:
                yield relation, parts[length], parts[length + 1 :]

    def _from_row(self, parts: Sequence[str]) -> Iterator[ColumnSources | UnresolvedName]:
        """Look up an unqualified name, which may be followed by fields, in the FROM clause."""
        name, *fields = parts
        columns = [column for column in self.row if column.matches(name)]
        if len(columns) > 1:
            relation_names = [
                ".".join(member.name) for member in self.relations if member.relation.columns_named(name)
            ]
            owners = " and in ".join(filter(None, relation_names))
            yield UnresolvedName(f"column {name} is ambiguous: it is in {owners}")
        elif columns:
            yield _field_sources(columns[0].sources, fields)

    def _from_outputs(self, parts: Sequence[str]) -> Iterator[ColumnSources]:
        """Look up an unqualified name, which may be followed by fields, in the select list."""
        name, *fields = parts
        for column in self.outputs:
            if column.matches(name):
                yield _field_sources(column.sources, fields)

    def _from_incomplete_views(self, parts: Sequence[str]) -> Iterator[ColumnSources]:
        """Assume that a column exists in a relation with unknown columns."""
        for relation, qualified_name, fields in self._qualified_columns(parts):
            if relation.incomplete_views is not None:
                yield _field_sources(relation.assume_column(qualified_name), fields)
        incomplete_relations = [
            member.relation for member in self.relations if member.relation.incomplete_views is not None
        ]
        is_qualified = len(parts) > 1 and self.find_relation(parts[:-1]) is not None
        if incomplete_relations and not is_qualified:
            name, *fields = parts
            sources = incomplete_relations[0].assume_column(name) if len(incomplete_relations) == 1 else NO_SOURCES
            yield _field_sources(sources, fields)

    def _unknown_column_message(self, parts: Sequence[str]) -> str:
        """Format the error for an unknown column, with the relations searched and the most similar name."""
        searched_relations = [member for member in self.relations if member.matches(parts[:-1])]
        name = parts[-1]
        if not searched_relations:
            searched_relations = self.relations
            name = ".".join(parts)
        names_by_lower_case: dict[str, str] = {}
        for member in searched_relations:
            for column in member.relation.columns:
                names_by_lower_case.setdefault(column.name.lower(), column.name)
        relation_names = dict.fromkeys(".".join(member.name) or "a subquery" for member in searched_relations)
        message = f"there is no column {name} in {', '.join(relation_names) or 'no view'}"
        matches = get_close_matches(parts[-1].lower(), names_by_lower_case, n=1, cutoff=0.0)
        if matches:
            message += f"; the nearest is {names_by_lower_case[matches[0]]}"
        return message


def _field_sources(sources: ColumnSources, fields: Sequence[str]) -> ColumnSources:
    """Return the sources of a column or of a field in the column; a field is a transformation of the column."""
    return apply_transformation(sources, TRANSFORMATION) if fields else sources


def column_aliases(node: exp.Expression) -> list[str]:
    """Return the column names that follow the alias of a relation, as in `t(a, b)`."""
    alias = node.args.get("alias")
    return [identifier.name for identifier in alias.args.get("columns") or ()] if alias else []


def exclude_columns(columns: Iterable[RelationColumn], names: Iterable[str]) -> list[RelationColumn]:
    excluded_names = {name.lower() for name in names}
    return [column for column in columns if column.name.lower() not in excluded_names]
