"""Column lineage of a Spark SQL query."""

from collections.abc import Mapping, Sequence

from sqlglot import expressions as exp

from mappers.errors import InvalidSql
from mappers.sql.column_source import FILTER, GROUP_BY, ColumnSource, ColumnSources, QueryLineage
from mappers.sql.parser import parse_query, printable, source_position, views_in
from mappers.sql.scope import NO_SOURCES, Relation, RelationColumn, Scope, column_aliases, merge_incomplete_views
from mappers.sql.select_statement import analyze_select, sort_sources, transform_all


def trace_columns(sql: str, schemas: Mapping[str, Sequence[str]]) -> QueryLineage:
    """Trace the result columns of a query to columns of its views; `schemas` lists the columns by view.

    Raises InvalidSql if the text is not a single query, or if it uses a column that no view contains. A view without
    a schema is assumed to have every requested column, but `*` expands to none of them. The columns that
    `structure.*`, `inline` and unknown table functions create are unknown, so references to them have no sources.
    Unknown functions count as TRANSFORMATION.
    """
    query, analyzer, relation = _analyze_sql(sql, schemas)
    if analyzer.problems:
        first_problem, *_ = analyzer.problems
        raise InvalidSql(first_problem)
    columns: dict[str, ColumnSources] = {}
    for column in relation.columns:
        columns[column.name] = columns.get(column.name, NO_SOURCES) | column.sources
    sorted_columns: dict[str, tuple[ColumnSource, ...]] = {
        name: tuple(sorted(sources)) for name, sources in columns.items()
    }
    return QueryLineage(sorted_columns, tuple(sorted(relation.dataset_level)), views_in(query))


def missing_columns(sql: str, schemas: Mapping[str, Sequence[str]]) -> list[str]:
    """Describe the columns that a query uses but no view contains.

    Raises InvalidSql if the text is not a single query.

    Columns that could belong to a view without a schema are not reported.
    """
    _, analyzer, _ = _analyze_sql(sql, schemas)
    return list(analyzer.problems)


def _analyze_sql(sql: str, schemas: Mapping[str, Sequence[str]]) -> tuple[exp.Expression, "_QueryAnalyzer", Relation]:
    """Analyze a query; returns its syntax tree, the analyzer with the problems, and the resulting relation."""
    query = parse_query(sql)
    analyzer = _QueryAnalyzer(sql, schemas)
    try:
        return query, analyzer, analyzer.analyze(query, Scope({}))
    except RecursionError:
        raise InvalidSql("line 1, column 1: the query is nested too deeply") from None


class _QueryAnalyzer:
    """Analyzes a query and its subqueries, and collects problems."""

    def __init__(self, sql: str, schemas: Mapping[str, Sequence[str]]) -> None:
        self._sql = sql
        self._schemas = {view.lower(): list(columns) for view, columns in schemas.items()}
        #: Distinct problems in the order of detection.
        self.problems: dict[str, None] = {}

    def add_problem(self, node: exp.Expression, message: str) -> None:
        """Add a problem with its position in the text."""
        self.problems[printable(f"{source_position(self._sql, node)}: {message}")] = None

    def analyze(self, query: exp.Expression, scope: Scope) -> Relation:
        """Analyze a query; names that the query does not define may refer to columns of the scope."""
        return self._analyze_query(query, Scope(scope.ctes, scope if scope.relations or scope.outer else None))

    def _analyze_query(self, query: exp.Expression, context: Scope) -> Relation:
        """Analyze a query of any kind; `context` contains the CTEs and the outer scope."""
        context = self._add_ctes(query, context)
        if isinstance(query, exp.Select):
            return analyze_select(self, self._schemas, query, context)
        if isinstance(query, exp.Values):
            return _values_relation(query)
        analyze = self._analyze_set_operation if isinstance(query, exp.SetOperation) else self._analyze_parenthesized
        relation = analyze(query, context)
        scope = Scope(context.ctes)
        scope.add((), relation)
        scope.outputs = list(relation.columns)
        return relation._replace(dataset_level=relation.dataset_level | sort_sources(query, scope, self))

    def _add_ctes(self, query: exp.Expression, context: Scope) -> Scope:
        """Add the relations of a WITH clause; each relation can refer to the relations before it."""
        clause = query.args.get("with_")
        if not clause:
            return context
        ctes = dict(context.ctes)
        analyze = self._analyze_recursive_cte if clause.recursive else self._analyze_cte
        for cte in clause.expressions:
            scope = Scope(ctes, context.outer)
            ctes = {**ctes, cte.alias.lower(): analyze(cte, scope)}
        return Scope(ctes, context.outer)

    def _analyze_cte(self, cte: exp.Expression, scope: Scope) -> Relation:
        return self._analyze_query(cte.this, scope).with_aliases(column_aliases(cte))

    def _analyze_recursive_cte(self, cte: exp.Expression, scope: Scope) -> Relation:
        """Repeat the analysis until it reaches a fixed point, which exists because the set of sources is finite."""
        relation = Relation((), incomplete_views=frozenset())
        while True:
            recursive_scope = Scope({**scope.ctes, cte.alias.lower(): relation}, scope.outer)
            next_relation = self._analyze_cte(cte, recursive_scope)
            if next_relation == relation:
                return relation
            relation = next_relation

    def _analyze_parenthesized(self, query: exp.Expression, context: Scope) -> Relation:
        if isinstance(query.this, exp.Query | exp.Values):
            return self._analyze_query(query.this, context)
        return Relation((), incomplete_views=frozenset())

    def _analyze_set_operation(self, query: exp.Expression, context: Scope) -> Relation:
        """Analyze UNION, INTERSECT and EXCEPT from left to right, so that a chain of thousands does not recurse."""
        operations: list[exp.SetOperation] = []
        left: exp.Expression = query
        while isinstance(left, exp.SetOperation) and (left is query or not left.args.get("with_")):
            operations.append(left)
            left = left.this
        relation = self._analyze_query(left, context)
        for operation in reversed(operations):
            relation = self._combine_relations(
                operation, relation, self._analyze_query(operation.expression, context)
            )
        return relation

    def _combine_relations(self, operation: exp.SetOperation, left: Relation, right: Relation) -> Relation:
        """Combine both sides of UNION, INTERSECT or EXCEPT."""
        dataset_level = left.dataset_level | right.dataset_level
        if not isinstance(operation, exp.Union):
            compared_sources = transform_all([*left.columns, *right.columns], FILTER)
            return left._replace(dataset_level=dataset_level | compared_sources)
        columns = _merge_columns(left, right, by_name=bool(operation.args.get("by_name")))
        is_complete = left.incomplete_views is None and right.incomplete_views is None
        if is_complete and len(left.columns) != len(right.columns) and not operation.args.get("by_name"):
            self.add_problem(operation, f"UNION of {len(left.columns)} and {len(right.columns)} columns")
        if operation.args.get("distinct"):
            dataset_level |= transform_all(columns, GROUP_BY)
        return Relation(
            tuple(columns), dataset_level, merge_incomplete_views(left.incomplete_views, right.incomplete_views)
        )


def _merge_columns(left: Relation, right: Relation, *, by_name: bool) -> list[RelationColumn]:
    """Merge the columns of two relations by position or by name."""
    if by_name:
        merged_columns = []
        for column in left.columns:
            matches = right.columns_named(column.name)
            sources = column.sources.union(*(match.sources for match in matches))
            merged_columns.append(RelationColumn(column.name, sources))
        return merged_columns + [column for column in right.columns if not left.columns_named(column.name)]
    if left.incomplete_views is not None or right.incomplete_views is not None:
        return list(left.columns)
    # A different number of columns is reported as a problem, so surplus columns need no sources from the right.
    column_pairs = zip(left.columns, right.columns, strict=False)
    merged_columns = [RelationColumn(column.name, column.sources | match.sources) for column, match in column_pairs]
    return [*merged_columns, *left.columns[len(merged_columns) :]]


def _values_relation(query: exp.Values) -> Relation:
    """Create the relation of literal rows, which have no sources."""
    first_row = query.expressions[0] if query.expressions else None
    width = len(first_row.expressions) if isinstance(first_row, exp.Tuple) else 1
    columns = tuple(RelationColumn(f"col{position}", NO_SOURCES) for position in range(1, width + 1))
    return Relation(columns).with_aliases(column_aliases(query))
