"""Resolves a FROM clause: views, joins, subqueries, PIVOT."""

from collections.abc import Iterable

from sqlglot import expressions as exp

from mappers.sql.column_source import CONDITIONAL, GROUP_BY, JOIN, TRANSFORMATION, ColumnSources, apply_transformation
from mappers.sql.expression import SubqueryReader, find_sources
from mappers.sql.parser import view_name
from mappers.sql.scope import (
    NO_SOURCES,
    Relation,
    RelationColumn,
    Scope,
    exclude_columns,
    generated_relation,
    view_relation,
)
from mappers.sql.spark_functions import generated_names


def apply_pivot(pivot: exp.Expression, scope: Scope, relation: Relation, queries: SubqueryReader) -> Relation:
    """Say what PIVOT or UNPIVOT makes of a relation, which is all that the scope holds."""
    if pivot.args.get("unpivot"):
        return _unpivoted(pivot, scope, relation, queries)
    said = [*pivot.expressions, *(field.this for field in pivot.args.get("fields") or ())]
    values = frozenset().union(*(find_sources(one, scope, queries) for one in pivot.expressions))
    chosen = frozenset().union(
        *(find_sources(field.this, scope, queries, CONDITIONAL) for field in pivot.args.get("fields") or ())
    )
    rest = exclude_columns(relation.cells, _columns(said))
    grouped = NO_SOURCES.union(*(apply_transformation(cell.sources, GROUP_BY) for cell in rest))
    new = [RelationColumn(one.name, values | chosen) for one in pivot.args.get("columns") or ()]
    return Relation((*rest, *new), relation.dataset_level | grouped, relation.incomplete_views)


def _unpivoted(pivot: exp.Expression, scope: Scope, relation: Relation, queries: SubqueryReader) -> Relation:
    """Each of the columns that are listed becomes a row: a name, and a value of any of them."""
    fields = pivot.args.get("fields") or ()
    listed = [one for field in fields for one in field.expressions]
    values = frozenset().union(*(find_sources(one, scope, queries, TRANSFORMATION) for one in listed))
    rest = exclude_columns(relation.cells, _columns(listed))
    names = [RelationColumn(field.this.name, NO_SOURCES) for field in fields]
    new = [RelationColumn(name.name, values) for one in pivot.expressions for name in one.find_all(exp.Identifier)]
    return Relation((*rest, *names, *new), relation.dataset_level, relation.incomplete_views)


def _columns(expressions: list[exp.Expression]) -> set[str]:
    return {column.name for one in expressions for column in one.find_all(exp.Column)}


class FromClause:
    """Fills a scope from a FROM clause, and collects what influences all that comes of it."""

    def __init__(self, queries: SubqueryReader, schemas: dict[str, list[str]], scope: Scope) -> None:
        self._queries = queries
        self._schemas = schemas
        self._scope = scope
        self.whole: ColumnSources = NO_SOURCES

    def add(self, node: exp.Expression) -> None:
        """Take in a view, a query, a function that gives rows, or a join in parentheses, with all joined to it."""
        alias = node.args.get("alias")
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table) and not alias:
            self.add(node.this)
        else:
            relation = self._pivoted(node, self._relation(node))
            columns = [one.name for one in alias.args.get("columns") or ()] if alias else []
            self._take(self._name(node), relation.with_aliases(columns))
        self.join_all(node)

    def join_all(self, node: exp.Expression) -> None:
        """Take in what is joined to a SELECT, a view or a query, and what is made of its rows."""
        for join in node.args.get("joins") or ():
            self._join(join)
        for lateral in node.args.get("laterals") or ():
            self.add(lateral)

    def _take(self, name: tuple[str, ...], relation: Relation) -> None:
        self._scope.add(name, relation)
        self.whole |= relation.dataset_level

    @staticmethod
    def _name(node: exp.Expression) -> tuple[str, ...]:
        if node.alias:
            return (node.alias,)
        if isinstance(node, exp.Table):
            return tuple(part.name for part in node.parts) if view_name(node) else (node.this.name,)
        return ()

    def _relation(self, node: exp.Expression) -> Relation:
        match node:
            case exp.Table(this=exp.Identifier()):
                return self._view(node)
            case exp.Lateral(this=exp.Query()):
                return self._queries.relation(node.this, self._scope)
            case exp.Subquery(this=exp.Table()):
                return self._joined(node.this)
            case exp.Query() | exp.Values():
                return self._queries.relation(node, Scope(self._scope.ctes, self._scope.outer))
            case _:
                return self._made(node.this or node, node)

    def _view(self, node: exp.Table) -> Relation:
        name = view_name(node) or ""
        cte = None if node.db else self._scope.ctes.get(name)
        return cte or view_relation(name, self._schemas.get(name))

    def _joined(self, node: exp.Expression) -> Relation:
        """Read a join in parentheses that has a name of its own."""
        inner = Scope(self._scope.ctes, self._scope.outer)
        clause = FromClause(self._queries, self._schemas, inner)
        clause.add(node)
        return Relation(tuple(inner.row), clause.whole, inner.incomplete_views())

    def _made(self, function: exp.Expression, node: exp.Expression) -> Relation:
        sources = find_sources(function, self._scope, self._queries, TRANSFORMATION)
        alias = node.args.get("alias")
        names = [one.name for one in alias.args.get("columns") or ()] if alias else []
        known = names or generated_names(function)
        return generated_relation(known, sources) if known else Relation((), incomplete_views=frozenset())

    def _pivoted(self, node: exp.Expression, relation: Relation) -> Relation:
        for pivot in node.args.get("pivots") or ():
            inner = Scope(self._scope.ctes, self._scope.outer)
            inner.add(self._name(node), relation)
            relation = apply_pivot(pivot, inner, relation, self._queries)
        return relation

    def _join(self, node: exp.Join) -> None:
        scope = self._scope
        before, relations = list(scope.row), len(scope.relations)
        self.add(node.this)
        added = scope.row[len(before) :]
        if on := node.args.get("on"):
            self.whole |= find_sources(on, scope, self._queries, JOIN)
        shared = [one.name for one in node.args.get("using") or ()]
        if node.method == "NATURAL":
            shared = [cell.name for cell in before if any(cell.matches(other.name) for other in added)]
        if shared:
            keys = [self._key(node, name, before, added) for name in shared]
            scope.row = [*keys, *exclude_columns(before, shared), *exclude_columns(added, shared)]
        if node.kind in {"SEMI", "ANTI"}:
            scope.row = before
            del scope.relations[relations:]

    def _key(
        self, node: exp.Join, name: str, before: Iterable[RelationColumn], added: Iterable[RelationColumn]
    ) -> RelationColumn:
        """Join by a column of both sides: of which the value is, the kind of the join says."""
        left, right = (next((cell for cell in side if cell.matches(name)), None) for side in (before, added))
        for side in (left, right):
            if side is None and self._scope.incomplete_views() is None:
                self._queries.problem(node, f"there is no column {name} on both sides of the join")
        found = [cell for cell in (left, right) if cell]
        self.whole |= frozenset().union(*(apply_transformation(cell.sources, JOIN) for cell in found))
        if node.side == "FULL":
            both = NO_SOURCES.union(*(apply_transformation(cell.sources, TRANSFORMATION) for cell in found))
            return RelationColumn(left.name if left else name, both)
        kept = right if node.side == "RIGHT" else left
        return kept or RelationColumn(name, NO_SOURCES)
