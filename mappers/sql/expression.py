"""Which columns an expression takes its value from."""

from collections.abc import Iterator
from typing import Protocol

from sqlglot import expressions as exp

from mappers.sql.column_source import (
    AGGREGATION,
    CONDITIONAL,
    IDENTITY,
    TRANSFORMATION,
    WINDOW,
    ColumnSources,
    ColumnTransformation,
    apply_transformation,
    combine,
)
from mappers.sql.parser import child_nodes
from mappers.sql.scope import NO_SOURCES, Relation, RelationColumn, Scope
from mappers.sql.spark_functions import function_transformation

_Parts = Iterator[tuple[exp.Expression, ColumnTransformation]]


class SubqueryReader(Protocol):
    """What an expression asks of the query around it."""

    def relation(self, query: exp.Expression, scope: Scope) -> Relation:
        """Read a query that stands in an expression, and may name columns of what is around it."""

    def problem(self, node: exp.Expression, text: str) -> None:
        """Say what is wrong at a place of the text."""


def find_sources(
    node: exp.Expression, scope: Scope, queries: SubqueryReader, done: ColumnTransformation = IDENTITY
) -> ColumnSources:
    """List the columns that a value is made of, and those that decide it; `done` is what is made of it."""
    found: set[object] = set()
    waiting = [(node, done)]
    while waiting:
        one, after = waiting.pop()
        if isinstance(one, exp.Column | exp.Star):
            found |= apply_transformation(_named(one, scope, queries), after)
        elif isinstance(one, exp.Exists):
            found |= apply_transformation(queries.relation(one.this, scope).dataset_level, after)
        elif isinstance(one, exp.Query | exp.Values):
            relation = queries.relation(one, scope)
            found |= apply_transformation(
                relation.dataset_level.union(*(cell.sources for cell in relation.cells)), after
            )
        else:
            waiting += [(child, combine(how, after)) for child, how in _parts(one, scope)]
    return frozenset(found)  # type: ignore[arg-type]


def expand_star(
    node: exp.Expression, scope: Scope, queries: SubqueryReader
) -> tuple[list[RelationColumn], frozenset[str] | None]:
    """List what `*` or `t.*` stands for, and the views of which it is not known."""
    qualifier = _qualifier(node)
    if not qualifier:
        return scope.row, scope.incomplete_views()
    relation = scope.named(qualifier)
    if relation:
        return list(relation.cells), relation.incomplete_views
    structure = scope.find(qualifier)
    if isinstance(structure, str):
        queries.problem(node, f"there is no view {'.'.join(qualifier)} that * could be of")
    return [], frozenset()


def _qualifier(node: exp.Expression) -> list[str]:
    return [part.name for part in node.parts[:-1]] if isinstance(node, exp.Column) else []


def _named(node: exp.Expression, scope: Scope, queries: SubqueryReader) -> ColumnSources:
    if isinstance(node, exp.Star) or isinstance(node.this, exp.Star):
        return NO_SOURCES.union(*(cell.sources for cell in expand_star(node, scope, queries)[0]))
    found = scope.find([part.name for part in node.parts]) if isinstance(node, exp.Column) else NO_SOURCES
    if isinstance(found, str):
        queries.problem(node, found)
        return NO_SOURCES
    return found


def _parts(node: exp.Expression, scope: Scope) -> _Parts:
    """List what an expression is made of, and what it does to each."""
    match node:
        case exp.Alias() | exp.Paren() | exp.IgnoreNulls() | exp.RespectNulls():
            yield node.this, IDENTITY
        case exp.Case() | exp.If() | exp.Nvl2():
            yield from _chosen(node)
        case exp.Coalesce() | exp.Nullif():
            yield from _compared(node)
        case exp.Window():
            yield node.this, IDENTITY
            yield from _window(node, scope)
        case exp.Filter():
            yield node.this, IDENTITY
            yield node.expression, CONDITIONAL
        case exp.WithinGroup():
            yield node.this, IDENTITY
            yield node.expression, AGGREGATION
        case exp.Count(this=exp.Star()):
            return
        case _:
            done = function_transformation(node)
            yield from ((child, done) for child in child_nodes(node))


def _chosen(node: exp.Expression) -> _Parts:
    """Tell what decides, a condition, from what is taken."""
    for key in ("true", "false", "default"):
        if isinstance(value := node.args.get(key), exp.Expression):
            yield value, TRANSFORMATION
    if isinstance(node.this, exp.Expression):
        yield node.this, CONDITIONAL
    yield from ((branch, IDENTITY) for branch in node.args.get("ifs") or ())


def _compared(node: exp.Expression) -> _Parts:
    """Say that what is compared decides, too; of what NULLIF compares, only the first can be the value."""
    for child in child_nodes(node):
        yield child, CONDITIONAL
        if not isinstance(node, exp.Nullif) or child is node.this:
            yield child, TRANSFORMATION


def _window(node: exp.Expression, scope: Scope) -> _Parts:
    """List what rows are taken together by and in which order, said here or under a name in the WINDOW clause."""
    seen: set[str] = set()
    window: exp.Expression | None = node
    while window is not None:
        for key in ("partition_by", "order"):
            parts = window.args.get(key)
            yield from ((part, WINDOW) for part in (parts if isinstance(parts, list) else [parts]) if part)
        name = window.text("alias").lower()
        window = scope.windows.get(name) if name not in seen else None
        seen.add(name)
