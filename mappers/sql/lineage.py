"""Column lineage of a Spark SQL query."""

from collections.abc import Mapping, Sequence

from sqlglot import expressions as exp

from mappers.errors import InvalidSql
from mappers.sql.column_source import FILTER, GROUP_BY, ColumnSource, ColumnSources, QueryLineage
from mappers.sql.parser import parse_query, printable, source_position, views_in
from mappers.sql.scope import NO_SOURCES, Relation, RelationColumn, Scope, merge_incomplete_views
from mappers.sql.select_statement import apply_to_all, select, sort_sources


def trace_columns(sql: str, schemas: Mapping[str, Sequence[str]]) -> QueryLineage:
    """Say which columns of which views each column of a query comes from; `schemas` are the columns of the views.

    Raises BadSql for a text that is not one query and for a column that no view has. A view without a schema has
    every column that it is asked for, and `*` of it gives none; the columns that are made of a structure by
    `structure.*` or `inline`, and those of functions of tables that are not known, are not known either: columns
    that are taken from these are there without sources. Functions that are not known count as TRANSFORMATION.
    """
    query, reader, relation = _read(sql, schemas)
    if reader.problems:
        raise InvalidSql(next(iter(reader.problems)))
    columns: dict[str, ColumnSources] = {}
    for cell in relation.cells:
        columns[cell.name] = columns.get(cell.name, NO_SOURCES) | cell.sources
    listed: dict[str, tuple[ColumnSource, ...]] = {name: tuple(sorted(sources)) for name, sources in columns.items()}
    return QueryLineage(listed, tuple(sorted(relation.dataset_level)), views_in(query))


def missing_columns(sql: str, schemas: Mapping[str, Sequence[str]]) -> list[str]:
    """List all columns that a query asks for and no view has; raises BadSql where the text is not one query.

    Views without a schema are not checked, nor is what could be a column of one.
    """
    return list(_read(sql, schemas)[1].problems)


def _read(sql: str, schemas: Mapping[str, Sequence[str]]) -> tuple[exp.Expression, "_QueryAnalyzer", Relation]:
    query = parse_query(sql)
    reader = _QueryAnalyzer(sql, schemas)
    try:
        return query, reader, reader.relation(query, Scope({}))
    except RecursionError:
        raise InvalidSql("line 1, column 1: the query is nested too deeply to be read") from None


class _QueryAnalyzer:
    """Reads the queries of one text, and collects what is wrong with them."""

    def __init__(self, sql: str, schemas: Mapping[str, Sequence[str]]) -> None:
        self._sql = sql
        self._schemas = {view.lower(): list(columns) for view, columns in schemas.items()}
        #: What is wrong, once each, in the order in which it was found.
        self.problems: dict[str, None] = {}

    def problem(self, node: exp.Expression, text: str) -> None:
        """Say what is wrong at a place of the text."""
        self.problems[printable(f"{source_position(self._sql, node)}: {text}")] = None

    def relation(self, query: exp.Expression, scope: Scope) -> Relation:
        """Read a query; a name that it does not know may be a column of the scope."""
        return self._read(query, Scope(scope.ctes, scope if scope.relations or scope.outer else None))

    def _read(self, query: exp.Expression, around: Scope) -> Relation:
        around = self._with(query, around)
        if isinstance(query, exp.Select):
            return select(self, self._schemas, query, around)
        if isinstance(query, exp.Values):
            return _values(query)
        read = self._combined if isinstance(query, exp.SetOperation) else self._wrapped
        inner = read(query, around)
        scope = Scope(around.ctes)
        scope.add((), inner)
        scope.outputs = list(inner.cells)
        return inner._replace(dataset_level=inner.dataset_level | sort_sources(query, scope, self))

    def _with(self, query: exp.Expression, around: Scope) -> Scope:
        """Read what a WITH clause names; each knows those before it."""
        clause = query.args.get("with_")
        ctes = dict(around.ctes)
        read = self._recursive if clause and clause.recursive else self._named
        for cte in clause.expressions if clause else ():
            within = Scope(ctes, around.outer)
            columns = [one.name for one in cte.args["alias"].args.get("columns") or ()]
            ctes = {**ctes, cte.alias.lower(): read(cte, within, columns)}
        return Scope(ctes, around.outer)

    def _named(self, cte: exp.Expression, within: Scope, columns: list[str]) -> Relation:
        return self._read(cte.this, within).with_aliases(columns)

    def _recursive(self, cte: exp.Expression, within: Scope, columns: list[str]) -> Relation:
        """Read what names itself again and again, until nothing comes to it: there are only so many sources."""
        relation = Relation((), incomplete_views=frozenset())
        while True:
            known = Scope({**within.ctes, cte.alias.lower(): relation}, within.outer)
            again = self._named(cte, known, columns)
            if again == relation:
                return relation
            relation = again

    def _wrapped(self, query: exp.Expression, around: Scope) -> Relation:
        known = isinstance(query.this, exp.Query | exp.Values)
        return self._read(query.this, around) if known else Relation((), incomplete_views=frozenset())

    def _combined(self, query: exp.Expression, around: Scope) -> Relation:
        """Read UNION, INTERSECT and EXCEPT from the left: a thousand of them are no thousand calls deep."""
        spine: list[exp.SetOperation] = []
        left: exp.Expression = query
        while isinstance(left, exp.SetOperation) and (left is query or not left.args.get("with_")):
            spine.append(left)
            left = left.this
        relation = self._read(left, around)
        for operation in reversed(spine):
            relation = self._with_other(operation, relation, self._read(operation.expression, around))
        return relation

    def _with_other(self, operation: exp.SetOperation, left: Relation, right: Relation) -> Relation:
        whole = left.dataset_level | right.dataset_level
        if not isinstance(operation, exp.Union):
            compared = apply_to_all([*left.cells, *right.cells], FILTER)
            return left._replace(dataset_level=whole | compared)
        cells = _united(left, right, by_name=bool(operation.args.get("by_name")))
        known = left.incomplete_views is None and right.incomplete_views is None
        if known and len(left.cells) != len(right.cells) and not operation.args.get("by_name"):
            self.problem(operation, f"UNION of {len(left.cells)} columns and of {len(right.cells)}")
        if operation.args.get("distinct"):
            whole |= apply_to_all(cells, GROUP_BY)
        return Relation(tuple(cells), whole, merge_incomplete_views(left.incomplete_views, right.incomplete_views))


def _united(left: Relation, right: Relation, *, by_name: bool) -> list[RelationColumn]:
    """Bring the columns of two relations together: by their places, or by their names."""
    if by_name:
        common = [
            RelationColumn(
                column.name, column.sources.union(*(same.sources for same in right.columns_named(column.name)))
            )
            for column in left.cells
        ]
        return common + [cell for cell in right.cells if not left.columns_named(cell.name)]
    if left.incomplete_views is not None or right.incomplete_views is not None:
        return list(left.cells)
    others = [cell.sources for cell in right.cells] + [NO_SOURCES] * len(left.cells)
    return [RelationColumn(one.name, one.sources | other) for one, other in zip(left.cells, others, strict=False)]


def _values(query: exp.Values) -> Relation:
    """Rows that are written down come from nowhere."""
    first = query.expressions[0] if query.expressions else None
    width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
    alias = query.args.get("alias")
    said = [one.name for one in alias.args.get("columns") or ()] if alias else []
    return Relation(tuple(RelationColumn(f"col{place}", NO_SOURCES) for place in range(1, width + 1))).with_aliases(
        said
    )
