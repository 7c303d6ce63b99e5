"""Finds the source columns of an expression."""

from collections.abc import Iterator
from typing import Protocol

from sqlglot import expressions as exp

from mappers.sql.column_source import (
    AGGREGATION,
    CONDITIONAL,
    IDENTITY,
    TRANSFORMATION,
    WINDOW,
    ColumnSource,
    ColumnSources,
    ColumnTransformation,
    apply_transformation,
    combine,
)
from mappers.sql.parser import child_nodes
from mappers.sql.scope import NO_SOURCES, Relation, RelationColumn, Scope, UnresolvedName
from mappers.sql.spark_functions import function_transformation

_Operands = Iterator[tuple[exp.Expression, ColumnTransformation]]


class SubqueryAnalyzer(Protocol):
    """The operations of the query analyzer that expressions use."""

    def analyze(self, query: exp.Expression, scope: Scope) -> Relation:
        """Analyze a subquery, which may refer to columns of the enclosing scope."""

    def add_problem(self, node: exp.Expression, message: str) -> None:
        """Add a problem at the position of a node."""


def find_sources(
    node: exp.Expression, scope: Scope, analyzer: SubqueryAnalyzer, transformation: ColumnTransformation = IDENTITY
) -> ColumnSources:
    """Find the columns that a value comes from or depends on; `transformation` is applied to the value."""
    sources: set[ColumnSource] = set()
    pending = [(node, transformation)]
    while pending:
        operand, outer_transformation = pending.pop()
        if isinstance(operand, exp.Column | exp.Star):
            sources |= apply_transformation(_column_sources(operand, scope, analyzer), outer_transformation)
        elif isinstance(operand, exp.Exists):
            sources |= apply_transformation(analyzer.analyze(operand.this, scope).dataset_level, outer_transformation)
        elif isinstance(operand, exp.Query | exp.Values):
            relation = analyzer.analyze(operand, scope)
            subquery_sources = relation.dataset_level.union(*(column.sources for column in relation.columns))
            sources |= apply_transformation(subquery_sources, outer_transformation)
        else:
            pending += [
                (child, combine(inner_transformation, outer_transformation))
                for child, inner_transformation in _operands(operand, scope)
            ]
    return frozenset(sources)


def expand_star(
    node: exp.Expression, scope: Scope, analyzer: SubqueryAnalyzer
) -> tuple[list[RelationColumn], frozenset[str] | None]:
    """Return the columns of `*` or `t.*`, and the views with unknown columns (None if all columns are known)."""
    qualifier = [part.name for part in node.parts[:-1]] if isinstance(node, exp.Column) else []
    if not qualifier:
        return scope.row, scope.incomplete_views()
    relation = scope.find_relation(qualifier)
    if relation:
        return list(relation.columns), relation.incomplete_views
    # The qualifier may be a struct column, whose fields are unknown.
    struct_sources = scope.resolve(qualifier)
    if isinstance(struct_sources, UnresolvedName):
        analyzer.add_problem(node, f"there is no view {'.'.join(qualifier)} to expand * from")
    return [], frozenset()


def _column_sources(node: exp.Expression, scope: Scope, analyzer: SubqueryAnalyzer) -> ColumnSources:
    if isinstance(node, exp.Star) or isinstance(node.this, exp.Star):
        columns, _ = expand_star(node, scope, analyzer)
        return NO_SOURCES.union(*(column.sources for column in columns))
    sources = scope.resolve([part.name for part in node.parts]) if isinstance(node, exp.Column) else NO_SOURCES
    if isinstance(sources, UnresolvedName):
        analyzer.add_problem(node, sources.message)
        return NO_SOURCES
    return sources


def _operands(node: exp.Expression, scope: Scope) -> _Operands:
    """Yield the operands of an expression, each with the transformation that the expression applies to it."""
    match node:
        case exp.Alias() | exp.Paren() | exp.IgnoreNulls() | exp.RespectNulls():
            yield node.this, IDENTITY
        case exp.Case() | exp.If() | exp.Nvl2():
            yield from _conditional_operands(node)
        case exp.Coalesce() | exp.Nullif():
            yield from _compared_operands(node)
        case exp.Window():
            yield node.this, IDENTITY
            yield from _window_operands(node, scope)
        case exp.Filter():
            yield node.this, IDENTITY
            yield node.expression, CONDITIONAL
        case exp.WithinGroup():
            yield node.this, IDENTITY
            yield node.expression, AGGREGATION
        case exp.Count(this=exp.Star()):
            return
        case _:
            transformation = function_transformation(node)
            yield from ((child, transformation) for child in child_nodes(node))


def _conditional_operands(node: exp.Expression) -> _Operands:
    """Yield conditions, which affect the result indirectly, and values, which become the result."""
    for key in ("true", "false", "default"):
        value = node.args.get(key)
        if isinstance(value, exp.Expression):
            yield value, TRANSFORMATION
    if isinstance(node.this, exp.Expression):
        yield node.this, CONDITIONAL
    yield from ((branch, IDENTITY) for branch in node.args.get("ifs") or ())


def _compared_operands(node: exp.Expression) -> _Operands:
    """Yield every operand as a condition, and also as a value if it can be the result (in NULLIF, only the first)."""
    for child in child_nodes(node):
        yield child, CONDITIONAL
        if not isinstance(node, exp.Nullif) or child is node.this:
            yield child, TRANSFORMATION


def _window_operands(node: exp.Expression, scope: Scope) -> _Operands:
    """Yield partition and sort keys, which are inline or in a named window of the WINDOW clause."""
    visited_names: set[str] = set()
    window: exp.Expression | None = node
    while window is not None:
        for key in ("partition_by", "order"):
            argument = window.args.get(key) or []
            expressions = argument if isinstance(argument, list) else [argument]
            yield from ((expression, WINDOW) for expression in expressions)
        name = window.text("alias").lower()
        window = scope.windows.get(name) if name not in visited_names else None
        visited_names.add(name)
