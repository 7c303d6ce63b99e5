"""Resolves a FROM clause: views, joins, subqueries, PIVOT."""

from collections.abc import Iterable

from sqlglot import expressions as exp

from mappers.sql.column_source import CONDITIONAL, GROUP_BY, JOIN, TRANSFORMATION, ColumnSources, apply_transformation
from mappers.sql.expression import SubqueryAnalyzer, find_sources
from mappers.sql.parser import view_name
from mappers.sql.scope import (
    NO_SOURCES,
    Relation,
    RelationColumn,
    Scope,
    column_aliases,
    exclude_columns,
    generated_relation,
    view_relation,
)
from mappers.sql.spark_functions import generated_names


def apply_pivot(pivot: exp.Expression, scope: Scope, relation: Relation, analyzer: SubqueryAnalyzer) -> Relation:
    """Apply PIVOT or UNPIVOT to a relation, which must be the only one in the scope."""
    if pivot.args.get("unpivot"):
        return _apply_unpivot(pivot, scope, relation, analyzer)
    pivot_keys = [field.this for field in pivot.args.get("fields") or ()]
    value_sources = frozenset().union(*(find_sources(aggregate, scope, analyzer) for aggregate in pivot.expressions))
    key_sources = frozenset().union(*(find_sources(key, scope, analyzer, CONDITIONAL) for key in pivot_keys))
    other_columns = exclude_columns(relation.columns, _column_names([*pivot.expressions, *pivot_keys]))
    group_keys = NO_SOURCES.union(*(apply_transformation(column.sources, GROUP_BY) for column in other_columns))
    pivoted_columns = [
        RelationColumn(identifier.name, value_sources | key_sources) for identifier in pivot.args.get("columns") or ()
    ]
    return Relation(
        (*other_columns, *pivoted_columns), relation.dataset_level | group_keys, relation.incomplete_views
    )


def _apply_unpivot(pivot: exp.Expression, scope: Scope, relation: Relation, analyzer: SubqueryAnalyzer) -> Relation:
    """Replace the listed columns with a column of their names and a column of their values."""
    fields = pivot.args.get("fields") or ()
    columns = [column for field in fields for column in field.expressions]
    value_sources = frozenset().union(*(find_sources(column, scope, analyzer, TRANSFORMATION) for column in columns))
    other_columns = exclude_columns(relation.columns, _column_names(columns))
    name_columns = [RelationColumn(field.this.name, NO_SOURCES) for field in fields]
    value_columns = [
        RelationColumn(identifier.name, value_sources)
        for expression in pivot.expressions
        for identifier in expression.find_all(exp.Identifier)
    ]
    return Relation(
        (*other_columns, *name_columns, *value_columns), relation.dataset_level, relation.incomplete_views
    )


def _column_names(expressions: list[exp.Expression]) -> set[str]:
    return {column.name for expression in expressions for column in expression.find_all(exp.Column)}


class FromClause:
    """Fills a scope from a FROM clause, and collects the sources that affect all of its rows."""

    def __init__(self, analyzer: SubqueryAnalyzer, schemas: dict[str, list[str]], scope: Scope) -> None:
        self._analyzer = analyzer
        self._schemas = schemas
        self._scope = scope
        self.dataset_level: ColumnSources = NO_SOURCES

    def add(self, node: exp.Expression) -> None:
        """Add a view, query, table function or parenthesized join, together with everything that is joined to it."""
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table) and not node.args.get("alias"):
            self.add(node.this)
        else:
            relation = self._apply_pivots(node, self._relation(node))
            self._add_relation(self._relation_name(node), relation.with_aliases(column_aliases(node)))
        self.join_all(node)

    def join_all(self, node: exp.Expression) -> None:
        """Add the joins and lateral views that are attached to a SELECT, a view or a query."""
        for join in node.args.get("joins") or ():
            self._add_join(join)
        for lateral in node.args.get("laterals") or ():
            self.add(lateral)

    def _add_relation(self, name: tuple[str, ...], relation: Relation) -> None:
        self._scope.add(name, relation)
        self.dataset_level |= relation.dataset_level

    @staticmethod
    def _relation_name(node: exp.Expression) -> tuple[str, ...]:
        if node.alias:
            return (node.alias,)
        if isinstance(node, exp.Table):
            return tuple(part.name for part in node.parts) if view_name(node) else (node.this.name,)
        return ()

    def _relation(self, node: exp.Expression) -> Relation:
        """Analyze an item of the FROM clause without the pivots and joins attached to it."""
        match node:
            case exp.Table(this=exp.Identifier()):
                return self._named_relation(node)
            case exp.Lateral(this=exp.Query()):
                return self._analyzer.analyze(node.this, self._scope)
            case exp.Subquery(this=exp.Table()):
                return self._parenthesized_join_relation(node.this)
            case exp.Query() | exp.Values():
                return self._analyzer.analyze(node, Scope(self._scope.ctes, self._scope.outer))
            case _:
                return self._table_function_relation(node.this or node, node)

    def _named_relation(self, node: exp.Table) -> Relation:
        name = view_name(node) or ""
        cte = None if node.db else self._scope.ctes.get(name)
        return cte or view_relation(name, self._schemas.get(name))

    def _parenthesized_join_relation(self, node: exp.Expression) -> Relation:
        """Analyze a parenthesized join that has an alias."""
        inner_scope = Scope(self._scope.ctes, self._scope.outer)
        clause = FromClause(self._analyzer, self._schemas, inner_scope)
        clause.add(node)
        return Relation(tuple(inner_scope.row), clause.dataset_level, inner_scope.incomplete_views())

    def _table_function_relation(self, function: exp.Expression, node: exp.Expression) -> Relation:
        sources = find_sources(function, self._scope, self._analyzer, TRANSFORMATION)
        column_names = column_aliases(node) or generated_names(function)
        if not column_names:
            return Relation((), incomplete_views=frozenset())
        return generated_relation(column_names, sources)

    def _apply_pivots(self, node: exp.Expression, relation: Relation) -> Relation:
        for pivot in node.args.get("pivots") or ():
            pivot_scope = Scope(self._scope.ctes, self._scope.outer)
            pivot_scope.add(self._relation_name(node), relation)
            relation = apply_pivot(pivot, pivot_scope, relation, self._analyzer)
        return relation

    def _add_join(self, node: exp.Join) -> None:
        """Add a joined relation and the sources of the join condition; shared columns appear only once."""
        scope = self._scope
        left_columns, left_relation_count = list(scope.row), len(scope.relations)
        self.add(node.this)
        right_columns = scope.row[len(left_columns) :]
        if condition := node.args.get("on"):
            self.dataset_level |= find_sources(condition, scope, self._analyzer, JOIN)
        shared_names = [identifier.name for identifier in node.args.get("using") or ()]
        if node.method == "NATURAL":
            shared_names = [
                column.name for column in left_columns if any(column.matches(right.name) for right in right_columns)
            ]
        if shared_names:
            keys = [self._merge_join_key(node, name, left_columns, right_columns) for name in shared_names]
            scope.row = [
                *keys,
                *exclude_columns(left_columns, shared_names),
                *exclude_columns(right_columns, shared_names),
            ]
        if node.kind in {"SEMI", "ANTI"}:
            scope.row = left_columns
            del scope.relations[left_relation_count:]

    def _merge_join_key(
        self,
        node: exp.Join,
        name: str,
        left_columns: Iterable[RelationColumn],
        right_columns: Iterable[RelationColumn],
    ) -> RelationColumn:
        """Merge the two columns of a join key; the kind of join determines which side the value comes from."""
        left_column = next((column for column in left_columns if column.matches(name)), None)
        right_column = next((column for column in right_columns if column.matches(name)), None)
        join_columns = [column for column in (left_column, right_column) if column]
        if len(join_columns) < 2 and self._scope.incomplete_views() is None:
            self._analyzer.add_problem(node, f"column {name} is not on both sides of the join")
        self.dataset_level |= frozenset().union(
            *(apply_transformation(column.sources, JOIN) for column in join_columns)
        )
        if node.side == "FULL":
            sources = NO_SOURCES.union(
                *(apply_transformation(column.sources, TRANSFORMATION) for column in join_columns)
            )
            return RelationColumn(left_column.name if left_column else name, sources)
        preserved_column = right_column if node.side == "RIGHT" else left_column
        return preserved_column or RelationColumn(name, NO_SOURCES)
