"""Which columns an expression takes its value from."""

from collections.abc import Iterator
from typing import Protocol

from sqlglot import expressions as exp

from mappers.sql.functions import done_by
from mappers.sql.query import own_children
from mappers.sql.relation import NO_SOURCES, Cell, Relation
from mappers.sql.scope import Scope
from mappers.sql.source import (
    AGGREGATION,
    CONDITIONAL,
    IDENTITY,
    TRANSFORMATION,
    WINDOW,
    Done,
    Sources,
    then,
    through,
)

_Parts = Iterator[tuple[exp.Expression, Done]]


class Queries(Protocol):
    """What an expression asks of the query around it."""

    def relation(self, query: exp.Expression, scope: Scope) -> Relation:
        """Read a query that stands in an expression, and may name columns of what is around it."""

    def problem(self, node: exp.Expression, text: str) -> None:
        """Say what is wrong at a place of the text."""


def sources_of(node: exp.Expression, scope: Scope, queries: Queries, done: Done = IDENTITY) -> Sources:
    """List the columns that a value is made of, and those that decide it; `done` is what is made of it."""
    found: set[object] = set()
    waiting = [(node, done)]
    while waiting:
        one, after = waiting.pop()
        if isinstance(one, exp.Column | exp.Star):
            found |= through(_named(one, scope, queries), after)
        elif isinstance(one, exp.Exists):
            found |= through(queries.relation(one.this, scope).whole, after)
        elif isinstance(one, exp.Query | exp.Values):
            relation = queries.relation(one, scope)
            found |= through(relation.whole.union(*(cell.sources for cell in relation.cells)), after)
        else:
            waiting += [(child, then(how, after)) for child, how in _parts(one, scope)]
    return frozenset(found)  # type: ignore[arg-type]


def starred(node: exp.Expression, scope: Scope, queries: Queries) -> tuple[list[Cell], frozenset[str] | None]:
    """List what `*` or `t.*` stands for, and the views of which it is not known."""
    qualifier = _qualifier(node)
    if not qualifier:
        return scope.row, scope.open()
    relation = scope.named(qualifier)
    if relation:
        return list(relation.cells), relation.open
    structure = scope.find(qualifier)
    if isinstance(structure, str):
        queries.problem(node, f"there is no view {'.'.join(qualifier)} that * could be of")
    return [], frozenset()


def _qualifier(node: exp.Expression) -> list[str]:
    return [part.name for part in node.parts[:-1]] if isinstance(node, exp.Column) else []


def _named(node: exp.Expression, scope: Scope, queries: Queries) -> Sources:
    if isinstance(node, exp.Star) or isinstance(node.this, exp.Star):
        return NO_SOURCES.union(*(cell.sources for cell in starred(node, scope, queries)[0]))
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
            done = done_by(node)
            yield from ((child, done) for child in own_children(node))


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
    for child in own_children(node):
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
